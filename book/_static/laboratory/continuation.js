"use strict";

// A language model continues a text. The page asks for one token after the other, so that whoever reads
// can stop it, and turn its settings, while it writes.

// The log-probabilities of the tokens at the positions `from` to the end of a text of ids, and the one
// after it. `kept` is the KV cache, with what was read before: it is brought up to date. Without one, all
// tokens are read anew for every position.
function following(model, ids, from, change, kept) {
  if (!kept) {
    return Array.from({ length: ids.length + 1 - from }, (_, i) =>
      nextLogProbs(model, model.read([], change), ids.slice(0, from + i), change));
  }
  const { cache, length } = kept;
  const all = [BOS, ...ids];
  const { logits, cache: longer } = model.rate({ cache, length }, all.slice(length), change, from - length);
  Object.assign(kept, { cache: longer, length: all.length });
  return Array.from({ length: logits.rows }, (_, i) => logProbs(row(logits, i), change.temperature));
}

// A text with one token more, and what is shown of the tokens at the positions from `from` on. `ids` may
// end with <eos>, which the reader has chosen. What the reader had written is not drawn.
function continued(model, { prompt, ids, from, change, seed }, kept) {
  const begin = performance.now();
  const chosen = ids.at(-1) === EOS;
  const before = chosen ? ids.slice(0, -1) : ids;
  const rated = following(model, before, from, change, kept);
  const seconds = (performance.now() - begin) / 1000;
  const next = rated.at(-1);
  const token = chosen ? EOS : seed === null ? largest(next, 1)[0]
    : draw(next, uniform(seed, before.length), change);
  const ended = token === EOS;
  const said = ended ? before : [...before, token];
  const all = [...before, token];
  return {
    ids: said, ended, seconds, text: model.tgt.decode(said),
    done: ended || all.length >= longestTranslation(model, { ids: prompt }),
    next: rated.map((each, i) => nextTokens(each, null, all[from + i], change)),
    logProb: rated.reduce((sum, each, i) => sum + each[all[from + i]], 0),
    pieces: all.slice(from).map((id, i) => pieceOf(model.tgt, all.slice(0, from + i), id)),
  };
}

// What a token adds to the text of those before it; the end of a text is a token, and no text.
function pieceOf(vocabulary, before, id) {
  if (id === EOS) return " <eos>";
  return vocabulary.decode([...before, id]).slice(vocabulary.decode(before).length);
}
