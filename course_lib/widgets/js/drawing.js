// Small helpers for drawing: elements, strips of color for vectors, words for numbers.

import {colorAt, colorsOf, isDark} from "./colors.js";

const SVG = ["svg", "path", "g"];

/** An element with attributes, listeners (`onclick`), and children; what is null or false is left out. */
export function h(tag, attributes = {}, ...children) {
  const node = SVG.includes(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  const absent = (value) => value === false || value === null || value === undefined;
  for (const [key, value] of Object.entries(attributes)) {
    if (absent(value)) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => !absent(child)));
  return node;
}

let palette = null;

/** Use the colors that fit the page: a page with light text is dark. Returns whether they are others than before. */
export function useTheme(element) {
  const before = palette;
  palette = colorsOf(element);
  element.classList.toggle("mx-dark", isDark(palette));
  return palette !== before;
}

/** One pixel per number; the browser enlarges it. color: from a number to [red, green, blue]. No label: decoration. */
function pixels(rows, color, label, className) {
  const [height, width] = [rows.length, rows[0].length];
  const named = label ? {role: "img", "aria-label": label} : {"aria-hidden": "true"};
  const canvas = h("canvas", {...named, class: className});
  Object.assign(canvas, {width, height});
  const image = new ImageData(width, height);
  rows.forEach((values, y) => {
    for (let x = 0; x < width; x += 1) image.data.set([...color(values[x]), 255], 4 * (y * width + x));
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** Vectors as rows of colored cells: orange below zero, purple above. most: the largest magnitude. */
export function vectors(rows, label, most = largest(rows)) {
  const scale = (value) => {
    const size = Math.min(1, Math.abs(value) / (most || 1)) ** 0.7;
    return 0.5 + (value < 0 ? -size : size) / 2;
  };
  return pixels(rows, (value) => colorAt(palette.diverging, scale(value)), label, "mx-vectors");
}

/** Weights from 0 to 1 as cells: the stronger the color, the larger. */
export function weightMap(rows, label) {
  return pixels(rows, (value) => colorAt(palette.sequential, value ** 0.7), label, "mx-weights");
}

/** The largest magnitude in the rows, apart from the most extreme 1 % of the numbers. */
export function largest(rows) {
  const sizes = rows.flatMap((values) => Array.from(values, Math.abs)).sort((a, b) => a - b);
  return sizes[Math.floor(0.99 * (sizes.length - 1))];
}

/** A number with a true minus sign. */
export function number(value, decimals = 2) {
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

export function percent(p) {
  if (p === 0) return "0%";
  return p < 0.001 ? "<0.1%" : `${(100 * p).toFixed(1)}%`;
}

export function thousands(value) {
  return value.toLocaleString("en-US");
}

export function count(many, one) {
  return `${thousands(many)} ${one}${many === 1 ? "" : "s"}`;
}

/** A token as a reader sees it: "▁car" is the word "car"; a piece inside a word begins with a hyphen. */
export function tokenText(token, {mode, sizes}) {
  if (token.startsWith("▁")) return token.slice(1) || "␣";
  const inside = mode === "translator" ? /^\p{L}/u : sizes.on_bytes ? /^\p{Ll}/u : /$^/;
  return inside.test(token) ? `-${token}` : token;
}

/** Links to the chapters that explain a part of the model; plain names where the page knows no addresses. */
export function chapterLinks(app, kind, stack) {
  return h("p", {class: "mx-links"}, chaptersOf(app, kind, stack).map((key) => chapterLink(app, key)));
}

/** "chapters 3, 5": the same for a place where no link fits. */
export function chapterNumbers(app, kind, stack) {
  const numbers = chaptersOf(app, kind, stack).map((key) => CHAPTERS[key][1].split(":")[0]);
  return `${numbers.length > 1 ? "chapters" : "chapter"} ${numbers.join(", ")}`;
}

export function chapterLink(app, key) {
  const [file, title] = CHAPTERS[key];
  const address = app.host.address(file);
  const words = `Chapter ${title}`;
  return address ? h("a", {class: "mx-chapter", href: address, target: "_blank"}, words)
    : h("span", {class: "mx-chapter"}, words);
}

/** Keys of `CHAPTERS`, in the order of the course. */
function chaptersOf(app, kind, stack) {
  const translator = app.trace.mode === "translator";
  const about = {
    embeddings: ["positions", translator && "tokens"],
    block: [stack === "decoder" && "masks", "heads", "block"],
    head: ["softmax", "heads"],
    next: ["softmax", "decoding"],
  };
  return about[kind].filter(Boolean);
}

const CHAPTERS = {
  softmax: ["01_softmax_and_scaling", "1: Softmax and scaling"],
  masks: ["02_bmm_and_masking", "2: Masks"],
  heads: ["03_multi_head_attention", "3: Multi-head attention"],
  positions: ["04_positional_encodings", "4: Positional encodings"],
  block: ["05_fg_vs_preln", "5: The Transformer block"],
  translator: ["06_seq2seq_with_bleu", "6: A translator"],
  decoding: ["06b_decoding", "6b: Decoding"],
  tokens: ["06d_real_data", "6d: Byte-pair encoding"],
  gpt: ["07_gpt_pretraining", "7: GPT"],
};
