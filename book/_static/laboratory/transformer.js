"use strict";

// A Transformer (Vaswani et al. 2017): from the ids of a sentence to the logits of its next token.
// A matrix is {rows, columns, data}, its rows one after another in a Float32Array: numbers are stored
// in 32 bits, while JavaScript adds in 64. A sentence is a matrix with one row per token.

function matrix(rows, columns) {
  return { rows, columns, data: new Float32Array(rows * columns) };
}

// Row i: a window onto the matrix, not a copy.
function row(x, i) {
  return x.data.subarray(i * x.columns, (i + 1) * x.columns);
}

// Columns start to start + width, as a new matrix: the part of one head.
function columns(x, start, width) {
  const part = matrix(x.rows, width);
  for (let i = 0; i < x.rows; i++) row(part, i).set(row(x, i).subarray(start, start + width));
  return part;
}

// x yᵀ: every row of x times every row of y, plus b if there is one. Four rows of y at a time: no sum
// waits for another, and a number of x is read once for the four. At the end a row may be among them twice.
function timesTransposed({ rows, columns, data: x }, { rows: width, data: y }, b) {
  const product = matrix(rows, width);
  const [sums, shift] = [product.data, b ?? new Float32Array(width)];
  const last = width - 1;
  for (let j = 0; j < width; j += 4) { // no arrays are made in here: they took half of the time
    const j1 = Math.min(j + 1, last), j2 = Math.min(j + 2, last), j3 = Math.min(j + 3, last);
    const y0 = j * columns, y1 = j1 * columns, y2 = j2 * columns, y3 = j3 * columns;
    for (let i = 0; i < rows; i++) {
      let s0 = shift[j], s1 = shift[j1], s2 = shift[j2], s3 = shift[j3];
      for (let k = 0; k < columns; k++) {
        const entry = x[i * columns + k];
        s0 += entry * y[y0 + k];
        s1 += entry * y[y1 + k];
        s2 += entry * y[y2 + k];
        s3 += entry * y[y3 + k];
      }
      const at = i * width;
      sums[at + j] = s0;
      sums[at + j1] = s1;
      sums[at + j2] = s2;
      sums[at + j3] = s3;
    }
  }
  return product;
}

// x y: sums of the rows of y, weighted by the rows of x.
function times(x, y) {
  const product = matrix(x.rows, y.columns);
  for (let at = 0; at < product.data.length; at++) {
    const [i, j] = [Math.floor(at / y.columns), at % y.columns];
    let sum = 0;
    for (let k = 0; k < y.rows; k++) sum += x.data[i * y.rows + k] * y.data[k * y.columns + j];
    product.data[at] = sum;
  }
  return product;
}

function add(x, y) {
  return { ...x, data: x.data.map((entry, at) => entry + y.data[at]) };
}

// exp(xᵢ) / Σ exp(xⱼ), in place. The largest is subtracted first, so that nothing overflows.
function softmax(scores) {
  const largest = scores.reduce((a, b) => Math.max(a, b));
  const powers = Array.from(scores, (score) => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b);
  powers.forEach((power, i) => { scores[i] = power / sum; });
}

// A head's scores, Q Kᵀ / scale; causal hides later keys: the first query has the position `first`.
function attentionScores(query, key, { scale = 1, causal = false, first = 0 }) {
  const scores = timesTransposed(query, key);
  const isHidden = (at) => causal && at % scores.columns > first + Math.floor(at / scores.columns);
  return { ...scores, data: scores.data.map((e, at) => (isHidden(at) ? -Infinity : e / scale)) };
}

// Its weights, in place of its scores: the softmax of every row, or the row set in `rows`.
function attentionWeights(scores, { first = 0, rows = {} }) {
  for (let i = 0; i < scores.rows; i++) {
    softmax(row(scores, i));
    if (rows[first + i]) row(scores, i).fill(0).set(rows[first + i].slice(0, scores.columns));
  }
  return scores;
}

// PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(the same).
function sinusoids(length, width) {
  const table = matrix(length, width);
  for (let at = 0; at < table.data.length; at++) {
    const [position, column] = [Math.floor(at / width), at % width];
    const angle = position * 10000 ** (-(column - (column % 2)) / width);
    table.data[at] = column % 2 ? Math.cos(angle) : Math.sin(angle);
  }
  return table;
}

class Transformer {
  // `weights` are matrices by the names that they have in PyTorch.
  constructor(config, weights) {
    Object.assign(this, { config, weights, maxLength: config.max_length });
  }

  // x Wᵀ + b
  linear(x, name, weight = this.weights[`${name}.weight`]) {
    return timesTransposed(x, weight, this.weights[`${name}.bias`]?.data);
  }

  // (x − mean) / √(variance + ε), times a factor, plus a shift; "rms" has neither mean nor shift.
  norm(x, name) {
    const [factor, shift] = ["weight", "bias"].map((part) => this.weights[`${name}.${part}`]?.data);
    const y = matrix(x.rows, x.columns);
    for (let i = 0; i < x.rows; i++) {
      const mean = shift ? row(x, i).reduce((a, b) => a + b) / x.columns : 0;
      const centred = Array.from(row(x, i), (entry) => entry - mean);
      const squares = centred.reduce((sum, entry) => sum + entry ** 2, 0);
      const scale = Math.sqrt(squares / x.columns + this.config.epsilon);
      row(y, i).set(centred.map((e, j) => (e / scale) * factor[j] + (shift?.[j] ?? 0)));
    }
    return y;
  }

  // Every head compares queries with keys in its own subspace, and averages values; W^O merges
  // them. With fewer heads of keys and values, consecutive heads share one (num_kv_heads).
  multiHeadAttention(name, x, memory, causal, { change, attention, cache, first }) {
    const { num_heads: heads, num_kv_heads: pairs, d_k, d_v } = this.config;
    const project = (y, side) => compared(this, this.linear(y, side), side, change, first);
    const query = project(x, `${name}.query`);
    const [key, value] = [`${name}.key`, `${name}.value`].map((side) => (cache[side] =
      x === memory ? below(cache[side], project(x, side)) : cache[side] ?? project(memory, side)));
    const gathered = matrix(x.rows, heads * d_v);
    attention[name] = Array.from({ length: heads }, (_, head) => {
      const pair = Math.floor((head * pairs) / heads);
      const [q, k] = [columns(query, head * d_k, d_k), columns(key, pair * d_k, d_k)];
      const scores = attentionScores(q, k, { scale: change.scale ? Math.sqrt(d_k) : 1, causal, first });
      const weights = attentionWeights(scores, { first, rows: change.weights[`${name}.${head}`] });
      if (change.headsOff.has(`${name}.${head}`)) return weights;
      const sums = times(weights, columns(value, pair * d_v, d_v));
      for (let i = 0; i < x.rows; i++) row(gathered, i).set(row(sums, i), head * d_v);
      return weights;
    });
    return this.linear(gathered, `${name}.output`);
  }

  // At every position separately, f(x W₁ + b₁) W₂ + b₂; with a gate, (f(x V + c) ⊗ (x W₁ + b₁)) W₂ + b₂.
  feedForward(name, x) {
    const inner = this.linear(x, `${name}.feed_forward.inner`);
    const gate = this.config.gated && this.linear(x, `${name}.feed_forward.gate`).data;
    const f = ACTIVATIONS[this.config.activation]; // of the paper: f(z) = max(0, z)
    const data = inner.data.map((z, at) => (gate ? f(gate[at]) * z : f(z)));
    return this.linear({ ...inner, data }, `${name}.feed_forward.outer`);
  }

  // A residual connection around a sub-layer: Norm(x + Sublayer(x)), or, pre-norm, x + Sublayer(Norm(x)).
  residual(name, x, sublayer) {
    if (this.config.norm_position === "pre") return add(x, sublayer(this.norm(x, `${name}.norm`)));
    return this.norm(add(x, sublayer(x)), `${name}.norm`);
  }

  // The vectors of tokens times √d_model, plus those of their positions, which begin at `first`.
  embed(side, ids, change, first = 0) {
    const told = `The sentence has ${first + ids.length} tokens, the model takes ${this.maxLength}.`;
    if (first + ids.length > this.maxLength) throw new Error(told);
    const name = this.config.share_embeddings ? "tgt_embedding" : `${side}_embedding`;
    const table = this.weights[`${name}.tokens.weight`];
    const x = matrix(ids.length, table.columns);
    ids.forEach((id, i) => row(x, i).set(row(table, id).map((e) => e * Math.sqrt(x.columns))));
    if (!change.positions || ["rotary", "none"].includes(this.config.positions)) return x;
    const { data } = this.weights[`${name}.positions.table`] ?? sinusoids(first + x.rows, x.columns);
    return add(x, { data: data.subarray(first * x.columns) });
  }

  // The layers of a stack. `run` has the change and the first position, and collects weights, keys, values.
  stack(side, x, causal, run, memory = null) {
    for (let layer = 0; layer < this.config.num_layers; layer++) {
      const [name, last] = [`${side}.${layer}`, side === "encoder" ? 2 : 3];
      x = this.residual(`${name}.residual_1`, x, (y) =>
        this.multiHeadAttention(`${name}.self_attention`, y, y, causal, run));
      if (memory) x = this.residual(`${name}.residual_2`, x, (y) =>
        this.multiHeadAttention(`${name}.cross_attention`, y, memory, false, run));
      x = this.residual(`${name}.residual_${last}`, x, (y) => this.feedForward(name, y));
    }
    return this.config.norm_position === "pre" ? this.norm(x, `${side}_norm`) : x;
  }

  // The encoder reads a sentence (with <eos> at its end) into the memory, one row per token.
  read(ids, change = noChange()) {
    const run = { change, attention: {}, cache: {}, first: 0 };
    const memory = this.stack("encoder", this.embed("src", ids, change), false, run);
    return { ids, memory, attention: run.attention };
  }

  // The decoder reads <bos> and the target, and computes the logits of the token after each, `from` on.
  // It can read on from `after`, which has the keys and values of all that is read: the KV cache.
  rate(source, ids, change = noChange(), from = 0) {
    const { memory, cache, length: first = 0 } = source;
    const run = { change, attention: {}, cache: { ...cache }, first };
    const x = this.stack("decoder", this.embed("tgt", ids, change, first), change.causal, run, memory);
    const name = this.config.tie_output ? "tgt_embedding.tokens" : "output";
    const asked = { ...x, rows: x.rows - from, data: x.data.subarray(from * x.columns) };
    const logits = this.linear(asked, "output", this.weights[`${name}.weight`]);
    return { logits, attention: run.attention, after: { ...source, cache: run.cache, length: first + ids.length } };
  }
}
