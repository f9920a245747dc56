"use strict";

// Every number between a sentence and its next token, for the picture of the model: what goes into
// each module of transformer.js and what comes out of it, noted while the model computes.

// The model, which also notes the input and the output of its modules, by their names in PyTorch.
function watched(model, seen) {
  const noted = (name, input, output) => {
    seen[name] = { input, output };
    return output;
  };
  return Object.assign(Object.create(model), {
    linear: (x, name, ...more) => noted(name, x, model.linear(x, name, ...more)),
    norm: (x, name) => noted(name, x, model.norm(x, name)),
    embed: (side, ids, ...more) => noted("embedding", ids, model.embed(side, ids, ...more)),
    residual(name, x, sublayer) {
      const inside = (y) => noted(`${name}.sublayer`, y, sublayer(y));
      return noted(name, x, model.residual.call(this, name, x, inside));
    },
  });
}

// The stages of one head: from queries, keys and values to what the layer adds.
function attentionStages(model, name, seen, { weights, cache, change, head, causal }) {
  const { num_heads: heads, num_kv_heads: pairs } = model.config;
  const pair = Math.floor((head * pairs) / heads);
  const part = (x, number, count) => columns(x, (number * x.columns) / count, x.columns / count);
  const of = (side, first) => cache?.[`${name}.${side}`] ??
    compared(model, seen[`${name}.${side}`].output, `${name}.${side}`, change, first);
  const [key, value] = ["key", "value"].map((side) => part(of(side, 0), pair, pairs));
  const isSelf = name.endsWith("self_attention");
  const first = isSelf ? key.rows - seen[`${name}.query`].output.rows : 0; // the past may be kept
  const query = part(of("query", first), head, heads);
  const scale = change.scale ? Math.sqrt(key.columns) : 1;
  const { input: merged, output } = seen[`${name}.output`];
  return {
    kind: "attention", name, head, query, key, value,
    scores: attentionScores(query, key, {}),
    scaled: attentionScores(query, key, { scale, causal, first }),
    weights: weights[name][head],
    mean: part(merged, head, heads), // zero if the head is ablated
    merged, output,
  };
}

function residualStages(model, name, seen) {
  const { input, output } = seen[name];
  const [added, norm] = [seen[`${name}.sublayer`].output, seen[`${name}.norm`]];
  const isPre = model.config.norm_position === "pre";
  return { kind: "residual", name, isPre, input, added, norm: norm.output,
    sum: isPre ? output : norm.input, output };
}

function feedForwardStages(name, seen) {
  const [inner, outer] = ["inner", "outer"].map((each) => seen[`${name}.feed_forward.${each}`]);
  return { kind: "feedForward", name, input: inner.input, inner: inner.output, active: outer.input,
    output: outer.output };
}

// The tokens of a text, where they stand, and the sum of both.
function embeddingStages(model, side, seen, change) {
  const { input: ids, output } = seen.embedding;
  const tokens = model.embed(side, ids, { ...change, positions: false });
  const positions = { ...output, data: output.data.map((e, at) => e - tokens.data[at]) };
  return { kind: "embedding", name: side, tokens, positions, output };
}

// One layer of a stack, its boxes by their names in the picture.
function layerStages(model, side, seen, run) {
  const name = `${side}.${run.layer}`;
  const boxes = {};
  const attentions = Object.keys(run.weights).filter((each) => each.startsWith(`${name}.`));
  for (const [i, each] of attentions.entries()) {
    const isSelf = each.endsWith("self_attention");
    boxes[each.split(".")[2]] = attentionStages(model, each, seen,
      { ...run, causal: isSelf && side === "decoder" && run.change.causal });
    boxes[`residual_${i + 1}`] = residualStages(model, `${name}.residual_${i + 1}`, seen);
  }
  const last = `residual_${side === "encoder" ? 2 : 3}`;
  boxes.feed_forward = feedForwardStages(name, seen);
  boxes[last] = residualStages(model, `${name}.${last}`, seen);
  return boxes;
}

// All stages on the way from what is read and said to the token at a position. A decoder that sees the
// future is drawn without any. A language model has no encoder.
function stagesOf(model, read, said, change, { layer, head, position = said.length }) {
  const [encoder, decoder] = [{}, {}];
  const seen = change.causal ? said : said.slice(0, position);
  const source = watched(model, encoder).read(read, change);
  const rated = watched(model, decoder).rate(source, [BOS, ...seen], change, position);
  const run = { change, layer, head };
  const [input, logits] = ["input", "output"].map((side) => matrixOf([row(decoder.output[side], 0)]));
  const next = { ...logits, data: logProbs(logits.data, change.temperature).map(Math.exp) };
  return {
    encoder: source.memory && {
      embedding: embeddingStages(model, "src", encoder, change),
      ...layerStages(model, "encoder", encoder, { ...run, weights: source.attention }),
      memory: { kind: "memory", name: "encoder", output: source.memory },
    },
    decoder: {
      embedding: embeddingStages(model, "tgt", decoder, change),
      ...layerStages(model, "decoder", decoder, { ...run, weights: rated.attention, cache: rated.after.cache }),
      next: { kind: "next", name: "output", input, logits, output: next },
    },
  };
}
