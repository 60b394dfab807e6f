// Motion: when a step or an opened part is drawn, its data is seen to flow there. None where the reader wants less.

import {h} from "./drawing.js";

const FLIGHT = 360; // milliseconds

const stackOf = (part) => part.closest(".mx-card").dataset.key.match(/encoder|decoder/)[0];

/** What flows where, for each kind of view: [what is copied, where it starts, where it arrives, how visible it is]. */
const FLOWS = {
  model(all) { // the token just written comes back as input, and the stream runs from box to box
    const [newest] = all(".mx-newest");
    const streams = all(".mx-card .mx-stream canvas");
    const along = streams.slice(1).map((to, i) => [streams[i], streams[i], to]);
    return [[newest?.firstChild, all('[data-key="next"]')[0], newest],
      ...along.filter(([from, , to]) => stackOf(from) === stackOf(to))];
  },
  embeddings: (all) => all(".mx-panel tbody tr").map((line) => {
    const vector = line.querySelector("canvas");
    return [vector, line.querySelector("th"), vector];
  }),
  block: (all) => all(".mx-sublayer").flatMap((box) => { // what came in goes past the sublayer, which adds its own
    const stage = box.nextElementSibling.nextElementSibling;
    const before = [...box.previousElementSibling.previousElementSibling.querySelectorAll(".mx-line canvas")];
    return [...stage.querySelectorAll(".mx-line canvas")].flatMap((to, i) =>
      [[before[i], before[i], to], [stage.added[i], box, to]]);
  }),
  head(all) { // the values, each as visible as its weight, into their weighted sum
    const output = all(".mx-keys tfoot canvas")[0];
    return all(".mx-keys tbody tr").map((line) => {
      const value = line.lastElementChild.querySelector("canvas");
      return [value, value, output, Number(value.parentElement.style.opacity)];
    });
  },
  next: () => [],
};

/** Let the data of the view that is open flow. Call it once the view is on the page. */
export function flow(app) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches || !app.main.isConnected) return;
  const kind = app.head ? "head" : app.opened?.kind ?? "model";
  const flights = FLOWS[kind]((selector) => [...app.main.querySelectorAll(selector)])
    .filter((flight) => flight.slice(0, 3).every(Boolean));
  const places = flights.map(([, ...ends]) => ends.slice(0, 2).map((part) => part.getBoundingClientRect()));
  flights.forEach(([part, , , opacity = 0.85], i) => fly(part, ...places[i], opacity));
}

/** Move a copy of a part from one place to another. */
function fly(part, from, to, opacity) {
  if (!from.width || !to.width) return;
  const copy = part.tagName === "CANVAS" ? h("canvas", {width: part.width, height: part.height})
    : h("span", {}, part.textContent);
  if (part.tagName === "CANVAS") copy.getContext("2d").drawImage(part, 0, 0);
  copy.className = "mx-flying";
  copy.ariaHidden = "true";
  Object.assign(copy.style, {
    left: `${from.left}px`, top: `${from.top}px`, width: `${from.width}px`, height: `${from.height}px`,
  });
  document.body.append(copy);
  const there = `translate(${to.left - from.left}px, ${to.top - from.top}px) ` +
    `scale(${to.width / from.width}, ${to.height / from.height})`;
  const moving = copy.animate([{transform: "none", opacity: 0}, {opacity, offset: 0.2}, {transform: there, opacity}],
    {duration: FLIGHT, easing: "ease-in-out"});
  moving.onfinish = moving.oncancel = () => copy.remove();
}
