// The widget: one or several maps in a grid, kept equal to the state of `AttentionMap` in the kernel.

import {attentionMap} from "./attention_map.js";

const GAP = 14; // pixels between two maps
const NARROWEST = 120; // pixels of a map, before the next one moves to a new line
const PHONE = 480; // pixels of all maps: on a narrower page, cells keep the width of a fingertip, if they can
const FINGERTIP = 24; // pixels
const PROJECTED = 0.55; // of the window's height: all rows together, in a notebook on a projector
const SMALLEST = 100; // pixels of the window's height, however long the text is
const LETTERS = 20; // pixels of the letters for which the kernel chose the width of a cell for a projector

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
  let size = "";
  const watched = new Set();
  const watch = () => {
    for (const part of [grid, ...framing(grid)]) { // the frame is there only when the widget has its place on the page
      if (!watched.has(part)) resized.observe(part);
      watched.add(part);
    }
  };
  const resized = new ResizeObserver(() => {
    watch();
    const now = `${grid.clientWidth}, ${roomBelow(grid)}`;
    if (now === size) return;
    size = now;
    update();
  });
  watch();
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
  const across = inLine(widths, shown, room);
  const below = roomBelow(grid);
  const lines = Math.ceil(shown.length / (below === null ? widths.length : across)); // a page may become longer
  const projected = grid.closest(".course-projected");
  const larger = projected ? parseFloat(getComputedStyle(grid).fontSize) / LETTERS : 1;
  const most = projected ? PROJECTED * window.innerHeight : Infinity;
  const sized = (height) => {
    shown.forEach((data, i) => {
      maps[i].map.update({
        ...data,
        rowLabels: !shared || i % across === 0,
        columnLabels: !shared || i + across >= shown.length,
        maxHeight: height / lines,
        maxCell: model.get("cell") * larger,
        selected: framed(model, shown, i),
      });
    });
    const labels = shared && maps.length ? maps[0].map.labelWidth() : 0;
    const total = sum(widths.slice(0, across));
    const parts = widths.slice(0, across).map((part, i) =>
      `minmax(0, calc((100% - ${labels + GAP * (across - 1)}px) * ${part / total} + ${i ? 0 : labels}px))`);
    grid.style.gridTemplateColumns = parts.join(" ");
    maps.forEach(({map}) => map.layOut());
  };
  sized(below ?? Math.min(model.get("height"), most));
  if (below !== null && grid.offsetHeight > below) sized(below - labelHeight(maps, across));
}

/** Pixels of all lines that are no cells: titles, labels, and gaps. */
function labelHeight(maps, across) {
  const heights = maps.map(({map}) => map.labelHeight());
  const starts = heights.map((_, i) => i).filter((i) => i % across === 0);
  return sum(starts.map((i) => Math.max(...heights.slice(i, i + across)))) + GAP * (starts.length - 1);
}

/** How many maps fit in a line: on a phone, as many as leave the narrowest of them its room. */
function inLine(widths, shown, room) {
  if (room >= PHONE) return Math.max(1, Math.min(widths.length, Math.floor(room / NARROWEST)));
  const columns = Math.max(0, ...shown.map((data) => data.columns.length));
  const narrowest = Math.max(NARROWEST, FINGERTIP * columns);
  let across = Math.max(1, widths.length);
  const fits = (part) => part / sum(widths.slice(0, across)) * room >= narrowest;
  while (across > 1 && !widths.slice(0, across).every(fits)) across -= 1;
  return across;
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

/** The frame of the widget, its text, and its picture: where they are limits the maps on a page as high as the window. */
function framing(grid) {
  const frame = grid.closest(".course-frame");
  return frame ? [frame, frame.querySelector(":scope > .course-words"), grid.closest(".course-picture")] : [];
}

/** Pixels of the window for all maps, above the text below them; null where the page may grow. */
function roomBelow(grid) {
  const [frame, words, picture] = framing(grid);
  if (!frame || !getComputedStyle(grid).getPropertyValue("--course-window")) return null;
  const [whole, text, own] = [frame, words, picture].map((part) => part.getBoundingClientRect());
  if (text.right <= own.left) return Math.floor(whole.bottom - own.top); // the text is beside the maps
  const margins = 2 * parseFloat(getComputedStyle(frame).rowGap) + 2 * parseFloat(getComputedStyle(words).marginTop);
  return Math.max(SMALLEST, Math.floor(whole.bottom - own.top - text.height - margins));
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
