"use strict";

// Read the two files of an exported model, model.json and model.safetensors. Anything wrong with
// them is reported in one sentence.

// A change of a model; this one changes nothing.
function noChange() {
  return {
    headsOff: new Set(), // "decoder.0.cross_attention.2": heads that say nothing, counted from 0
    positions: true, // false: nothing tells the tokens where they stand
    scale: true, // false: scores are not divided by √d_k
    causal: true, // false: the decoder sees the words after a position, too
    weights: {}, // {"decoder.1.cross_attention.0": {3: [0, 1, 0]}}: rows of weights set by hand
    temperature: 1, // what logits are divided by
    topK: 0, // sample among so many tokens, the most probable; 0: among all
    topP: 1, // sample among the fewest of these with this share of their probability
  };
}

function isChanged({ headsOff, weights, ...settings }, unchanged = noChange()) {
  return headsOff.size > 0 || Object.keys(weights).length > 0 ||
    Object.entries(settings).some(([name, value]) => value !== unchanged[name]);
}

function requireThat(condition, sentence) {
  if (!condition) throw new Error(sentence);
}

// The 32-bit number for each of the 65,536 numbers of 16 bits.
const HALVES = Float32Array.from({ length: 65536 }, (_, bits) => {
  const [sign, exponent, rest] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + rest / 1024) * 2 ** (exponent - 15) : rest * 2 ** -24);
});

const NUMBERS = {
  F16: [2, (bytes) => Float32Array.from(new Uint16Array(bytes), (bits) => HALVES[bits])],
  F32: [4, (bytes) => new Float32Array(bytes)],
  I8: [1, (bytes) => new Float32Array(new Int8Array(bytes))], // to be multiplied by scales
};
const LARGEST = 30_000_000; // with more bytes, a reader would wait too long for every word

// The tensors of a safetensors file as matrices by name; a vector is a matrix of one row.
// The file: the header's length in 8 bytes, the header in JSON, the numbers.
function readSafetensors(buffer) {
  let header = null;
  let start = 0;
  try {
    start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  } catch { /* reported below */ }
  requireThat(header && typeof header === "object", "The weights are not a safetensors file.");
  requireThat(
    buffer.byteLength - start <= LARGEST,
    `The weights have ${buffer.byteLength - start} bytes, they must have at most ${LARGEST}.`,
  );
  delete header.__metadata__;
  const matrices = {};
  for (const [name, tensor] of Object.entries(header)) {
    const { dtype, shape, data_offsets: offsets } = tensor ?? {};
    requireThat(
      Object.hasOwn(NUMBERS, dtype),
      `${name} has numbers of the kind ${dtype}, they must be F16, F32 or I8.`,
    );
    requireThat(
      Array.isArray(shape) && [1, 2].includes(shape.length),
      `${name} has the shape ${JSON.stringify(shape)}, it must be a vector or a matrix.`,
    );
    const [size, read] = NUMBERS[dtype];
    const [rows, columns] = shape.length === 2 ? shape : [1, shape[0]];
    const [from, to] = (offsets ?? []).map((offset) => start + offset);
    requireThat(
      to - from === rows * columns * size && to <= buffer.byteLength,
      `The weights are damaged: ${name} is truncated.`,
    );
    matrices[name] = { rows, columns, data: read(buffer.slice(from, to)) };
  }
  for (const name of Object.keys(header).filter((each) => header[each].dtype === "I8")) {
    const scales = matrices[`${name}.scale`]?.data;
    const { rows } = matrices[name];
    requireThat(scales?.length === rows, `The weights are damaged: ${name} lacks ${rows} scales.`);
    scales.forEach((scale, i) => row(matrices[name], i).forEach((entry, j, whole) => {
      whole[j] = scale * entry;
    }));
    delete matrices[`${name}.scale`];
  }
  return matrices;
}

// --- the shapes of a model's parameters, by their names in PyTorch -------------------------

function linearShapes(name, from, to, bias = true) {
  return { [`${name}.weight`]: [to, from], ...(bias && { [`${name}.bias`]: [1, to] }) };
}

// A language model is the second stack alone, without cross-attention.
function transformerShapes(c, kind) {
  const width = c.d_model;
  const norm = (name, size = width) => ({
    [`${name}.weight`]: [1, size], ...(c.norm === "layer" && { [`${name}.bias`]: [1, size] }),
  });
  const linear = (...sizes) => linearShapes(...sizes, c.bias);
  const embedding = (name, vocabulary) => ({
    [`${name}.tokens.weight`]: [vocabulary, width],
    ...(c.positions === "learned" && { [`${name}.positions.table`]: [c.max_length, width] }),
  });
  const shapes = embedding("tgt_embedding", c.tgt_vocab);
  if (!c.share_embeddings) Object.assign(shapes, embedding("src_embedding", c.src_vocab));
  const stacks = kind === "language"
    ? [["decoder", ["self"], [1, 3]]]
    : [["encoder", ["self"], [1, 2]], ["decoder", ["self", "cross"], [1, 2, 3]]];
  for (const [side, parts, residuals] of stacks) {
    if (c.norm_position === "pre") Object.assign(shapes, norm(`${side}_norm`));
    for (let layer = 0; layer < c.num_layers; layer++) {
      const name = `${side}.${layer}`;
      parts.map((part) => `${name}.${part}_attention`).forEach((attention) => Object.assign(
        shapes,
        linear(`${attention}.query`, width, c.num_heads * c.d_k),
        linear(`${attention}.key`, width, c.num_kv_heads * c.d_k),
        linear(`${attention}.value`, width, c.num_kv_heads * c.d_v),
        linear(`${attention}.output`, c.num_heads * c.d_v, width),
        ...(c.qk_norm ? ["query", "key"] : []).map((side) => norm(`${attention}.${side}_norm`, c.d_k)),
      ));
      Object.assign(
        shapes,
        linear(`${name}.feed_forward.inner`, width, c.d_ff),
        ...(c.gated ? [linear(`${name}.feed_forward.gate`, width, c.d_ff)] : []),
        linear(`${name}.feed_forward.outer`, c.d_ff, width),
        ...residuals.map((number) => norm(`${name}.residual_${number}.norm`)),
      );
    }
  }
  const output = linear("output", width, c.tgt_vocab);
  if (c.tie_output) delete output["output.weight"];
  return { ...shapes, ...output };
}

function recurrentShapes(c, kind) {
  const [width, hidden] = [c.d_model, c.hidden_dim];
  const { gates, states } = CELLS[c.cell];
  const cell = (name, from) => ({
    ...linearShapes(`${name}.read`, from, gates * hidden),
    ...linearShapes(`${name}.recur`, hidden, gates * hidden),
  });
  const additive = (memory) => ({
    ...linearShapes("attention.query", hidden, hidden, false),
    ...linearShapes("attention.key", memory, hidden, false),
    ...linearShapes("attention.v", hidden, 1, false),
  });
  return {
    "src_embedding.weight": [c.src_vocab, width],
    "tgt_embedding.weight": [c.tgt_vocab, width],
    ...linearShapes("output", width, c.tgt_vocab),
    ...(kind !== "luong" && linearShapes("bridge", hidden, states * hidden)),
    ...{
      seq2seq: () => ({
        ...cell("encoder.cell", width),
        ...cell("decoder.cell", width + hidden),
        ...linearShapes("readout", 2 * hidden + width, width),
      }),
      bahdanau: () => ({
        ...cell("encoder.forwards.cell", width),
        ...cell("encoder.backwards.cell", width),
        ...cell("decoder", width + 2 * hidden),
        ...additive(2 * hidden),
        ...linearShapes("readout", 3 * hidden + width, width),
      }),
      luong: () => ({
        ...cell("encoder.cell", width),
        ...cell("decoder.cell", width),
        ...(c.score === "general" && linearShapes("attention.key", hidden, hidden, false)),
        ...(c.score === "concat" && additive(hidden)),
        ...linearShapes("readout", 2 * hidden, width),
      }),
    }[kind](),
  };
}

function requireShapes(weights, shapes) {
  const names = Object.keys(weights).filter((name) => !(name in shapes));
  requireThat(!names.length, `The weights do not fit model.json: it has no ${names[0]}.`);
  for (const [name, [rows, columns]] of Object.entries(shapes)) {
    const found = weights[name];
    requireThat(found, `The weights do not fit model.json: ${name} is missing.`);
    requireThat(
      found.rows === rows && found.columns === columns,
      `The weights do not fit model.json: ${name} is ${found.rows} × ${found.columns}, ` +
        `it must be ${rows} × ${columns}.`,
    );
    requireThat(
      found.data.every(Number.isFinite), `The weights are damaged: ${name} is not finite.`,
    );
  }
}

// --- the settings of a model: the values that each may have ---------------------------

const isSize = (value) => Number.isInteger(value) && value > 0;
const isSwitch = (value) => typeof value === "boolean";
const oneOf = (...words) => (value) => words.includes(value);
const SIZES = Object.fromEntries(
  ["src_vocab", "tgt_vocab", "d_model"].map((name) => [name, isSize]),
);
const COMMON = { ...SIZES, dropout: Number.isFinite };
const RECURRENT = { ...COMMON, hidden_dim: isSize, cell: oneOf("rnn", "gru", "lstm") };
const TRANSFORMER = {
  ...COMMON,
  num_layers: isSize, num_heads: isSize, num_kv_heads: isSize, d_k: isSize, d_v: isSize,
  d_ff: isSize, max_length: isSize,
  norm: oneOf("layer", "rms"), norm_position: oneOf("post", "pre"), epsilon: Number.isFinite,
  activation: (name) => Object.hasOwn(ACTIVATIONS, name), gated: isSwitch,
  qk_norm: isSwitch, bias: isSwitch,
  positions: oneOf("sinusoidal", "learned", "rotary", "none"), rotary_base: Number.isFinite,
  share_embeddings: isSwitch, tie_output: isSwitch,
};
// Settings that an older model.json does not have.
const LATER = { gated: false, qk_norm: false, bias: true, epsilon: 1e-5, rotary_base: 1e4 };
const SETTINGS = {
  transformer: TRANSFORMER,
  language: { ...TRANSFORMER, prefix_mask: isSwitch, has_source: isSwitch },
  seq2seq: RECURRENT,
  bahdanau: RECURRENT,
  luong: { ...RECURRENT, score: oneOf("dot", "general", "concat") },
};

function makeModel(kind, config, weights) {
  requireThat(
    Object.hasOwn(SETTINGS, kind),
    `The model is ${JSON.stringify(kind)}, it must be one of ${Object.keys(SETTINGS).join(", ")}.`,
  );
  for (const name of Object.keys(config ?? {})) {
    requireThat(
      Object.hasOwn(SETTINGS[kind], name),
      `The model has the setting ${name}, which this page does not support.`,
    );
  }
  if ("num_heads" in SETTINGS[kind]) config = { ...LATER, ...config };
  if (kind === "language") config = { has_source: true, ...config };
  for (const [name, fits] of Object.entries(SETTINGS[kind])) {
    const value = config?.[name];
    requireThat(fits(value), `model.json is damaged: its ${name} is ${JSON.stringify(value)}.`);
  }
  if (config.has_source === false) config.share_embeddings = true; // all text is a target
  const shapes = "hidden_dim" in SETTINGS[kind] ? recurrentShapes : transformerShapes;
  requireShapes(weights, shapes(config, kind));
  const classes = {
    transformer: Transformer, language: LanguageModel,
    seq2seq: Seq2Seq, bahdanau: Bahdanau, luong: Luong,
  };
  return new classes[kind](config, weights);
}

// The model that model.json describes (as an object), with the bytes of model.safetensors.
function openModel(description, buffer) {
  requireThat(
    description && typeof description === "object" && Number.isInteger(description.format),
    "This model.json does not belong to a model that was exported to the web.",
  );
  requireThat(
    description.format === 1,
    `model.json has format ${description.format}, this page reads format 1.`,
  );
  const weights = readSafetensors(buffer);
  const parameters = Object.values(weights).reduce((sum, { data }) => sum + data.length, 0);
  const model = makeModel(description.model, description.config, weights);
  const src = new Vocabulary(description.src);
  const tgt = description.tgt === "src" ? src : new Vocabulary(description.tgt);
  requireThat(
    src.length === model.config.src_vocab && tgt.length === model.config.tgt_vocab,
    `model.json is damaged: its vocabularies have ${src.length} and ${tgt.length} tokens.`,
  );
  const { beam, alpha, extra_length: extra } = description.search ?? {};
  requireThat(
    isSize(beam) && Number.isFinite(alpha) && Number.isInteger(extra) && extra >= 0,
    "model.json is damaged: it has no search.",
  );
  const attention = { ...model.read([EOS]).attention };
  Object.assign(attention, model.rate(model.read([EOS]), [BOS]).attention);
  return Object.assign(model, {
    kind: description.model,
    parameters,
    src,
    tgt,
    search: { beam, alpha, extra_length: extra },
    attentions: Object.entries(attention).map(([name, heads]) => ({ name, heads: heads.length })),
    sentences: description.sentences ?? [],
    gloss: description.gloss ?? {},
    grammar: description.grammar ?? null,
  });
}
