// A map of weights: one row per query, one column per key. It draws what it is given and computes nothing.
//
//   const map = attentionMap(element, {onSelect, onHover, onPress});
//   map.update({rows: ["the", "cat"], columns: ["the", "cat"], weights: new Float32Array(4), …});
//
// The mouse, touch, or the arrow keys select a row, a column, or a cell; Escape selects nothing.

import {colorAt, colorsOf, inkOn, isDark, onThemeChange, parse} from "./colors.js";
import {addStyle} from "./attention_map_style.js";

const SHEET = 6; // pixels from one matrix of a stack to the next
const HALF = 0.65; // of the name of the rows: enough for one of its two lines
const NOTHING = {row: null, column: null};
const DEFAULTS = {
  rows: [], // labels
  columns: [],
  weights: new Float32Array(0), // row by row; NaN: an empty cell
  masked: null, // Uint8Array like the weights: not 0 where a cell is masked
  maskedText: "", // what a masked cell shows in place of its number
  title: "",
  rowName: "query",
  columnName: "key",
  valueName: "weight",
  low: 0, // the values at the two ends of the colors
  high: 1,
  diverging: false, // colors with a neutral middle, for values below and above it
  numbers: false, // each cell shows its number, where there is room
  digits: 2,
  texts: null, // what the cells show in place of their numbers, row by row
  descriptions: null, // what is said of the cells in place of their values, row by row
  picture: null, // ImageData behind all cells, in place of their colors
  proportion: 1, // height of a cell over its width, where there is room
  rowLabels: true, // false: the labels are not drawn, as beside a map that has the same
  columnLabels: true,
  sheets: 1, // matrices in the stack of which this is the one on top
  selected: NOTHING,
  maxCell: 44, // pixels: largest width of a cell
  maxHeight: 400, // pixels of all rows together
};

/**
 * Build an empty map inside the element.
 *
 * onSelect({row, column}): after a click or an arrow key; a row label gives {row, column: null}.
 * onHover({row, column, weight}), or onHover(null) when the pointer leaves.
 * onPress({row, column}): a cell was clicked, or Enter or the space bar pressed on it.
 * Returns {update(data), select({row, column}), layOut(), labelWidth(), labelHeight(), destroy()}.
 * data: see DEFAULTS, all of it optional.
 */
export function attentionMap(element, {onSelect, onHover, onPress} = {}) {
  addStyle(element);
  const parts = build(element);
  let data = DEFAULTS;
  let selected = NOTHING;

  const redraw = () => {
    paint(parts, data);
    layOut(element, parts, data, selected);
    mark(parts, data, selected);
  };
  const resized = new ResizeObserver(() => layOut(element, parts, data, selected));
  resized.observe(element);
  const stopTheme = onThemeChange(() => paint(parts, data));

  const select = (place) => {
    selected = inside(place, data);
    thin(parts, data, selected);
    mark(parts, data, selected);
  };
  const choose = (place) => {
    select(place);
    onSelect?.(selected);
  };
  const stopPointer = followPointer(parts, () => data, {choose, onHover, onPress});
  const onKey = (event) => {
    const press = event.key === "Enter" || event.key === " ";
    const next = press ? null : afterKey(event, selected, data);
    if (!press && !next) return;
    event.preventDefault();
    event.stopPropagation(); // JupyterLab would move to the next cell of the notebook
    parts.tip.hidden = true;
    if (next) choose(next);
    else if (selected.row !== null && selected.column !== null) onPress?.(selected);
  };
  parts.cells.addEventListener("keydown", onKey);

  return {
    update(next) {
      data = {...DEFAULTS, ...next};
      selected = inside(data.selected, data);
      name(parts, data);
      redraw();
    },
    select,
    layOut: () => layOut(element, parts, data, selected),
    /** Pixels that the row labels take, beside the cells. */
    labelWidth: () => besideCells(parts, data),
    /** Pixels of the map, above and below the cells. */
    labelHeight: () => parts.root.offsetHeight - parts.cells.offsetHeight,
    destroy() {
      resized.disconnect();
      stopTheme();
      stopPointer();
      parts.cells.removeEventListener("keydown", onKey);
      parts.root.remove();
    },
  };
}

// ---- the elements

function build(element) {
  const root = add(element, "div", "attention-map");
  const parts = {root, folded: false}; // folded: the name of the rows takes two lines
  for (const kind of ["title", "row-name", "rows", "cells", "columns", "column-name", "words", "tip"]) {
    parts[kind] = add(root, "div", `attention-map-${kind}`);
  }
  const cells = parts.cells;
  cells.tabIndex = 0;
  cells.setAttribute("role", "application"); // a screen reader passes the arrow keys on
  cells.setAttribute("aria-roledescription", "map of weights");
  cells.dataset.lmSuppressShortcuts = "true"; // JupyterLab's
  parts.rows.setAttribute("aria-hidden", "true"); // the words below say them
  parts.columns.setAttribute("aria-hidden", "true");
  parts.words.setAttribute("aria-live", "polite");
  parts.canvas = add(cells, "canvas");
  parts.numbers = add(cells, "div", "attention-map-numbers");
  parts.numbers.setAttribute("aria-hidden", "true");
  for (const kind of ["row-frame", "column-frame", "cell"]) {
    parts[kind] = add(cells, "div", `attention-map-${kind === "cell" ? kind : "frame"}`);
  }
  parts.tip.hidden = true;
  return parts;
}

function add(parent, tag, className = "") {
  const child = document.createElement(tag);
  child.className = className;
  parent.append(child);
  return child;
}

/** Write titles and labels. */
function name(parts, data) {
  parts.title.textContent = data.title;
  parts.title.hidden = !data.title;
  parts["row-name"].textContent = data.rowName;
  parts["row-name"].hidden = !data.rowLabels || !data.rowName;
  parts["column-name"].textContent = data.columnName;
  parts["column-name"].hidden = !data.columnLabels || !data.columnName;
  fill(parts.rows, data.rows);
  fill(parts.columns, data.columns);
  parts.rows.hidden = !data.rowLabels;
  parts.columns.hidden = !data.columnLabels;
  parts.rows.style.gridTemplateRows = `repeat(${data.rows.length}, minmax(0, 1fr))`;
  parts.columns.style.gridTemplateColumns = `repeat(${data.columns.length}, minmax(0, 1fr))`;
  parts.cells.setAttribute("aria-label", inWords(data));
  drawSheets(parts, data.sheets);
}

/** The other matrices of a stack, as shadows behind this one. */
function drawSheets(parts, count) {
  const shadows = [];
  for (let i = 1; i < count; i += 1) {
    const offset = `${SHEET * i}px ${-SHEET * i}px 0`;
    shadows.push(`${offset} 0 var(--map-sheet)`, `${offset} 1px var(--map-sheet-edge)`);
  }
  parts.cells.style.boxShadow = shadows.join(", ");
  const room = SHEET * (count - 1);
  parts.cells.style.margin = room ? `${room}px ${room}px 0 0` : "";
}

/** One span per text; spans that are there already are used again. */
function fill(parent, texts) {
  while (parent.children.length > texts.length) parent.lastChild.remove();
  while (parent.children.length < texts.length) add(parent, "span");
  texts.forEach((text, i) => {
    const span = parent.children[i];
    if (span.textContent !== text) span.textContent = text;
    span.title = text.length > 8 ? text : "";
  });
}

// ---- cells

/** The picture, or one pixel of the canvas per cell; the browser enlarges it. */
function paint(parts, data) {
  const [height, width] = [data.rows.length, data.columns.length];
  const colors = colorsOf(parts.root);
  parts.root.classList.toggle("dark", isDark(colors));
  parts.cells.hidden = !height || !width;
  if (!height || !width) return;
  const cells = new ImageData(width, height);
  const inks = new Array(width * height);
  for (let i = 0; i < width * height; i += 1) {
    const color = cellColor(colors, data, i);
    cells.data.set([...color, Number.isNaN(data.weights[i]) ? 0 : 255], 4 * i);
    inks[i] = data.picture ? "" : inkOn(color);
  }
  const image = data.picture ?? cells;
  Object.assign(parts.canvas, {width: image.width, height: image.height});
  parts.numbers.classList.toggle("on-picture", Boolean(data.picture));
  parts.canvas.getContext("2d").putImageData(image, 0, 0);
  writeNumbers(parts.numbers, data, inks);
}

function cellColor(colors, data, i) {
  if (data.masked?.[i]) return parse(colors.masked);
  const scale = data.diverging ? colors.diverging : colors.sequential;
  const value = Number.isNaN(data.weights[i]) ? data.low : data.weights[i];
  return colorAt(scale, (value - data.low) / (data.high - data.low));
}

function writeNumbers(box, data, inks) {
  const count = data.numbers ? inks.length : 0;
  fill(box, Array.from({length: count}, (_, i) => cellText(data, i)));
  for (let i = 0; i < count; i += 1) box.children[i].style.color = inks[i];
  box.style.gridTemplate =
    `repeat(${data.rows.length}, minmax(0, 1fr)) / repeat(${data.columns.length}, minmax(0, 1fr))`;
}

function cellText(data, i) {
  if (data.masked?.[i] && data.maskedText) return data.maskedText;
  if (data.texts) return data.texts[i];
  return Number.isNaN(data.weights[i]) ? "" : written(data.weights[i], data.digits);
}

/** A number with a minus sign; an exact zero is short, so that it is told from a small number. */
function written(value, digits) {
  return value === 0 ? "0" : value.toFixed(digits).replace("-", "−");
}

// ---- layout

/** Size the cells to the room there is; write labels upright and leave some out where they would touch. */
function layOut(element, parts, data, selected) {
  const [height, width] = [data.rows.length, data.columns.length];
  const room = element.clientWidth - besideCells(parts, data) - SHEET * (data.sheets - 1) - 2;
  if (!height || !width || room <= 0) return;
  let cellWidth = Math.min(data.maxCell, room / width);
  const cellHeight = Math.min(cellWidth * data.proportion, data.maxHeight / height);
  if (data.picture) cellWidth = cellHeight / data.proportion;
  for (const kind of ["cells", "columns", "column-name"]) parts[kind].style.width = `${cellWidth * width}px`;
  parts.cells.style.height = parts.rows.style.height = `${cellHeight * height}px`;
  const context = parts.canvas.getContext("2d");
  context.font = getComputedStyle(parts.root).font;
  const longest = (texts) => Math.max(0, ...texts.map((text) => context.measureText(text).width));
  const wide = longest([data.title]) * 1.1 > cellWidth * width; // it is bold
  parts.root.classList.toggle("narrow", wide);
  parts.columns.classList.toggle("upright", longest(data.columns) + 6 > cellWidth);
  const texts = data.numbers ? Array.from(data.weights, (_, i) => cellText(data, i).split("\n")).flat() : [];
  parts.numbers.hidden = longest(texts) + 4 > cellWidth || cellHeight < 15;
  Object.assign(parts, {cellWidth, cellHeight});
  thin(parts, data, selected);
  const [name, side] = [longest([data.rowName]), cellHeight * height];
  const folded = name > side;
  parts["row-name"].style.maxHeight = folded ? `${Math.max(side, HALF * name)}px` : "";
  if (folded === parts.folded) return;
  parts.folded = folded; // the name takes two lines now, or one again: the cells have another width
  layOut(element, parts, data, selected);
}

function besideCells(parts, data) {
  return data.rowLabels ? parts.rows.offsetWidth + parts["row-name"].offsetWidth : 0;
}

/** Show as many labels as there is room for, and the selected one. */
function thin(parts, data, selected) {
  const line = parseFloat(getComputedStyle(parts.root).fontSize) * 1.25;
  const sides = [
    [parts.rows, parts.cellHeight, selected.row],
    [parts.columns, parts.columns.matches(".upright") ? parts.cellWidth : line, selected.column],
  ];
  for (const [labels, room, chosen] of sides) {
    const every = Math.max(1, Math.ceil(line / (room || line)));
    [...labels.children].forEach((label, i) => {
      const covered = chosen !== null && i !== chosen && Math.abs(i - chosen) < every;
      label.style.visibility = i === chosen || (i % every === 0 && !covered) ? "" : "hidden";
      label.classList.toggle("chosen", i === chosen);
    });
  }
}

// ---- selection

/** The place without rows or columns that the map does not have. */
function inside(place, data) {
  const {row, column} = place ?? NOTHING;
  return {row: row < data.rows.length ? row ?? null : null,
    column: column < data.columns.length ? column ?? null : null};
}

/** Frame the selected row, column, and cell, and say the row in words. */
function mark(parts, data, {row, column}) {
  const [height, width] = [100 / data.rows.length, 100 / data.columns.length];
  frame(parts["row-frame"], row !== null, 0, row * height, 100, height);
  frame(parts["column-frame"], column !== null, column * width, 0, width, 100);
  frame(parts.cell, row !== null && column !== null, column * width, row * height, width, height);
  const words = selectedInWords(data, {row, column});
  if (parts.words.textContent !== words) parts.words.textContent = words;
  parts.words.classList.toggle("of-cell", row !== null && column !== null);
}

function frame(box, shown, left, top, width, height) {
  box.hidden = !shown;
  if (!shown) return;
  Object.assign(box.style, {left: `${left}%`, top: `${top}%`, width: `${width}%`, height: `${height}%`});
}

/** Where an arrow key leads from the selected place; null for any other key. */
function afterKey(event, {row, column}, data) {
  if (event.altKey || event.ctrlKey || event.metaKey) return null;
  if (event.key === "Escape") return NOTHING;
  const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  const move = moves[event.key];
  if (!move) return null;
  const step = (index, by, count) =>
    by === 0 ? index : index === null ? 0 : Math.min(count - 1, Math.max(0, index + by));
  return {row: step(row, move[0], data.rows.length), column: step(column, move[1], data.columns.length)};
}

/** Select by clicks on cells and labels, and show what is under the pointer. */
function followPointer(parts, dataNow, {choose, onHover, onPress}) {
  const at = (event, box, count, across) => {
    const place = box.getBoundingClientRect();
    const part = across ? (event.clientX - place.left) / place.width
      : (event.clientY - place.top) / place.height;
    return Math.min(count - 1, Math.max(0, Math.floor(part * count)));
  };
  const rowAt = (event) => at(event, parts.cells, dataNow().rows.length, false);
  const columnAt = (event) => at(event, parts.cells, dataNow().columns.length, true);
  const leave = () => {
    parts.tip.hidden = true;
    onHover?.(null);
  };
  const hover = (event) => {
    const [data, row, column] = [dataNow(), rowAt(event), columnAt(event)];
    showTip(parts, data, row, column);
    onHover?.({row, column, weight: data.weights[row * data.columns.length + column]});
  };
  const click = (event) => {
    const place = {row: rowAt(event), column: columnAt(event)};
    choose(place);
    onPress?.(place);
  };
  const listeners = [
    [parts.cells, "pointermove", hover],
    [parts.cells, "pointerleave", leave],
    [parts.cells, "click", click],
    [parts.rows, "click", (event) => choose({row: rowAt(event), column: null})],
    [parts.columns, "click", (event) => choose({row: null, column: columnAt(event)})],
  ];
  for (const [box, kind, listener] of listeners) box.addEventListener(kind, listener);
  return () => listeners.forEach(([box, kind, listener]) => box.removeEventListener(kind, listener));
}

/** Query, key, and weight, beside the cell; a text wider than the map covers the maps on the left of it. */
function showTip(parts, data, row, column) {
  const i = row * data.columns.length + column;
  const tip = parts.tip;
  tip.hidden = Number.isNaN(data.weights[i]);
  tip.textContent = cellInWords(data, row, column);
  const {cells, cellWidth, cellHeight} = parts;
  const left = cells.offsetLeft + (column + 1) * cellWidth + 4;
  const most = parts.root.offsetWidth - tip.offsetWidth;
  const edge = (parts.root.closest(".attention-maps") ?? parts.root).getBoundingClientRect().left;
  tip.style.left = `${Math.max(edge - parts.root.getBoundingClientRect().left, Math.min(left, most))}px`;
  const below = cells.offsetTop + (row + 1) * cellHeight + 4;
  const fits = below + tip.offsetHeight <= parts.root.offsetHeight;
  tip.style.top = `${fits ? below : cells.offsetTop + row * cellHeight - tip.offsetHeight - 4}px`;
}

// ---- words

function placeInWords(data, row, column) {
  const names = [`${data.rowName} ${data.rows[row]}`, `${data.columnName} ${data.columns[column]}`];
  return names.map((name) => name.trim()).filter(Boolean).join(", ");
}

function cellInWords(data, row, column) {
  const value = valueInWords(data, row * data.columns.length + column);
  return [placeInWords(data, row, column), value].filter(Boolean).join(": ");
}

function valueInWords(data, i) {
  const value = `${data.valueName} ${written(data.weights[i], Math.max(3, data.digits))}`;
  const texts = data.descriptions ?? data.texts;
  if (texts) return texts[i].replace("\n", " ");
  return data.masked?.[i] ? `masked${data.maskedText ? ` (${data.maskedText})` : ""}` : value;
}

/** What the map is, for a screen reader. */
function inWords(data) {
  const title = data.title ? `${data.title}: ` : "";
  const sides = [["row", data.rowName], ["column", data.columnName]].filter(([, kind]) => kind)
    .map(([side, kind]) => `, a ${side} for each ${kind}`).join("");
  return `${title}map of ${data.rows.length} by ${data.columns.length} cells${sides}. ` +
    "Arrow keys select, Escape clears.";
}

/** The selected cell, row, or column in words; of a row or column, the largest numbers. */
function selectedInWords(data, {row, column}) {
  const width = data.columns.length;
  if (row === null && column === null) return "";
  if (row !== null && column !== null) {
    return cellInWords(data, row, column);
  }
  const whole = row !== null ? [data.rowName, data.rows[row], data.columns]
    : [data.columnName, data.columns[column], data.rows];
  const cells = whole[2].map((label, j) => [label, row !== null ? row * width + j : j * width + column]);
  const open = cells.filter(([, i]) => !data.masked?.[i] && !Number.isNaN(data.weights[i]));
  open.sort(([, i], [, j]) => data.weights[j] - data.weights[i]);
  const largest = open.slice(0, 3).map(([label, i]) => `${label} ${written(data.weights[i], data.digits)}`);
  return `${whole[0]} ${whole[1]}: ${largest.join(", ") || "all masked"}`;
}
