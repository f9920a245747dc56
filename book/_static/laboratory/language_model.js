"use strict";

// A language model (Radford et al. 2018): the decoder of the Transformer without cross-attention. It
// reads the source as the beginning of the text that it continues.

// The rows of x, if there are any, and below them those of y.
function below(x, y) {
  if (!x) return y;
  const joined = matrix(x.rows + y.rows, y.columns);
  joined.data.set(x.data);
  joined.data.set(y.data, x.data.length);
  return joined;
}

class LanguageModel extends Transformer {
  // The source passes through all layers once (prefill), and leaves its keys and values in the KV
  // cache. With a prefix mask each of its tokens attends to all of it. A text alone has no source.
  read(ids, change = noChange()) {
    const run = { change, attention: {}, cache: {}, first: 0 };
    this.stack("decoder", this.embed("src", ids, change), change.causal && !this.config.prefix_mask, run);
    const { attention, cache } = run;
    return { ids, attention, cache, length: ids.length };
  }
}
