// The whole model as boxes and arrows; a box is a button that opens it.

import {chapterNumbers, count, h, thousands, tokenText, vectors, weightMap} from "./drawing.js";
import {row, tokensRead} from "./trace.js";
import {barList} from "./next_token.js";

const MOST = 8; // boxes side by side

/** The overview. Small, with titles alone, while something is open below it. */
export function overview(app) {
  const {trace, step} = app;
  const translator = trace.mode === "translator";
  const read = tokensRead(trace, step);
  const target = trace.target.slice(0, read);
  const rows = [];
  if (translator) {
    rows.push(...inRows([tokenCard(app, "encoder", "Source tokens", trace.source),
      ...trace.encoder.map((block, i) => blockCard(app, "encoder", block, i, trace.source.length))]));
  }
  const last = rows.length - 1; // of the encoder
  rows.push(...inRows([tokenCard(app, "decoder", translator ? "Target tokens so far" : "Tokens so far", target),
    ...trace.decoder.map((block, i) => blockCard(app, "decoder", block, i, read)), nextCard(app)]));
  const box = h("div", {class: `mx-overview${app.opened ? " mx-small" : ""}`}, rows);
  connect(box, rows, last);
  return box;
}

/** Rows of at most MOST boxes each, about equally long. */
function inRows(cards) {
  const many = Math.ceil(cards.length / Math.ceil(cards.length / MOST));
  return cards.flatMap((_, i) => (i % many ? [] : [h("div", {class: "mx-row"}, cards.slice(i, i + many))]));
}

function card(app, place, key, title, kind, size, ...content) {
  const open = app.opened?.key === key;
  const attributes = {
    type: "button", class: `mx-card mx-${kind}`, "data-key": key, "aria-expanded": String(open),
    "aria-label": `${open ? "Close" : "Open"}: ${title}`, onclick: () => app.toggle({key, ...place}),
  };
  return h("button", attributes, h("span", {class: "mx-card-title"}, title),
    h("span", {class: "mx-card-body"}, content, h("span", {class: "mx-card-foot"}, h("small", {}, size),
      h("small", {class: "mx-about"}, chapterNumbers(app, place.kind, place.stack)))));
}

function tokenCard(app, stack, title, tokens) {
  const {trace} = app;
  const first = trace[stack][0].residual[0];
  const chips = tokens.map((token, i) => {
    const newest = stack === "decoder" && i === tokens.length - 1;
    return h("span", {class: `mx-token${newest ? " mx-newest" : ""}`}, tokenText(token, trace),
      vectors([pooled(row(first, i), 24)], ""));
  });
  const place = {kind: "embeddings", stack};
  const size = `${count(tokens.length, "token")} × ${trace.sizes.d_model} numbers each`;
  return card(app, place, `tokens-${stack}`, title, stack, size, h("span", {class: "mx-tokens"}, chips),
    h("span", {class: "mx-thumbs mx-stream"}, h("small", {}, "Embeddings"),
      vectors(tokens.map((_, i) => row(first, i)), "One vector for each token")));
}

function blockCard(app, stack, block, index, tokens) {
  const {trace} = app;
  const maps = block.attentions.map((attention) => h("span", {class: "mx-thumbs"},
    h("small", {}, attention.name),
    h("span", {class: trace.sizes.heads > MOST ? "mx-many" : null}, Array.from({length: trace.sizes.heads}, (_, head) =>
      weightMap(shownWeights(attention, head, tokens), `${attention.name}, head ${head + 1}`)))));
  const out = block.residual[block.residual.length - 1];
  const stream = Array.from({length: tokens}, (_, i) => row(out, i));
  const size = `${thousands(block.parameters)} parameters`;
  return card(app, {kind: "block", stack, index}, `${stack}-${index}`, block.name, stack, size, maps,
    h("span", {class: "mx-thumbs mx-stream"}, h("small", {}, "Output: residual stream"),
      vectors(stream, `${tokens} vectors of ${trace.sizes.d_model} numbers`)));
}

/** The weights of the queries that have been read, as rows. */
export function shownWeights(attention, head, tokens) {
  const queries = Math.min(tokens, attention.weights.shape[1]);
  const keys = attention.name === "Self-attention" ? queries : attention.weights.shape[2];
  return Array.from({length: queries}, (_, i) => row(attention.weights, i, head).subarray(0, keys));
}

function nextCard(app) {
  const size = `${thousands(app.trace.sizes.vocab)} probabilities`;
  return card(app, {kind: "next"}, "next", "Next token", "next", size, barList(app, 8, false));
}

/** A vector in fewer numbers, each the one of largest magnitude in its part. */
function pooled(values, parts) {
  const size = values.length / parts;
  return Array.from({length: parts}, (_, i) => {
    const part = values.subarray(Math.floor(i * size), Math.floor((i + 1) * size));
    return part.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0);
  });
}

// ---- arrows

/** Draw the arrows once the boxes have their places, and again when these change. */
function connect(box, rows, last) {
  const draw = () => {
    if (!box.isConnected) return;
    box.querySelector("svg")?.remove();
    box.append(arrows(box, rows, last));
  };
  new ResizeObserver(draw).observe(box);
}

/** last: the last row of the encoder; -1 for none. */
function arrows(box, rows, last) {
  const origin = box.getBoundingClientRect();
  const zoom = origin.width / box.offsetWidth || 1;
  const at = (card) => {
    const place = card.getBoundingClientRect();
    const [left, right] = [place.left, place.right].map((x) => (x - origin.left) / zoom);
    const [top, bottom] = [place.top, place.bottom].map((y) => (y - origin.top) / zoom);
    return {left, right, top, bottom, middle: (top + bottom) / 2, center: (left + right) / 2};
  };
  const paths = [];
  for (const stack of [rows.slice(0, last + 1), rows.slice(last + 1)]) {
    const cards = stack.flatMap((line) => [...line.children]).map(at);
    cards.slice(1).forEach((card, i) => paths.push(h("path", {d: along(cards[i], card), class: "mx-arrow"})));
  }
  if (last >= 0) {
    const from = at(rows[last].lastElementChild);
    for (const card of box.querySelectorAll('[data-key^="decoder-"]')) {
      paths.push(h("path", {d: across(from, at(card), box.clientWidth), class: "mx-arrow mx-cross"}));
    }
  }
  return h("svg", {class: "mx-arrows", "aria-hidden": "true", width: box.clientWidth, height: box.clientHeight},
    paths);
}

const tip = (x, y, down) => (down ? `M${x - 4},${y - 6} L${x},${y} L${x + 4},${y - 6}`
  : `M${x - 6},${y - 4} L${x},${y} L${x - 6},${y + 4}`);

/** From one box to the next one: beside it, below it, or at the beginning of the next row. */
function along(from, to) {
  if (to.right < from.left) {
    const y = (from.bottom + to.top) / 2;
    return `M${from.center},${from.bottom} V${y} H${to.center} V${to.top - 1} ${tip(to.center, to.top - 1, true)}`;
  }
  if (to.left > from.right) return `M${from.right},${to.middle} H${to.left - 1} ${tip(to.left - 1, to.middle)}`;
  return `M${to.center},${from.bottom} V${to.top - 1} ${tip(to.center, to.top - 1, true)}`;
}

/** From the encoder's end to a decoder block: the keys and values of its cross-attention. */
function across(from, to, width) {
  if (to.left < 30) { // boxes below each other: around them, at the right
    const x = Math.min(width - 2, from.right + 8);
    return `M${from.right},${from.middle} H${x} V${to.middle} H${to.right + 1} ` +
      `M${to.right + 7},${to.middle - 4} L${to.right + 1},${to.middle} L${to.right + 7},${to.middle + 4}`;
  }
  const y = (from.bottom + to.top) / 2;
  return `M${from.center},${from.bottom} V${y} H${to.center} V${to.top - 1} ${tip(to.center, to.top - 1, true)}`;
}
