"use strict";

// The recurrent models before the Transformer: an encoder and a decoder that carry a state from
// token to token, with one context vector (Cho et al. 2014, Sutskever et al. 2014) or with
// attention (Bahdanau et al. 2015, Luong et al. 2015).

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// A cell's next state, from the projected input (W x + b) and the projected state (U h + c).
const CELLS = {
  rnn: { gates: 1, states: 1, next: (read, recur) => read.map((r, i) => Math.tanh(r + recur[i])) },
  gru: {
    gates: 3,
    states: 1,
    // h = (1 − z) n + z h₋₁: z keeps the old state, r admits it to the new one, n.
    next: (read, recur, state) => state.map((old, i) => {
      const [r, z, n] = [i, state.length + i, 2 * state.length + i];
      const reset = sigmoid(read[r] + recur[r]);
      const update = sigmoid(read[z] + recur[z]);
      return (1 - update) * Math.tanh(read[n] + reset * recur[n]) + update * old;
    }),
  },
  lstm: {
    gates: 4,
    states: 2,
    // The state is h and a cell c side by side: c = f c₋₁ + i g, h = o tanh(c).
    next: (read, recur, state) => {
      const hidden = state.length / 2;
      const next = new Float32Array(state.length);
      for (let at = 0; at < hidden; at++) {
        const [i, f, g, o] = [0, 1, 2, 3].map((gate) => {
          return read[gate * hidden + at] + recur[gate * hidden + at];
        });
        const cell = sigmoid(f) * state[hidden + at] + sigmoid(i) * Math.tanh(g);
        next[hidden + at] = cell;
        next[at] = sigmoid(o) * Math.tanh(cell);
      }
      return next;
    },
  },
};

function dot(x, y) {
  return x.reduce((sum, entry, i) => sum + entry * y[i], 0);
}

// A matrix of one row.
function vector(data) {
  return { rows: 1, columns: data.length, data };
}

// Concatenate vectors.
function join(...vectors) {
  return Float32Array.from(vectors.flatMap((part) => Array.from(part)));
}

function matrixOf(rows) {
  return { rows: rows.length, columns: rows[0].length, data: join(...rows) };
}

class RecurrentModel {
  constructor(config, weights) {
    Object.assign(this, { config, weights, maxLength: null });
    this.cell = CELLS[config.cell];
  }

  // x Wᵀ + b; an attention's matrices have no b.
  linear(x, name) {
    return timesTransposed(x, this.weights[`${name}.weight`], this.weights[`${name}.bias`]?.data);
  }

  embed(side, ids) {
    const table = this.weights[`${side}_embedding.weight`];
    return matrixOf(ids.map((id) => row(table, id)));
  }

  // One step of a cell.
  step(name, x, state) {
    const read = this.linear(vector(x), `${name}.read`).data;
    const recur = this.linear(vector(this.hidden(state)), `${name}.recur`).data;
    return this.cell.next(read, recur, state);
  }

  // The part of a state that other layers see: h, which comes first.
  hidden(state) {
    return state.subarray(0, this.config.hidden_dim);
  }

  // The cell over a sentence: a hidden state at every position, and the last state.
  walk(name, x, first = new Float32Array(this.cell.states * this.config.hidden_dim)) {
    let state = first;
    const hidden = [];
    for (let i = 0; i < x.rows; i++) {
      state = this.step(name, row(x, i), state);
      hidden.push(this.hidden(state));
    }
    return { hidden, state };
  }

  // The decoder's first state: tanh(W h).
  bridge(hidden) {
    return this.linear(vector(hidden), "bridge").data.map(Math.tanh);
  }

  // vᵀ tanh(W_s s + W_h h): the score of every source position, a row of keys.
  additiveScores(query, keys) {
    const asked = this.linear(vector(query), "attention.query").data;
    const v = this.weights["attention.v.weight"].data;
    return Float32Array.from({ length: keys.rows }, (_, j) => {
      return dot(row(keys, j).map((key, i) => Math.tanh(asked[i] + key)), v);
    });
  }

  // The softmax of the scores, or weights set by hand; and the weighted sum of the memory.
  lookUp(scores, memory, byHand) {
    softmax(scores);
    if (byHand) scores.fill(0).set(byHand.slice(0, scores.length));
    return times(vector(scores), memory).data;
  }

  // Logits from the decoder's vectors, from one position on.
  logits(readouts, from) {
    const x = this.linear(matrixOf(readouts.slice(from)), "readout");
    return this.linear({ ...x, data: x.data.map(Math.tanh) }, "output");
  }
}

// The encoder's last state is the context c; s = f(s₋₁, [y; c]), logits from [s; c; y].
class Seq2Seq extends RecurrentModel {
  read(ids) {
    const embeddings = this.embed("src", ids);
    const context = this.hidden(this.walk("encoder.cell", embeddings).state);
    return { ids, memory: vector(context), attention: {} };
  }

  rate(source, ids, _, from = 0) {
    const context = source.memory.data;
    const embeddings = this.embed("tgt", ids);
    const words = ids.map((_, t) => row(embeddings, t));
    const inputs = matrixOf(words.map((word) => join(word, context)));
    const { hidden } = this.walk("decoder.cell", inputs, this.bridge(context));
    const logits = this.logits(hidden.map((state, t) => join(state, context, words[t])), from);
    return { logits, attention: {} };
  }
}

// h = [→h; ←h] of every source position; the query is the state before the word.
class Bahdanau extends RecurrentModel {
  read(ids) {
    const embeddings = this.embed("src", ids);
    const backwards = this.embed("src", ids.toReversed());
    const left = this.walk("encoder.forwards.cell", embeddings).hidden;
    const right = this.walk("encoder.backwards.cell", backwards).hidden.toReversed();
    const memory = matrixOf(left.map((hidden, i) => join(hidden, right[i])));
    const keys = this.linear(memory, "attention.key");
    return { ids, memory, keys, first: this.bridge(right[0]), attention: {} };
  }

  rate(source, ids, change = noChange(), from = 0) {
    const embeddings = this.embed("tgt", ids);
    const [weights, readouts] = [[], []];
    let state = source.first;
    for (const t of ids.keys()) {
      const scores = this.additiveScores(this.hidden(state), source.keys);
      const byHand = change.weights["attention.0"]?.[t];
      const context = this.lookUp(scores, source.memory, byHand);
      const word = row(embeddings, t);
      state = this.step("decoder", join(word, context), state);
      weights.push(scores);
      readouts.push(join(this.hidden(state), context, word));
    }
    const attention = { attention: [matrixOf(weights)] };
    return { logits: this.logits(readouts, from), attention };
  }
}

// The query is the state after the step; the context does not return to the recurrence.
class Luong extends RecurrentModel {
  read(ids) {
    const embeddings = this.embed("src", ids);
    const { hidden, state } = this.walk("encoder.cell", embeddings);
    const memory = matrixOf(hidden);
    const keys = this.config.score === "dot" ? memory : this.linear(memory, "attention.key");
    return { ids, memory, keys, first: state, attention: {} };
  }

  rate(source, ids, change = noChange(), from = 0) {
    const embeddings = this.embed("tgt", ids);
    const { hidden } = this.walk("decoder.cell", embeddings, source.first);
    const weights = [];
    const readouts = hidden.map((state, t) => {
      const scores = this.config.score === "concat"
        ? this.additiveScores(state, source.keys)
        : timesTransposed(vector(state), source.keys).data;
      const context = this.lookUp(scores, source.memory, change.weights["attention.0"]?.[t]);
      weights.push(scores);
      return join(context, state);
    });
    const attention = { attention: [matrixOf(weights)] };
    return { logits: this.logits(readouts, from), attention };
  }
}
