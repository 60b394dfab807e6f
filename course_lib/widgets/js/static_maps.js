// Attention maps on a page without a kernel: the page holds what the widget showed for each setting of its controls.

import {render} from "./attention_widget.js";
import {h} from "./drawing.js";
import {inflated} from "./inflated.js";
import {addMapsStyle} from "./static_maps_style.js";

/** Open each map of the page that is not open yet: data-map names its recording, which recording.py describes. */
function openMaps() {
  if (!window.DecompressionStream) return; // an older browser keeps the pictures
  addMapsStyle();
  for (const element of document.querySelectorAll("[data-map]:not(.static-maps)")) {
    openMap(element, window.courseMaps[element.dataset.map]);
    hidePicture(element);
  }
}

/** Hide the picture of the same map, which a notebook's page shows for readers without JavaScript; its link, too. */
function hidePicture(element) {
  for (const image of element.closest(".cell_output")?.querySelectorAll("img") ?? []) {
    (image.closest("a") ?? image).hidden = true;
  }
}

function openMap(element, {controls, start, effects, look, parts}) {
  const at = [...start]; // the index of each control's value
  const opened = new Map();
  const part = (i) => {
    if (!opened.has(i)) opened.set(i, unpacked(parts[i]));
    return opened.get(i);
  };

  /** Move a control, and those that follow it. */
  const move = (k, i) => {
    at[k] = i;
    for (const [other, index] of Object.entries(effects[k][i] ?? {})) at[other] = index;
  };
  /** Set the controls that the selected row and column stand for. */
  const follow = ({map, row, column}) => {
    const shown = model.get("maps")[map];
    for (const [index, sets] of [[row, shown?.rowSets], [column, shown?.columnSets]]) {
      if (sets && index !== null) move(sets[0], sets[1] + index);
    }
    show();
  };
  const show = async () => {
    const first = at[0];
    const {tree, frames, maps} = await part(first);
    if (first !== at[0]) return; // moved on in the meantime
    let node = tree;
    boxes[0].set(first, controls[0].options.length);
    for (let k = 1; k < at.length; k += 1) {
      if (at[k] < 0 || at[k] >= node.length) at[k] = node.length - 1;
      boxes[k].set(at[k], node.length);
      node = node[at[k]];
    }
    const frame = frames[node];
    model.set("widths", frame.widths);
    model.set("maps", frame.maps.map((i) => maps[i]));
    const words = frame.rows?.[model.get("selected").row] ?? frame.text;
    if (line.innerHTML !== words) line.innerHTML = words;
  };

  const boxes = controls.map((control, k) => box(control, (i) => {
    move(k, i);
    show();
  }));
  const place = h("div", {class: "static-maps-cells"});
  const line = h("div", {class: "static-maps-words"});
  const panel = h("div", {class: "static-maps-controls"}, boxes.map(({place}) => place));
  const model = modelOf({...look, widths: [1], maps: [], selected: {map: 0, row: null, column: null}}, follow);
  element.classList.add("static-maps");
  const note = h("p", {class: "static-maps-note"},
    "This map replays recorded settings and texts. To try your own, run the notebook: that needs a Python kernel.");
  element.replaceChildren(panel, place, line, note);
  render({model, el: place});
}

/** What the widget's script expects of a model: traits, without a kernel behind them. */
function modelOf(traits, onSelect) {
  const listeners = {};
  return {
    get: (name) => traits[name],
    set(name, value) {
      traits[name] = value;
      listeners[`change:${name}`]?.();
    },
    on: (event, listener) => (listeners[event] = listener),
    off: (event) => delete listeners[event],
    save_changes: () => onSelect(traits.selected),
    send: () => {}, // only a kernel could answer a press
  };
}

/** A control with its label. onMove(index) is called when the reader moves it. */
function box({label, kind, options}, onMove) {
  if (kind === "select") {
    const list = h("select", {onchange: () => onMove(list.selectedIndex)},
      options.map((option) => h("option", {}, option)));
    return {place: h("label", {}, h("span", {}, label), list), set: (i) => (list.selectedIndex = i)};
  }
  const output = h("output", {});
  const slider = h("input", {type: "range", min: 0, step: 1, oninput: () => onMove(Number(slider.value))});
  const set = (i, count) => {
    slider.max = count - 1;
    slider.value = i;
    slider.disabled = count < 2;
    output.textContent = options[i];
    slider.setAttribute("aria-valuetext", output.textContent);
  };
  return {place: h("div", {}, h("label", {}, h("span", {}, label), slider), output), set};
}

/** A part with arrays in place of the places of their bytes. */
async function unpacked({header, numbers}) {
  const {tree, frames, maps} = JSON.parse(new TextDecoder().decode(await inflated(header)));
  const bytes = await inflated(numbers);
  const convert = (value) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    if ("at" in value) return new DataView(bytes.buffer, value.at, value.size);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, convert(one)]));
  };
  return {tree, frames, maps: maps.map(convert)};
}

openMaps();
