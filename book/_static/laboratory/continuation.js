"use strict";

// A language model continues a text. The page asks for one token after the other, so that whoever reads
// can stop it, and turn its settings, while it writes.

// The log-probabilities of the token at every position from `from` to the one after a text of ids, and the
// state from which the model can read on. Without a KV cache it reads all tokens again for every position.
function following(model, ids, from, change, { cached, state }) {
  const source = model.read([], change);
  const rated = [];
  for (let end = from; end <= ids.length; end++) {
    const read = readOn(model, source, ids.slice(0, end), change, state);
    state = cached ? read.state : source;
    rated.push(read.next);
  }
  return { rated, state };
}

// A text with one token more, and what is shown of the tokens at the positions from `from` on. `ids` may
// end with <eos>, which the reader has chosen. What the reader had written is not drawn.
function continued(model, { prompt, ids, from, change, seed }, kept) {
  const begin = performance.now();
  const chosen = ids.at(-1) === EOS;
  const before = chosen ? ids.slice(0, -1) : ids;
  const { rated, state } = following(model, before, from, change, kept);
  const seconds = (performance.now() - begin) / 1000;
  const next = rated.at(-1);
  const token = chosen ? EOS : seed === null ? largest(next, 1)[0]
    : draw(next, uniform(seed, before.length), change);
  const ended = token === EOS;
  const said = ended ? before : [...before, token];
  const all = [...before, token];
  return {
    state, ids: said, ended, seconds, text: model.tgt.decode(said),
    done: ended || all.length >= longestTranslation(model, { ids: prompt }),
    next: rated.map((each, i) => nextTokens(each, null, all[from + i], change)),
    logProb: rated.reduce((sum, each, i) => sum + each[all[from + i]], 0),
    roles: model.tgt.roles(all),
    pieces: all.slice(from).map((id, i) => pieceOf(model.tgt, all.slice(0, from + i), id)),
  };
}

// What a token adds to the text of those before it; the end of a text is a token, and no text.
function pieceOf(vocabulary, before, id) {
  if (id === EOS) return " <eos>";
  return vocabulary.decode([...before, id]).slice(vocabulary.decode(before).length);
}
