"use strict";

// What every box of the picture opens: its stage in steps, each with numbers, a formula and a sentence.
// A step is {title, says, formula, and one of vectors, scores, tokens}, which flow.js draws.

const CHAPTERS = {
  embedding: ["07_positional_encoding", localised("Chapter 7: Positional encoding")],
  self_attention: ["05_self_attention", localised("Chapter 5: Self-attention")],
  masked: ["08_masking", localised("Chapter 8: Masking")],
  cross_attention: ["09_cross_attention", localised("Chapter 9: Cross-attention")],
  heads: ["06_multi_head_attention", localised("Chapter 6: Multi-head attention")],
  residual: ["11_layers", localised("Chapter 11: Layers")],
  feedForward: ["11_layers", localised("Chapter 11: Layers")],
  memory: ["12_transformer", localised("Chapter 12: The Transformer")],
  next: ["14_decoding", localised("Chapter 14: Decoding")],
};

// The names of boxes by their keys; `isPre`: the norm comes before the sub-layer.
function boxName(key, box, isMasked) {
  const names = {
    embedding: localised("Embedding"),
    self_attention: isMasked ? localised("Masked self-attention") : localised("Self-attention"),
    cross_attention: localised("Cross-attention"), feed_forward: localised("Feed-forward"),
    memory: localised("Encoder output"), next: localised("Next token"),
  };
  return names[key] ?? (box.isPre ? localised("Norm, then add") : localised("Add & norm"));
}

const size = ({ rows, columns }) => `${rows} × ${columns}`;
const became = (before, after) => localised("{before} numbers become {after}.",
  { before: before.columns, after: after.columns });
const isZero = ({ data }) => data.every((entry) => entry === 0);

const STEPS = {
  embedding({ tokens, positions, output }) {
    const width = output.columns;
    return [
      { title: localised("The tokens"), vectors: "tokens", formula: "X = √d_model E",
        says: localised("Each of the {rows} tokens has its own row of {width} learned numbers in the " +
          "embedding matrix E; here it is multiplied by √{width}.", { rows: output.rows, width }) },
      { title: localised("Their positions"), vectors: "positions", formula: "P",
        says: isZero(positions)
          ? localised("Nothing is added here, so that nothing in these numbers says where a token stands.")
          : localised("Every position has numbers of its own, the same in every sentence.") },
      { title: localised("The sum"), vectors: "output", formula: "X + P",
        says: localised("Meaning and position in one vector for each token: this enters the first layer.") },
    ];
  },

  attention(box, { config, change, isSelf, isMasked }) {
    const { query, key, value, scores, merged, output, head } = box;
    const [from, to] = isSelf ? ["X", "X"] : ["X", "M"];
    const ablated = change.headsOff.has(`${box.name}.${head}`);
    const masked = isMasked && change.causal;
    return [
      { title: localised("Queries"), vectors: "query", formula: `Q = ${from} W^Q`,
        says: localised("What each token looks for: {size}. Head {head} of {heads} multiplies by a " +
          "matrix of its own.", { size: size(query), head: head + 1, heads: config.num_heads }) },
      { title: localised("Keys"), vectors: "key", rows: "keys", formula: `K = ${to} W^K`,
        says: [isSelf ? localised("What each token offers: {size}.", { size: size(key) })
          : localised("What each token of the source (M, the encoder's output) offers: {size}.",
            { size: size(key) }),
        isSelf && key.rows > query.rows && localised("Those of the source come from the KV cache.")]
          .filter(Boolean).join(" ") },
      { title: localised("Values"), vectors: "value", rows: "keys", formula: `V = ${to} W^V`,
        says: localised("What a token hands over to those that attend to it: {size}.", { size: size(value) }) },
      { title: localised("Scores"), scores: "scores", formula: "S = Q K^⊤",
        says: localised("A dot product of every query with every key, {size}: large where they fit.",
          { size: size(scores) }) },
      { title: masked ? localised("Scale and mask") : localised("Scale"), scores: "scaled",
        formula: `${change.scale ? "S/√d_k" : "S"}${masked ? " , j > i : −∞" : ""}`,
        says: [change.scale
          ? localised("Divided by √{width}, so that their spread does not grow with the width.",
            { width: key.columns })
          : localised("Not divided by √d_k."),
        masked && localised("A later token is hidden: its score is −∞.")]
          .filter(Boolean).join(" ") },
      { title: localised("Softmax"), scores: "weights", formula: `A = softmax ( ${change.scale ? "S/√d_k" : "S"} )`,
        says: localised("Each row becomes weights that add up to 1.") },
      { title: localised("Weighted values"), vectors: "mean", formula: "A V",
        says: ablated ? localised("The head is ablated: zeros stand in its place.")
          : localised("Each token takes the mean of the values, weighted by its row.") },
      { title: localised("All heads, merged"), vectors: "merged", formula: "Concat ( head_1 , … , head_h )",
        says: localised("The {heads} heads side by side: {size}.",
          { heads: config.num_heads, size: size(merged) }) },
      { title: localised("Output"), vectors: "output", formula: "Concat ( … ) W^O",
        says: localised("One more matrix mixes the heads: {size} numbers go on to the residual connection.",
          { size: size(output) }) },
    ];
  },

  residual({ isPre, output }, { config }) {
    const norm = config.norm === "rms" ? "RMSNorm" : "LayerNorm";
    const normed = { title: localised("The norm"), vectors: "norm",
      formula: isPre ? `${norm} ( x )` : `${norm} ( x + y )`,
      says: isPre
        ? localised("Every row is brought to a common spread, then scaled by learned factors; the " +
          "sub-layer reads this.")
        : localised("Every row is brought to a common spread, then scaled by learned factors: this " +
          "is what the next box reads.") };
    const path = [
      { title: localised("What came in"), vectors: "input", formula: "x",
        says: localised("It goes around the sub-layer unchanged.") },
      ...(isPre ? [normed] : []),
      { title: localised("What the sub-layer adds"), vectors: "added", formula: "y",
        says: isPre ? localised("The output of the box after this one, {size}.", { size: size(output) })
          : localised("The output of the box before this one, {size}.", { size: size(output) }) },
      { title: localised("The sum"), vectors: "sum", formula: "x + y",
        says: localised("A layer corrects what it has got; it need not repeat it.") },
    ];
    return isPre ? path : [...path, normed];
  },

  feedForward({ input, active, output }, { config }) {
    const zeros = active.data.filter((entry) => entry === 0).length / active.data.length;
    const first = config.gated ? "f ( x V ) ⊗ ( x W_1 )"
      : config.activation === "relu" ? "max ( 0 , x W_1 + b_1 )" : "f ( x W_1 + b_1 )";
    return [
      { title: localised("What comes in"), vectors: "input", formula: "x",
        says: localised("From here each token is on its own: no row sees another.") },
      { title: localised("Wider, then the activation"), vectors: "active", formula: `z = ${first}`,
        says: [became(input, active), zeros > 0.01 &&
          localised("{share} of them are 0, because they were negative.", { share: percent(zeros) })]
          .filter(Boolean).join(" ") },
      { title: localised("And back"), vectors: "output", formula: "z W_2 + b_2",
        says: became(active, output) },
    ];
  },

  memory({ output }) {
    return [{ title: localised("What the encoder has made of the sentence"), vectors: "output", formula: "M",
      says: localised("One vector for each source token, {size}. Every layer of the decoder makes its " +
        "keys and values of the cross-attention from it.", { size: size(output) }) }];
  },

  next({ input, logits }, { change }) {
    const divided = change.temperature === 1 ? "z" : "z/T";
    return [
      { title: localised("One row"), vectors: "input", rows: "last", formula: "x",
        says: localised("The {count} numbers of one token are enough to predict the one after it. Choose " +
          "another word of the translation, and it is another row.", { count: input.columns }) },
      { title: localised("Logits and softmax"), tokens: true, formula: `z = x W + b , p = softmax ( ${divided} )`,
        says: localised("One logit for each of the {count} tokens of the vocabulary; the softmax makes " +
          "probabilities of them. The six most probable:", { count: logits.columns }) },
    ];
  },
};

// What a change of the model does to a box itself: a short note, or "".
function noteOf(key, box, change, isMasked) {
  const notes = [];
  if (key === "embedding" && !change.positions) notes.push(localised("no positions"));
  if (box.kind === "attention") {
    const off = [...change.headsOff].filter((head) => head.startsWith(`${box.name}.`));
    if (off.length) {
      const heads = off.map((head) => Number(head.split(".").at(-1)) + 1).sort().join(", ");
      notes.push(localised("ablated: head {heads}", { heads }));
    }
    if (!change.scale) notes.push(localised("no √d_k"));
    if (isMasked && !change.causal) notes.push(localised("no mask"));
    if (Object.keys(change.weights).some((head) => head.startsWith(`${box.name}.`))) {
      notes.push(localised("weights by hand"));
    }
  }
  if (key === "next" && change.temperature !== 1) notes.push(localised("temperature {number}", { number: change.temperature }));
  return notes.join(", ");
}
