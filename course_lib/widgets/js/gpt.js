// The stored small GPT in plain JavaScript, for the explorer's own page: there, no kernel runs.
//
// It is a second implementation, for that page alone. The model that the course teaches, and that notebooks and widgets
// run, is course_lib/models/gpt.py; tests/browser/test_page_gpt.py holds the numbers of the two equal. Only what the
// stored model consists of is here: `check_computed` in course_lib/cli/page_gpt.py refuses to pack any other model.

import {bytePairEncoder} from "./byte_pairs.js";
import {dot, weightedSum} from "./trace.js";

/** The tensors of a safetensors file in bf16: {name: Float32Array}. file: a DataView. */
export function readWeights(file) {
  const size = Number(file.getBigUint64(0, true)); // of the header, which follows these 8 bytes
  const {__metadata__, ...tensors} = JSON.parse(new TextDecoder().decode(new Uint8Array(file.buffer, 8, size)));
  return Object.fromEntries(Object.entries(tensors).map(([name, {dtype, data_offsets: [start, end]}]) => {
    if (dtype !== "BF16") throw new Error(`${name} is stored in ${dtype}, not in BF16`);
    const bits = new Uint32Array((end - start) / 2); // those of fp32, whose upper half bf16 is
    for (let i = 0; i < bits.length; i += 1) bits[i] = file.getUint16(8 + size + start + 2 * i, true) << 16;
    return [name, new Float32Array(bits.buffer)];
  }));
}

/** W x + b. The rows of W, one for each number of the result, lie one after another. */
function linear(x, weight, bias) {
  const result = new Float32Array(weight.length / x.length);
  for (let i = 0, at = 0; i < result.length; i += 1) {
    let sum = bias ? bias[i] : 0;
    for (let j = 0; j < x.length; j += 1, at += 1) sum += weight[at] * x[j];
    result[i] = sum;
  }
  return result;
}

const mean = (x) => x.reduce((sum, value) => sum + value, 0) / x.length;
const plus = (x, y) => x.map((value, i) => value + y[i]);

function layerNorm(x, scale, shift, epsilon) {
  const center = mean(x);
  const deviation = Math.sqrt(mean(x.map((value) => (value - center) ** 2)) + epsilon);
  return x.map((value, i) => ((value - center) / deviation) * scale[i] + shift[i]);
}

/** QK norm: the query or key divided by its root mean square; fp32's epsilon, as PyTorch has it. */
function rmsNorm(x) {
  const size = Math.sqrt(dot(x, x) / x.length + 2 ** -23);
  return x.map((value) => value / size);
}

/** Rotary positions: numbers 2i and 2i + 1 are a point, turned by the angle position / 10000^(2i / length). */
function rotate(x, position) {
  return x.map((value, i) => {
    const angle = position / 10000 ** ((i - (i % 2)) / x.length);
    return value * Math.cos(angle) + (i % 2 ? x[i - 1] : -x[i + 1]) * Math.sin(angle);
  });
}

function softmax(scores) {
  const most = Math.max(...scores);
  const sizes = scores.map((score) => Math.exp(score - most));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return Float32Array.from(sizes, (size) => size / total);
}

/** One array of the trace: rows[token][head] → (heads, tokens, width); a row that is too short ends in zeros. */
function perHead(rows, width = rows[0][0].length) {
  const data = new Float32Array(rows[0].length * rows.length * width);
  rows.forEach((heads, t) => heads.forEach((values, head) => data.set(values, (head * rows.length + t) * width)));
  return {data, shape: [rows[0].length, rows.length, width]};
}

function perToken(rows) {
  const {data, shape} = perHead(rows.map((values) => [values]));
  return {data, shape: shape.slice(1)};
}

/** The GPT that reads one token at a time. weights: see `readWeights`. about: what `page_gpt.py` says of the model. */
export class PageGPT {
  constructor(weights, about) {
    Object.assign(this, {weights, about, encode: bytePairEncoder(about)});
  }

  /** The hidden state that predicts the token after this one. blocks: what they computed so far, which grows. */
  read(id, blocks) {
    const {weights, about: {epsilon, sizes: {d_model: width, d_head: size}}} = this;
    const layer = (x, name) => linear(x, weights[`${name}.weight`], weights[`${name}.bias`]);
    const norm = (x, name) => layerNorm(x, weights[`${name}.weight`], weights[`${name}.bias`], epsilon);
    const split = (x) => Array.from({length: x.length / size}, (_, i) => x.subarray(i * size, (i + 1) * size));
    const position = blocks[0].q.length;
    let x = weights["embedding.weight"].slice(id * width, (id + 1) * width);
    blocks.forEach((block, i) => {
      const keep = (name, value) => block[name].push(value);
      const its = `blocks.${i}.`;
      keep("before", x);
      const inner = norm(x, `${its}norm_1`);
      const q = split(layer(inner, `${its}attention.w_q`)).map((one) => rotate(rmsNorm(one), position));
      const kv = split(layer(inner, `${its}attention.w_kv`)); // the keys of all heads, then the values
      keep("q", q);
      keep("k", kv.slice(0, q.length).map((one) => rotate(rmsNorm(one), position)));
      keep("v", kv.slice(q.length));
      const maps = q.map((one, head) => softmax(block.k.map((k) => dot(one, k[head]) / Math.sqrt(size))));
      keep("weights", maps); // causal without a mask: later tokens have not been read yet
      const heads = maps.map((map, head) => [...weightedSum(map, block.v.map((v) => v[head]))]);
      x = plus(x, layer(Float32Array.from(heads.flat()), `${its}attention.w_o`));
      keep("between", x);
      const hidden = layer(norm(x, `${its}norm_2`), `${its}feed_forward.w_in`).map((value) => Math.max(0, value) ** 2);
      keep("hidden", hidden);
      x = plus(x, layer(hidden, `${its}feed_forward.w_out`));
      keep("after", x);
    });
    return norm(x, "norm");
  }

  /**
   * The trace of a text that the model continues greedily; null if `goOn` says so, which is awaited after each token.
   *
   * It is what `readTrace` makes of a trace from Python, apart from `text`, which no view reads, but holds the logits
   * of all tokens, and their ids. prefix: ids that the continuation has to begin with. Throws an Error for a text that
   * it cannot read.
   */
  async trace(text, prefix = [], goOn = () => true) {
    const {about, weights} = this;
    const ids = this.encode(text);
    const prompt = ids.length;
    if (/\p{Surrogate}/u.test(text)) throw new Error("The text contains half of a character (a lone surrogate).");
    if (!prompt) throw new Error("The text is empty: the model needs at least one token to start from.");
    if (prompt > about.reads) {
      throw new Error(`The text has ${prompt} tokens, but the model on this page reads at most ${about.reads}.`);
    }
    const parts = ["before", "q", "k", "v", "weights", "between", "hidden", "after"];
    const blocks = about.parameters.map(() => Object.fromEntries(parts.map((part) => [part, []])));
    const [chosen, orders, logits] = [[], [], []];
    for (let t = 0; t < ids.length; t += 1) {
      const state = this.read(ids[t], blocks);
      if (t + 1 >= prompt) {
        const scores = linear(state, weights["embedding.weight"]); // the embedding matrix again: the head is tied
        const order = Uint32Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a]);
        orders.push(order);
        logits.push(Float32Array.from(order, (id) => scores[id] - scores[order[0]]));
        chosen.push(prefix[chosen.length] ?? order[0]);
        if (chosen.length < about.writes && chosen.at(-1) !== about.end) ids.push(chosen.at(-1));
      }
      if (!(await goOn())) return null;
    }
    const named = (list) => list.map((id) => about.tokens[id]);
    return {
      mode: "gpt", source: [], source_ids: [], encoder: [], prompt,
      sizes: about.sizes, temperatures: about.temperatures,
      target: named(ids), target_ids: ids, chosen: named(chosen), chosen_ids: chosen, orders,
      logits: perToken(logits), tails: perToken(chosen.map(() => about.temperatures.map(() => 0))),
      candidates: orders.map((order) =>
        Array.from(order.subarray(0, about.shown), (id) => ({id, token: about.tokens[id]}))),
      decoder: blocks.map(({q, k, v, weights: maps, before, between, after, hidden}, i) => ({
        name: `Block ${i + 1}`, parameters: about.parameters[i], hidden: perToken(hidden),
        residual: [before, between, after].map(perToken),
        attentions: [{name: "Self-attention", causal: ids.length > 1, q: perHead(q), k: perHead(k), v: perHead(v),
          weights: perHead(maps, ids.length)}],
      })),
    };
  }
}
