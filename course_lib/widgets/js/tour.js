// The guided tour: each step opens a part of the model, frames it, and says in one sentence what one sees.

import {h} from "./drawing.js";

/** What is open at a step. stack: "encoder", or "decoder" where there is no encoder. */
const PLACES = {
  model: () => ({opened: null, head: null}),
  tokens: (stack) => ({opened: {key: `tokens-${stack}`, kind: "embeddings", stack}, head: null}),
  block: (stack) => ({opened: {key: `${stack}-0`, kind: "block", stack, index: 0}, head: null}),
  head: (stack) => ({...PLACES.block(stack), head: {layer: 0, head: 0}}),
  next: () => ({opened: {key: "next", kind: "next"}, head: null}),
};

export class Tour {
  /** steps: those of model_tour.py. bar: shows the present step; empty where none is. button: starts the tour. */
  constructor(app, steps) {
    Object.assign(this, {app, steps, at: null});
    this.text = h("p", {role: "status"});
    this.bar = h("section", {class: "mx-tour", "aria-label": "Guided tour", hidden: true,
      onkeydown: (event) => event.key === "Escape" && this.close()},
    this.text, h("span", {class: "mx-tour-buttons"},
      this.move("Back", -1), this.move("Next", 1), this.control("Close tour", "tour-close", () => this.close())));
    this.button = this.control("Tour", "tour", () => (this.at === null ? this.begin() : this.close()));
  }

  control(words, key, onclick) {
    return h("button", {type: "button", class: "mx-button", "data-key": key, onclick}, words);
  }

  move(words, by) {
    return this.control(words, `tour-${words.toLowerCase()}`, () => this.go(this.at + by));
  }

  /** Begin, and move the keyboard there. */
  begin() {
    this.go(0);
    this.bar.querySelector('[data-key="tour-next"]').focus({preventScroll: true});
  }

  /** Begin without taking the keyboard: the page opens like this. */
  start() {
    this.at = 0;
    this.show();
  }

  go(to) {
    if (to >= this.steps.length) {
      this.close();
      return;
    }
    this.at = Math.max(0, to);
    this.show();
    this.scroll();
  }

  close() {
    this.at = null;
    this.show();
    this.button.focus({preventScroll: true});
  }

  show() {
    const {app, at, steps} = this;
    const step = steps[at];
    this.bar.hidden = !step;
    this.button.setAttribute("aria-pressed", String(Boolean(step)));
    if (!step) {
      this.mark();
      return;
    }
    const [back, next] = ["back", "next"].map((name) => this.bar.querySelector(`[data-key="tour-${name}"]`));
    back.disabled = at === 0;
    next.textContent = at === steps.length - 1 ? "Done" : "Next";
    this.text.replaceChildren(h("b", {}, `${at + 1} of ${steps.length}. ${step.title}. `),
      app.live ? step.text : step.offline);
    app.visit(PLACES[step.opens](app.trace.encoder.length ? "encoder" : "decoder"));
  }

  marked() {
    return this.at === null ? [] : [...this.app.element.querySelectorAll(this.steps[this.at].marks)];
  }

  /** Frame what the step is about, if it is open. */
  mark() {
    for (const part of this.app.element.querySelectorAll(".mx-toured")) part.classList.remove("mx-toured");
    for (const part of this.marked()) part.classList.add("mx-toured");
  }

  /** Bring what the step is about into view, with the bar above it wherever both fit. */
  scroll() {
    const [part] = this.marked();
    if (!part) return;
    const [bar, place] = [this.bar, part].map((one) => one.getBoundingClientRect());
    const height = document.documentElement.clientHeight;
    const below = place.top >= bar.bottom;
    if (bar.top >= 0 && below && place.bottom <= height) return;
    if (below && place.bottom - bar.top <= height) this.bar.scrollIntoView({block: "start"});
    else part.scrollIntoView({block: "nearest"});
  }
}
