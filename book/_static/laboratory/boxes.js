"use strict";

// What every box of the picture opens: its stage in steps, each with numbers, a formula and a sentence.
// A step is {title, says, formula, and one of vectors, scores, tokens}, which flow.js draws.

const CHAPTERS = {
  embedding: ["07_positional_encoding", "Chapter 7: Positional encoding"],
  self_attention: ["05_self_attention", "Chapter 5: Self-attention"],
  masked: ["08_masking", "Chapter 8: Masking"],
  cross_attention: ["09_cross_attention", "Chapter 9: Cross-attention"],
  heads: ["06_multi_head_attention", "Chapter 6: Multi-head attention"],
  residual: ["11_layers", "Chapter 11: Layers"],
  feedForward: ["11_layers", "Chapter 11: Layers"],
  memory: ["12_transformer", "Chapter 12: The Transformer"],
  next: ["14_decoding", "Chapter 14: Decoding"],
};

// The names of boxes by their keys; `isPre`: the norm comes before the sub-layer.
function boxName(key, box, isMasked) {
  const names = {
    embedding: "Embedding", self_attention: isMasked ? "Masked self-attention" : "Self-attention",
    cross_attention: "Cross-attention", feed_forward: "Feed-forward", memory: "Encoder output",
    next: "Next token",
  };
  return names[key] ?? (box.isPre ? "Norm, then add" : "Add & norm");
}

const size = ({ rows, columns }) => `${rows} × ${columns}`;
const isZero = ({ data }) => data.every((entry) => entry === 0);

const STEPS = {
  embedding({ tokens, positions, output }) {
    const width = output.columns;
    return [
      { title: "The tokens", vectors: "tokens", formula: "X = √d_model E",
        says: `Each of the ${output.rows} tokens has its own row of ${width} learned numbers in the ` +
          `embedding matrix E; here it is multiplied by √${width}.` },
      { title: "Their positions", vectors: "positions", formula: "P",
        says: isZero(positions)
          ? "Nothing is added here, so that nothing in these numbers says where a token stands."
          : "Every position has numbers of its own, the same in every sentence." },
      { title: "The sum", vectors: "output", formula: "X + P",
        says: "Meaning and position in one vector for each token: this enters the first layer." },
    ];
  },

  attention(box, { config, change, isSelf, isMasked }) {
    const { query, key, value, scores, merged, output, head } = box;
    const [from, to] = isSelf ? ["X", "X"] : ["X", "M"];
    const ablated = change.headsOff.has(`${box.name}.${head}`);
    const masked = isMasked && change.causal;
    return [
      { title: "Queries", vectors: "query", formula: `Q = ${from} W^Q`,
        says: `What each token looks for: ${size(query)}. Head ${head + 1} of ${config.num_heads} ` +
          "multiplies by a matrix of its own." },
      { title: "Keys", vectors: "key", rows: "keys", formula: `K = ${to} W^K`,
        says: `What each token ${isSelf ? "" : "of the source (M, the encoder's output) "}` +
          `offers: ${size(key)}.${isSelf && key.rows > query.rows ? " Those of the source come from the KV cache." : ""}` },
      { title: "Values", vectors: "value", rows: "keys", formula: `V = ${to} W^V`,
        says: `What a token hands over to those that attend to it: ${size(value)}.` },
      { title: "Scores", scores: "scores", formula: "S = Q K^⊤",
        says: `A dot product of every query with every key, ${size(scores)}: large where they fit.` },
      { title: masked ? "Scale and mask" : "Scale", scores: "scaled",
        formula: `${change.scale ? "S/√d_k" : "S"}${masked ? " , j > i : −∞" : ""}`,
        says: [change.scale ? `Divided by √${key.columns}, so that their spread does not grow with the width.`
          : "Not divided by √d_k.", masked && "A later token is hidden: its score is −∞."]
          .filter(Boolean).join(" ") },
      { title: "Softmax", scores: "weights", formula: `A = softmax ( ${change.scale ? "S/√d_k" : "S"} )`,
        says: "Each row becomes weights that add up to 1." },
      { title: "Weighted values", vectors: "mean", formula: "A V",
        says: ablated ? "The head is ablated: zeros stand in its place."
          : "Each token takes the mean of the values, weighted by its row." },
      { title: "All heads, merged", vectors: "merged", formula: "Concat ( head_1 , … , head_h )",
        says: `The ${config.num_heads} heads side by side: ${size(merged)}.` },
      { title: "Output", vectors: "output", formula: "Concat ( … ) W^O",
        says: `One more matrix mixes the heads: ${size(output)} numbers go on to the residual connection.` },
    ];
  },

  residual({ isPre, output }, { config }) {
    const norm = config.norm === "rms" ? "RMSNorm" : "LayerNorm";
    const normed = { title: "The norm", vectors: "norm",
      formula: isPre ? `${norm} ( x )` : `${norm} ( x + y )`,
      says: "Every row is brought to a common spread, then scaled by learned factors" +
        `${isPre ? "; the sub-layer reads this" : ": this is what the next box reads"}.` };
    const path = [
      { title: "What came in", vectors: "input", formula: "x",
        says: "It goes around the sub-layer unchanged." },
      ...(isPre ? [normed] : []),
      { title: "What the sub-layer adds", vectors: "added", formula: "y",
        says: `The output of the box ${isPre ? "after" : "before"} this one, ${size(output)}.` },
      { title: "The sum", vectors: "sum", formula: "x + y",
        says: "A layer corrects what it has got; it need not repeat it." },
    ];
    return isPre ? path : [...path, normed];
  },

  feedForward({ input, active, output }, { config }) {
    const zeros = active.data.filter((entry) => entry === 0).length / active.data.length;
    const first = config.gated ? "f ( x V ) ⊗ ( x W_1 )"
      : config.activation === "relu" ? "max ( 0 , x W_1 + b_1 )" : "f ( x W_1 + b_1 )";
    return [
      { title: "What comes in", vectors: "input", formula: "x",
        says: "From here each token is on its own: no row sees another." },
      { title: "Wider, then the activation", vectors: "active", formula: `z = ${first}`,
        says: `${input.columns} numbers become ${active.columns}${zeros > 0.01
          ? `; ${percent(zeros)} of them are 0, because they were negative` : ""}.` },
      { title: "And back", vectors: "output", formula: "z W_2 + b_2",
        says: `${active.columns} numbers become ${output.columns} again.` },
    ];
  },

  memory({ output }) {
    return [{ title: "What the encoder has made of the sentence", vectors: "output", formula: "M",
      says: `One vector for each source token, ${size(output)}. Every layer of the decoder makes its ` +
        "keys and values of the cross-attention from it." }];
  },

  next({ input, logits }, { change }) {
    const divided = change.temperature === 1 ? "z" : "z/T";
    return [
      { title: "One row", vectors: "input", rows: "last", formula: "x",
        says: `The ${input.columns} numbers of one token are enough to predict the one after it. Choose ` +
          "another word of the translation, and it is another row." },
      { title: "Logits and softmax", tokens: true, formula: `z = x W + b , p = softmax ( ${divided} )`,
        says: `One logit for each of the ${logits.columns} tokens of the vocabulary; the softmax makes ` +
          "probabilities of them. The six most probable:" },
    ];
  },
};

// What a change of the model does to a box itself: a short note, or "".
function noteOf(key, box, change, isMasked) {
  const notes = [];
  if (key === "embedding" && !change.positions) notes.push("no positions");
  if (box.kind === "attention") {
    const off = [...change.headsOff].filter((head) => head.startsWith(`${box.name}.`));
    if (off.length) {
      notes.push(`without head${off.length > 1 ? "s" : ""} ${
        off.map((head) => Number(head.split(".").at(-1)) + 1).sort().join(", ")}`);
    }
    if (!change.scale) notes.push("no √d_k");
    if (isMasked && !change.causal) notes.push("no mask");
    if (Object.keys(change.weights).some((head) => head.startsWith(`${box.name}.`))) {
      notes.push("weights by hand");
    }
  }
  if (key === "next" && change.temperature !== 1) notes.push(`temperature ${change.temperature}`);
  return notes.join(", ");
}
