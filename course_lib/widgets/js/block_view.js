// One block, opened: the residual stream through its sublayers; and the embeddings before the first block.

import {chapterLink, chapterLinks, count, h, largest, number, thousands, tokenText, vectors, weightMap} from "./drawing.js";
import {shownWeights} from "./overview.js";
import {row} from "./trace.js";

/** The tokens of a stack that are there at the present step. */
export function tokensOf(app, stack) {
  const {trace, read} = app;
  const tokens = stack === "encoder" ? trace.source : trace.target.slice(0, read);
  return tokens.map((token) => tokenText(token, trace));
}

export function blockPanel(app) {
  const {stack, index} = app.opened;
  const block = app.trace[stack][index];
  const tokens = tokensOf(app, stack);
  const query = app.queryOf(stack);
  const streams = block.residual.map((array) => tokens.map((_, i) => row(array, i)));
  const most = Math.max(...streams.map(largest));
  const added = (i) => tokens.map((_, t) => vectors([streams[i][t].map((value, j) => value - streams[i - 1][t][j])], "", most));
  const sum = (title, i) => Object.assign(stream(app, title, streams[i], tokens, query, most), {added: added(i)});
  const parts = [stream(app, "Residual stream", streams[0], tokens, query, most, true)];
  block.attentions.forEach((attention, i) => {
    parts.push(arrow("→"), attentionBox(app, attention, i, tokens), arrow("⊕"));
    parts.push(sum("Sum", i + 1));
  });
  parts.push(arrow("→"), feedForwardBox(app, block, tokens, query), arrow("⊕"));
  parts.push(sum("Output", streams.length - 1));
  return h("div", {class: "mx-block"},
    h("p", {}, `Each row is the vector of one token. ${app.trace.sizes.norm === "pre"
      ? "A sublayer reads the normalized stream (LayerNorm) and adds its output to the stream."
      : "A sublayer adds its output to the stream, and LayerNorm normalizes the sum."} ` +
      "Click a token to follow it, or a head to see its arithmetic."),
    h("div", {class: "mx-flow"}, parts),
    h("div", {class: "mx-below"}, lengths(block, streams, tokens, query), cache(app, block, stack, tokens.length)),
    chapterLinks(app, "block", stack));
}

const arrow = (sign) => h("span", {class: "mx-sign", "aria-hidden": "true"}, sign);

/** The vectors of all tokens; each row is a button that selects its token. */
function stream(app, title, rows, tokens, query, most, labels = false) {
  const lines = tokens.map((token, i) => h("button", {
    type: "button", class: `mx-line${i === query ? " mx-selected" : ""}`, title: token,
    "data-key": labels ? `token-${i}` : null, tabindex: labels ? 0 : -1, "aria-hidden": labels ? null : "true",
    "aria-pressed": labels ? String(i === query) : null, onclick: () => app.select({query: i}),
  }, labels && h("span", {}, token), vectors([rows[i]], "", most)));
  return h("div", {class: `mx-stage${labels ? " mx-labeled" : ""}`}, h("h5", {}, title),
    h("div", {class: "mx-lines", style: `--lines: ${tokens.length}`}, lines));
}

function attentionBox(app, attention, layer, tokens) {
  const heads = Array.from({length: app.trace.sizes.heads}, (_, head) => {
    const rows = shownWeights(attention, head, tokens.length);
    return h("button", {
      type: "button", class: "mx-head", "data-key": `head-${layer}-${head}`,
      "aria-label": `Open: ${attention.name}, head ${head + 1}`, onclick: () => app.openHead(layer, head),
    }, h("span", {style: `--ratio: ${rows[0].length / rows.length}`}, weightMap(rows, "")), `Head ${head + 1}`);
  });
  return h("div", {class: "mx-stage mx-sublayer"}, h("h5", {}, attention.name),
    h("small", {}, attention.name === "Cross-attention" ? "to the encoder’s output"
      : attention.causal ? "to itself and earlier tokens" : "to all tokens"),
    h("div", {class: `mx-heads${heads.length > 8 ? " mx-many" : tokens.length > 12 ? " mx-tall" : ""}`}, heads));
}

function feedForwardBox(app, block, tokens, query) {
  const {d_model: model, d_ff: inner} = app.trace.sizes;
  const hidden = row(block.hidden, query);
  const active = hidden.filter((value) => value > 0).length;
  const width = inner % 32 === 0 ? 32 : 24;
  const rows = Array.from({length: Math.floor(inner / width)}, (_, i) => hidden.subarray(i * width, (i + 1) * width));
  return h("div", {class: "mx-stage mx-sublayer"}, h("h5", {}, "Feed-forward"),
    h("small", {}, `${model} → ${inner} → ${model}`),
    vectors(rows, `The ${inner} hidden activations of ${tokens[query]}`, Math.max(...hidden)),
    h("small", {}, `${active} of ${inner} neurons active for “${tokens[query]}”` +
      (active ? "" : ": this network adds only its bias")));
}

/** How long the selected token's vector is before the block, and what each sublayer adds. */
function lengths(block, streams, tokens, query) {
  const names = [...block.attentions.map((attention) => attention.name), "Feed-forward"];
  const before = streams[0][query];
  const after = streams[streams.length - 1][query];
  const added = names.map((name, i) => {
    const change = streams[i + 1][query].map((value, j) => value - streams[i][query][j]);
    return [`${name} adds`, Math.hypot(...change)];
  });
  const bars = [["Before the block", Math.hypot(...before)], ...added, ["After the block", Math.hypot(...after)]];
  const most = Math.max(...bars.map(([, size]) => size));
  return h("div", {class: "mx-lengths"}, h("h5", {}, `Length (norm) of the vector of “${tokens[query]}”`),
    bars.map(([name, size]) => h("div", {class: "mx-bar"}, h("span", {class: "mx-bar-token"}, name),
      h("span", {class: "mx-bar-track"}, h("span", {class: "mx-bar-fill", style: `width: ${100 * size / most}%`})),
      h("span", {class: "mx-bar-number"}, number(size, 1)))));
}

/** The key–value caches of a block that generates: one cell per token whose keys and values are kept. */
function cache(app, block, stack, read) {
  if (stack === "encoder") return null;
  const {d_model: model} = app.trace.sizes;
  const total = app.trace.target.length;
  const cells = (filled, all, newest) => h("span", {class: "mx-cells", "aria-hidden": "true"},
    Array.from({length: all}, (_, i) =>
      h("span", {class: i < filled ? (i === newest ? "mx-full mx-new" : "mx-full") : ""})));
  const lines = [h("div", {}, cells(read, total, read - 1),
    h("small", {}, `Self-attention: ${count(read, "token")} × ${2 * model} = ${thousands(read * 2 * model)} ` +
      "numbers; one more token at each step"))];
  if (block.attentions.length > 1) {
    const source = app.trace.source.length;
    lines.push(h("div", {}, cells(source, source, -1),
      h("small", {}, `Cross-attention: ${count(source, "token")} × ${2 * model}, computed once`)));
  }
  return h("div", {class: "mx-cache"}, h("h5", {}, "KV cache"), lines, chapterLink(app, "decoding"));
}

/** Tokens, their ids, and their vectors before the first block. */
export function embeddingsPanel(app) {
  const {trace, opened} = app;
  const first = trace[opened.stack][0].residual[0];
  const ids = opened.stack === "encoder" ? trace.source_ids : trace.target_ids;
  const tokens = tokensOf(app, opened.stack);
  const rows = tokens.map((_, i) => row(first, i));
  const most = largest(rows);
  const {d_model: model, vocab, positions} = trace.sizes;
  const place = positions === "rotary"
    ? "No position is added here: in each self-attention, RoPE rotates queries and keys by their positions."
    : positions === "none" ? "Nothing tells the model the positions." : "Position encodings have been added already.";
  return h("div", {},
    h("p", {}, `Each token has an id, and the id selects one of the ${thousands(vocab)} rows of the embedding matrix: ` +
      `a vector of ${model} numbers. ${place}`),
    h("div", {class: "mx-scroll"}, h("table", {class: "mx-table"},
      h("thead", {}, h("tr", {}, ["token", "id", `embedding (${model} numbers)`].map((name) =>
        h("th", {scope: "col"}, name)), h("th", {scope: "col", class: "mx-first"}, "first numbers"))),
      h("tbody", {}, tokens.map((token, i) => h("tr", {}, h("th", {scope: "row"}, token), h("td", {}, String(ids[i])),
        h("td", {class: "mx-wide"}, vectors([rows[i]], `Embedding of ${token}`, most)),
        h("td", {class: "mx-first"}, `${Array.from(rows[i].subarray(0, 4), (v) => number(v)).join(", ")}, …`)))))),
    chapterLinks(app, "embeddings"));
}
