"use strict";

// Search for translations, greedily or with a beam, given next-token probabilities. A search is a
// generator that yields every step, so that a page can draw it before it continues.
// Hypotheses are {tokens, logProb}: tokens without <bos> and <eos>, and Σ log p, that of <eos>
// included if the translation ended with it (`ended`).

// Log-probabilities of the next token among all but <pad> and <bos>, which are never produced.
function logProbs(logits, temperature = 1) {
  const scaled = new Float64Array(logits).map((logit) => logit / temperature);
  scaled[PAD] = scaled[BOS] = -Infinity;
  const largest = scaled.reduce((a, b) => Math.max(a, b));
  const sum = scaled.reduce((total, logit) => total + Math.exp(logit - largest), 0);
  const logSum = largest + Math.log(sum);
  return new Float32Array(scaled.map((logit) => logit - logSum));
}

// The log-probabilities of the token after these, and the state from which the model can read on: one that
// has no KV cache reads all of them again, as does one without the causal mask, where what was read
// before sees the new token, too.
function readOn(model, source, tokens, change, state = source) {
  const read = (state.length ?? 0) - (source.length ?? 0);
  const unread = [BOS, ...tokens].slice(read);
  const { logits, after } = model.rate(state, unread, change, unread.length - 1);
  return { next: logProbs(logits.data, change.temperature), state: change.causal ? after : source };
}

// The maximum length of a translation, <eos> counted.
function longestTranslation(model, source) {
  const longest = source.ids.length + model.search.extra_length;
  const room = (model.maxLength ?? Infinity) - (source.length ?? 0); // one text holds both
  return Math.min(longest, room);
}

// The ids of the `count` largest entries, the largest first.
function largest(entries, count) {
  const best = [];
  entries.forEach((entry, id) => {
    if (best.length === count && !(entry > entries[best.at(-1)])) return;
    let place = best.length;
    while (place > 0 && entry > entries[best[place - 1]]) place--;
    best.splice(place, 0, id);
    best.length = Math.min(best.length, count);
  });
  return best;
}

// The probabilities to sample from: top-k keeps the k most probable tokens (Fan et al. 2018), top-p
// the fewest of these that have the share p of their probability (Holtzman et al. 2020).
function kept(next, { topK, topP }) {
  const p = new Float64Array(next).map(Math.exp);
  if (topK === 0 && topP === 1) return p;
  const ids = [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, topK || p.length);
  const whole = ids.reduce((sum, id) => sum + p[id], 0);
  const left = new Float64Array(p.length);
  let sum = 0;
  for (const id of ids) {
    if (sum >= topP * whole) break;
    left[id] = p[id];
    sum += p[id];
  }
  return left.map((each) => each / sum);
}

// The token at which the probabilities, the largest first, add up to more than a number in [0, 1).
function draw(next, number, change = noChange()) {
  const p = kept(next, change);
  const ids = [...p.keys()].sort((a, b) => p[b] - p[a]);
  let left = number;
  return ids.find((id) => (left -= p[id]) < 0) ?? ids[0];
}

// The number in [0, 1) with which a sample of this seed draws its token: the seed and the step, mixed
// as MurmurHash3 ends.
function uniform(seed, step) {
  let bits = Math.imul(seed, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca77);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}

// The most probable token at every step, or another that `pick` takes, given log-probabilities and
// the number of the step. A step is {tokens, logProb, token, ended, done}.
function* greedy(model, source, change = noChange(), pick = (next) => largest(next, 1)[0]) {
  const longest = longestTranslation(model, source);
  const tokens = [];
  let [logProb, read] = [0, { state: source }];
  for (let length = 1; ; length++) {
    read = readOn(model, source, tokens, change, read.state);
    const token = pick(read.next, length - 1);
    logProb += read.next[token];
    const ended = token === EOS;
    if (!ended) tokens.push(token);
    const done = ended || length >= longest;
    yield { tokens: [...tokens], logProb, token, ended, done };
    if (done) return;
  }
}

// ((5 + length) / 6)^α; <eos> counts. (Wu et al. 2016, section 7.)
function lengthPenalty(length, alpha) {
  return ((5 + length) / 6) ** alpha;
}

// All continuations of the live hypotheses compete for the free slots; one that ends keeps its
// slot and is finished. A step is {live, finished, done}. In both, `parent` is the index of the
// hypothesis that was extended in the `live` of the previous step, and `step` counts from 0;
// finished ones have a score, log p divided by the length penalty, and are sorted, best first.
function* beam(model, source, change = noChange(), { beam: width, alpha } = model.search) {
  const longest = longestTranslation(model, source);
  let live = [{ tokens: [], logProb: 0, parent: null }];
  let [finished, states] = [[], [source]];
  for (let step = 0; live.length; step++) {
    const read = live.map(({ tokens }, i) => readOn(model, source, tokens, change, states[i]));
    const candidates = [];
    for (const [parent, { tokens, logProb }] of live.entries()) {
      const { next } = read[parent];
      for (const token of largest(next, width)) {
        candidates.push({ tokens, token, logProb: logProb + next[token], parent, step });
      }
    }
    const taken = candidates
      .filter((candidate) => candidate.logProb > -Infinity)
      .sort((a, b) => b.logProb - a.logProb)
      .slice(0, width - finished.length);
    live = [];
    for (const { tokens, token, ...rest } of taken) {
      const ended = token === EOS;
      const hypothesis = { tokens: ended ? tokens : [...tokens, token], token, ended, ...rest };
      if (!ended && step + 1 < longest) {
        live.push(hypothesis);
      } else {
        const score = hypothesis.logProb / lengthPenalty(step + 1, alpha);
        finished = [...finished, { ...hypothesis, score }].sort((a, b) => b.score - a.score);
      }
    }
    states = live.map(({ parent }) => read[parent].state);
    yield { live, finished, done: live.length === 0 };
  }
}

// The probability of a given translation (`ids` without <bos> and <eos>), token by token, and the
// attention when each is predicted. <eos> is counted, unless the translation was cut off.
function forced(model, source, ids, change = noChange(), ended = true) {
  const all = ended ? [...ids, EOS] : ids;
  const rated = model.rate(source, [BOS, ...all.slice(0, -1)], change);
  // Without the causal mask the decoder would see the token that it predicts: each token is predicted
  // from its own prefix, as in a search.
  const next = all.map((_, i) => (change.causal
    ? logProbs(row(rated.logits, i), change.temperature)
    : readOn(model, source, ids.slice(0, i), change).next));
  const each = all.map((id, i) => next[i][id]);
  return { logProb: each.reduce((a, b) => a + b), logProbs: each, next, ...rated };
}

// The names of the attentions whose keys include the source and whose queries are of the target.
function alignedLayers(model) {
  const names = model.attentions.map(({ name }) => name);
  return model.kind === "language" ? names : names.filter((name) => !name.includes("self"));
}

// The mean of the matrices of all heads.
function meanOfHeads(heads) {
  const mean = matrix(heads[0].rows, heads[0].columns);
  mean.data.forEach((_, at) => {
    mean.data[at] = heads.reduce((sum, head) => sum + head.data[at], 0) / heads.length;
  });
  return mean;
}

// The alignment error rate of one sentence, 1 − 2 |A ∩ G| / (|A| + |G|): A links each target word
// with the source word it attends to most, if the gold links G link that target word at all.
// `lengths` are those of source and target, without <eos>. (Och and Ney 2003.)
function alignmentError(attention, links, [srcLength, tgtLength]) {
  const linked = new Set(links.map(([, t]) => t).filter((t) => t < tgtLength));
  const hits = [...linked].filter((t) => {
    const [best] = largest(row(attention, t).subarray(0, srcLength), 1);
    return links.some(([s, other]) => s === best && other === t);
  });
  return links.length ? 1 - (2 * hits.length) / (linked.size + links.length) : null;
}
