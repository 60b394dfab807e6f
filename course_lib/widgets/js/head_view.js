// One head of an attention layer, with its arithmetic on the real numbers.

import {attentionMap} from "./attention_map.js";
import {chapterLinks, h, largest, number, percent, vectors} from "./drawing.js";
import {shownWeights} from "./overview.js";
import {dot, row, weightedSum} from "./trace.js";
import {tokensOf} from "./block_view.js";

const LARGE = 600; // pixels of the panel around an enlarged map, where the window sets no limit
const BESIDE_CELLS = 170; // of these, for what is above and below its cells

/** What a head computes for one query: scores, weights, and the weighted sum of values. */
export function headArithmetic(attention, head, query, keys) {
  const q = row(attention.q, query, head);
  const scale = Math.sqrt(q.length);
  const kept = attention.causal ? Math.min(keys, query + 1) : keys;
  const k = Array.from({length: kept}, (_, j) => row(attention.k, j, head));
  const v = Array.from({length: kept}, (_, j) => row(attention.v, j, head));
  const products = k.map((one) => dot(q, one));
  const scores = products.map((product) => product / scale);
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const weights = powers.map((power) => power / total);
  return {q, k, v, products, scores, weights, output: weightedSum(weights, v)};
}

export function headPanel(app) {
  const {stack, index} = app.opened;
  const {layer, head} = app.head;
  const attention = app.trace[stack][index].attentions[layer];
  const queries = tokensOf(app, stack);
  const keys = attention.name === "Cross-attention" ? tokensOf(app, "encoder") : queries;
  const query = app.queryOf(stack);
  const found = headArithmetic(attention, head, query, keys.length);
  const likeliest = found.weights.indexOf(Math.max(...found.weights));
  const key = app.key !== null && app.key < found.weights.length ? app.key : likeliest;
  if (app.enlarged) return h("div", {class: "mx-map mx-enlarged"}, mapOf(app, attention, head, queries, keys, query, key));
  return h("div", {class: "mx-arithmetic"},
    h("div", {class: "mx-map"}, mapOf(app, attention, head, queries, keys, query, key),
      h("p", {}, "Each row shows the weights of one query: how much it takes from each value. Hover over a cell, or click it."),
      chapterLinks(app, "head")),
    h("div", {class: "mx-work"}, table(app, attention, found, queries[query], keys, key),
      product(app, found, queries[query], keys[key], key)));
}

function mapOf(app, attention, head, queries, keys, query, key) {
  const element = h("div", {class: "mx-attention"});
  const map = attentionMap(element, {
    onSelect: ({row: line, column}) => app.select({query: line ?? query, key: column}),
  });
  const rows = shownWeights(attention, head, queries.length);
  const room = parseFloat(getComputedStyle(app.element).getPropertyValue("--mx-room")) || LARGE;
  const size = app.enlarged ? {maxCell: 110, maxHeight: room - BESIDE_CELLS, numbers: true}
    : {maxCell: 44, maxHeight: 290};
  app.afterRender(() => map.update({
    rows: queries, columns: keys, weights: Float32Array.from(rows.flatMap((values) => Array.from(values))),
    rowName: "query", columnName: "key", title: "Attention weights", low: 0, high: 1, ...size,
    selected: {row: query, column: key},
  }));
  app.beforeRender(() => map.destroy());
  return element;
}

/** A row for each key: its score, its weight, and its value; below, the sum. */
function table(app, attention, found, query, keys, key) {
  const {qk_norm: normalized, positions} = app.trace.sizes;
  const rotated = positions === "rotary" && attention.name === "Self-attention";
  const changed = [normalized && "QK-norm", rotated && "RoPE"].filter(Boolean);
  const d = found.q.length;
  const [mostKey, mostValue] = [largest([found.q, ...found.k]), largest(found.v)];
  const titles = ["key", "k", "q · k", `÷ √${d}`, "softmax", "× v"];
  const lines = found.weights.map((weight, j) => h("tr", {
    class: j === key ? "mx-selected" : null, onclick: () => app.select({key: j}),
  }, h("th", {scope: "row"}, h("button", {type: "button", "data-key": `key-${j}`, "aria-pressed": String(j === key)},
    keys[j])),
    h("td", {class: "mx-strip"}, vectors([found.k[j]], "", mostKey)),
    h("td", {}, number(found.products[j])), h("td", {}, number(found.scores[j])),
    h("td", {class: "mx-weight"}, h("span", {class: "mx-bar-track"},
      h("span", {class: "mx-bar-fill", style: `width: ${100 * weight}%`})), h("span", {}, percent(weight))),
    h("td", {class: "mx-strip"}, h("span", {style: `opacity: ${0.15 + 0.85 * weight ** 0.5}`},
      vectors([found.v[j]], "", mostValue)))));
  const scroller = h("div", {class: "mx-scroll"});
  app.afterRender(() => {
    const chosen = scroller.querySelector("tbody .mx-selected");
    scroller.scrollTop = chosen.offsetTop - scroller.clientHeight / 2;
  });
  scroller.append(h("table", {class: "mx-table mx-keys"},
    h("thead", {},
      h("tr", {class: "mx-query"}, h("th", {scope: "row"}, query), h("td", {class: "mx-strip"},
        vectors([found.q], `The query vector of ${query}`, mostKey)), h("td", {colspan: 4},
        `← its query q: ${d} numbers${changed.length ? `, after ${changed.join(" and ")}` : ""}`)),
      h("tr", {}, titles.map((title) => h("th", {scope: "col"}, title)))),
    h("tbody", {}, lines),
    h("tfoot", {}, h("tr", {}, h("th", {scope: "row", colspan: 4}, `Output of the head for “${query}”: `,
      h("small", {}, "Σ weight × value")), h("td", {}, percent(1)), h("td", {class: "mx-strip"},
      vectors([found.output], "The weighted sum of the values", mostValue))))));
  return scroller;
}

/** The dot product of the query and one key, term by term. */
function product(app, found, query, keyToken, key) {
  const {q} = found;
  const k = found.k[key];
  const terms = q.map((value, i) => value * k[i]);
  const most = largest([q, k]);
  const signed = (value) => (value < 0 ? `(${number(value)})` : number(value));
  const first = [0, 1, 2].map((i) => `${signed(q[i])} × ${signed(k[i])}`).join(" + ");
  const line = (name, values, limit) => h("div", {class: "mx-term"}, h("span", {}, name), vectors([values], "", limit));
  return h("div", {class: "mx-product"},
    h("h5", {}, `How well “${query}” matches “${keyToken}”`),
    line("q", q, most), line("k", k, most), line("q × k", terms, largest([terms])),
    h("p", {}, `q · k = ${first} + … (${q.length} terms) = `, h("b", {}, number(found.products[key])),
      `.  ${number(found.products[key])} ÷ √${q.length} = `, h("b", {}, number(found.scores[key])),
      ".  Softmax over all keys: ", h("b", {}, percent(found.weights[key]))));
}
