"use strict";

// What has changed in the block since 2017: other activations, rotary positions, and queries and keys
// that are normalised.

const ACTIVATIONS = {
  relu: (z) => Math.max(0, z),
  swish: (z) => z / (1 + Math.exp(-z)), // Ramachandran et al. 2017
  gelu: (z) => (z / 2) * (1 + erf(z / Math.SQRT2)), // Hendrycks and Gimpel 2016
  gelu_tanh: (z) => (z / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (z + 0.044715 * z ** 3))),
};

// The error function, to six decimals. (Abramowitz and Stegun 1964, formula 7.1.26.)
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const factors = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  const sum = factors.reduce((total, factor) => (total + factor) * t, 0);
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
}

// Rotary positions: columns 2i and 2i + 1 of every head are turned by the angle
// position · base^(−2i / d_k). (Su et al. 2021, equation 34.)
function turned(x, d_k, base, first) {
  const y = matrix(x.rows, x.columns);
  for (let at = 0; at < x.data.length; at += 2) {
    const angle = (first + Math.floor(at / x.columns)) * base ** (-(at % d_k) / d_k);
    const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
    y.data[at] = x.data[at] * cosine - x.data[at + 1] * sine;
    y.data[at + 1] = x.data[at] * sine + x.data[at + 1] * cosine;
  }
  return y;
}

// Queries and keys as they are compared: each head's normalised (Dehghani et al. 2023), and in a
// self-attention turned, if the model has that. Row 0 is at position `first`.
function compared(model, x, name, change, first) {
  const { d_k, positions, rotary_base: base } = model.config;
  if (`${name}_norm.weight` in model.weights) {
    const heads = { rows: x.data.length / d_k, columns: d_k, data: x.data };
    x = { ...x, data: model.norm(heads, `${name}_norm`).data };
  }
  const turns = positions === "rotary" && change.positions && /self_attention.(query|key)$/.test(name);
  return turns ? turned(x, d_k, base, first) : x;
}
