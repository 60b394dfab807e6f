// Reading a trace: its arrays, and what follows from its logits by arithmetic alone.

/** The value of a half-precision number from its 16 bits. */
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** An array of the trace: {data: Float32Array, shape}. `place` says where and how it is stored. */
export function readArray(place, view) {
  const count = place.shape.reduce((product, size) => product * size, 1);
  const data = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    if (place.kind === "f2") data[i] = half(view.getUint16(place.at + 2 * i, true));
    else data[i] = view.getFloat32(place.at + 4 * i, true);
  }
  return { data, shape: place.shape };
}

/** The trace with arrays in place of their descriptions; arrays stay. bytes: a DataView of the numbers. */
export function readTrace(header, bytes) {
  const convert = (value) => {
    if (Array.isArray(value)) return value.map(convert);
    if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
    if ("at" in value && "kind" in value) return readArray(value, bytes);
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, convert(part)]));
  };
  return convert(header);
}

/** One row of a two-dimensional array, or of one slice of a three-dimensional one. */
export function row(array, i, slice = 0) {
  const width = array.shape[array.shape.length - 1];
  const rows = array.shape[array.shape.length - 2];
  const start = (slice * rows + i) * width;
  return array.data.subarray(start, start + width);
}

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** Σ weights[i] · rows[i] */
export function weightedSum(weights, rows) {
  const sum = new Float32Array(rows[0].length);
  rows.forEach((values, i) => values.forEach((value, j) => (sum[j] += weights[i] * value)));
  return sum;
}

/** Number of tokens that the decoder has read when it predicts the token of a step. */
export function tokensRead(trace, step) {
  return trace.prompt + step;
}

/**
 * Probabilities of the most likely next tokens, as `next_token_probabilities` computes them.
 *
 * The trace has the largest logits and, for each temperature of the slider, the weight of all others.
 * settings: {temperature, topK, topP}; topK 0 and topP 1 keep all tokens. Returns {probabilities, kept}.
 */
export function nextTokenProbabilities(trace, step, { temperature, topK, topP }) {
  const logits = row(trace.logits, step);
  const tails = row(trace.tails, step);
  const others = trace.sizes.vocab - logits.length;
  if (temperature === 0) return truncated([1, ...new Array(logits.length - 1).fill(0)], 0, 0, topK, topP);
  const weights = Array.from(logits, (logit) => Math.exp(logit / temperature));
  const tail = tails[trace.temperatures.findIndex((one) => Math.abs(one - temperature) < 1e-6)];
  const total = weights.reduce((sum, weight) => sum + weight, tail);
  return truncated(weights.map((weight) => weight / total), tail / total, others, topK, topP);
}

/** Top-k, then top-p. rest: the probability of all tokens that are not listed, and others: how many. */
function truncated(probabilities, rest, others, topK, topP) {
  let kept = probabilities.filter((p) => p > 0).length + others;
  if (topK > 0 && topK < kept) {
    const cut = probabilities.map((p, i) => (i < topK ? p : 0));
    const mass = cut.reduce((sum, p) => sum + p, 0);
    probabilities = cut.map((p) => p / mass);
    [rest, kept] = [0, topK];
  }
  if (topP < 1) {
    let likelier = 0;
    const cut = probabilities.map((p) => {
      const stays = likelier < topP;
      likelier += p;
      return stays ? p : 0;
    });
    const mass = cut.reduce((sum, p) => sum + p, 0);
    const reached = mass >= topP || rest === 0;
    probabilities = cut.map((p) => p / (reached ? mass : topP));
    if (reached) kept = cut.filter((p) => p > 0).length;
    else kept = null; // more tokens than are listed
  }
  return { probabilities, kept };
}
