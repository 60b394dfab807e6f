// The widget: one or several maps in a grid, kept equal to the state of `AttentionMap` in the kernel.

import {attentionMap} from "./attention_map.js";

const GAP = 14; // pixels between two maps
const NARROWEST = 120; // pixels of a map, before the next one moves to a new line
const PHONE = 480; // pixels of all maps: on a narrower page, cells keep the width of a fingertip, if they can
const FINGERTIP = 24; // pixels
const PROJECTED = 0.55; // of the window's height: all rows together, on a projector

export function render({model, el}) {
  hideFallback();
  const grid = document.createElement("div");
  grid.className = "attention-maps";
  Object.assign(grid.style, {display: "grid", gap: `${GAP}px`, width: "100%", alignItems: "start"});
  el.append(grid);
  const maps = [];

  const update = () => {
    const shown = model.get("maps").map(decoded);
    while (maps.length > shown.length) remove(maps.pop());
    while (maps.length < shown.length) maps.push(oneMore(grid, model, maps.length));
    arrange(grid, maps, shown, model);
  };
  const mark = () => {
    const shown = model.get("maps");
    maps.forEach(({map}, i) => map.select(framed(model, shown, i)));
  };
  model.on("change:maps", update);
  model.on("change:selected", mark);
  let width = 0;
  const resized = new ResizeObserver(() => {
    if (grid.clientWidth === width) return;
    width = grid.clientWidth;
    update();
  });
  resized.observe(grid);
  model.set("alive", true); // from now on, the kernel need not draw a picture as well
  model.save_changes();

  return () => {
    resized.disconnect();
    model.off("change:maps", update);
    model.off("change:selected", mark);
    maps.forEach(remove);
  };
}

/** The picture is for pages that cannot get as far as this line. */
function hideFallback() {
  if (document.querySelector("style[data-map-fallback]")) return;
  const sheet = document.createElement("style");
  sheet.dataset.mapFallback = "";
  sheet.textContent = ".course-map-fallback { display: none !important; }";
  document.head.append(sheet);
}

/** A map whose events change the model's state. */
function oneMore(grid, model, index) {
  const element = document.createElement("div");
  element.style.minWidth = "0";
  grid.append(element);
  const onSelect = (place) => {
    model.set("selected", {map: index, ...place});
    model.save_changes();
  };
  const onPress = (place) => model.send({press: {map: index, ...place}});
  return {element, map: attentionMap(element, {onSelect, onPress})};
}

function remove({element, map}) {
  map.destroy();
  element.remove();
}

/** Place the maps in the grid; where they share their labels, only the outer ones show them. */
function arrange(grid, maps, shown, model) {
  const room = grid.clientWidth || 600;
  const shared = model.get("shared");
  const widths = model.get("widths").slice(0, shown.length);
  const columns = room < PHONE ? Math.max(...shown.map((data) => data.columns.length)) : 0;
  const narrowest = Math.max(NARROWEST, FINGERTIP * columns);
  const across = Math.max(1, Math.min(widths.length, Math.floor(room / narrowest)));
  const lines = Math.ceil(shown.length / widths.length); // where there is room for all in a line
  const most = grid.closest(".course-projected") ? PROJECTED * window.innerHeight : Infinity;
  const height = Math.min(model.get("height"), most);
  shown.forEach((data, i) => {
    maps[i].map.update({
      ...data,
      rowLabels: !shared || i % across === 0,
      columnLabels: !shared || i + across >= shown.length,
      maxHeight: height / lines,
      maxCell: model.get("cell"),
      selected: framed(model, shown, i),
    });
  });
  const labels = shared && maps.length ? maps[0].map.labelWidth() : 0;
  const total = widths.slice(0, across).reduce((sum, part) => sum + part, 0);
  const parts = widths.slice(0, across).map((part, i) =>
    `minmax(0, calc((100% - ${labels + GAP * (across - 1)}px) * ${part / total} + ${i ? 0 : labels}px))`);
  grid.style.gridTemplateColumns = parts.join(" ");
}

/** What is framed in a map: its own mark, completed by the user, or what is selected in maps with the same labels. */
function framed(model, shown, index) {
  const {map, row, column} = model.get("selected");
  const own = map === index ? {row, column} : {row: null, column: null};
  const marked = isLate(model) ? null : shown[index].marked;
  if (marked) return {row: marked.row ?? own.row, column: marked.column ?? own.column};
  if (map === index) return own;
  if (!model.get("shared") || !shown[map]) return {row: null, column: null};
  const same = shown[index].columns.length === shown[map].columns.length;
  return {row, column: same ? column : null};
}

/** Whether the maps answer an older selection: their marks would move the user's selection back. */
function isLate(model) {
  const [selected, answered] = [model.get("selected"), model.get("answered") ?? model.get("selected")];
  return ["map", "row", "column"].some((part) => (selected[part] ?? null) !== (answered[part] ?? null));
}

/** The state of a map with arrays in place of its bytes. */
function decoded(data) {
  const {weights, masked, picture} = data;
  const bytes = weights.buffer.slice(weights.byteOffset, weights.byteOffset + weights.byteLength);
  return {
    ...data,
    weights: new Float32Array(bytes), // a copy, since its first byte may lie anywhere
    masked: masked ? bytesOf(masked, Uint8Array) : null,
    picture: picture ? new ImageData(bytesOf(picture.bytes, Uint8ClampedArray), picture.width) : null,
  };
}

function bytesOf({buffer, byteOffset, byteLength}, kind) {
  return new kind(buffer, byteOffset, byteLength);
}

export default {render};
