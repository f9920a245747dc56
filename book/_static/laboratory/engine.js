"use strict";

// The engine: it opens models, and computes what a page shows of a sentence. Requests and answers are
// plain objects. It is in a Worker, or in the page, if that is a file and may not start one: see ask.js.

const HERE = globalThis.document?.currentScript.src ?? location.href;
const PARTS = ["transformer", "modern", "language_model", "recurrent", "vocabulary", "model", "search",
  "continuation", "stages", "models"];

const load = globalThis.importScripts ? async (address) => importScripts(address) : loadScript;
const scripts = [HERE, ...PARTS.map((part) => new URL(`${part}.js`, HERE).href)]; // and those of models
const loaded = Promise.all(PARTS.map((part) => load(new URL(`${part}.js`, HERE))));

class Engine {
  constructor() {
    this.models = new Map(); // by the names under which they were opened
    this.turn = 0; // a translation that is no longer wanted sees that the turn is another's
    this.kept = []; // the states from which the texts that are written side by side go on
  }

  async answer(what, asked, told) {
    await loaded;
    return this[what](asked, told);
  }

  // The addresses of all that it has loaded but large models, which it keeps itself.
  async scripts() {
    return scripts;
  }

  // Open a model of this site by its name, or one in a folder, or of two files; say what it is.
  async open({ name, folder, digests, files }, told) {
    if (files || !this.models.has(name)) {
      const opening = files ? openFiles(files) : folder ? openFolder(folder, digests, told)
        : openEmbedded(name);
      this.models.set(name, await opening.catch((error) => {
        if (!(error instanceof RangeError)) throw error; // which says that there is no memory
        throw new Error("This device has too little memory for the model.");
      }));
    }
    const model = this.models.get(name);
    const { kind, config, parameters, search, attentions, sentences, gloss, grammar } = model;
    const side = ({ list, words }) => ({ tokens: list.map(printed), words });
    return {
      kind, config, parameters, search, attentions, sentences, gloss, grammar, unchanged: noChange(),
      aligned: alignedLayers(model), canChange: model instanceof Transformer,
      src: side(model.src), tgt: side(model.tgt),
    };
  }

  // What a model says of a text; with a change, also what it says without; and what others say.
  // The answer is null if another translation was asked for meanwhile.
  async translate({ model: name, text, change, others = [], ...way }) {
    const turn = ++this.turn;
    const goesOn = async () => {
      await new Promise((resolve) => { setTimeout(resolve); }); // a request that waits comes first
      return turn === this.turn;
    };
    const plain = { ...way, change: noChange(), instead: [] };
    const searches = [[name, { ...way, change }], ...(isChanged(change) ? [[name, plain]] : []),
      ...others.map((other) => [other, plain])];
    const read = readOf(this.models.get(name), text);
    const found = [];
    for (const [each, asked] of searches) {
      const model = this.models.get(each);
      const { ids } = each === name ? read : readOf(model, text);
      found.push(ids.length ? await translated(model, ids, asked, goesOn) : null);
      if (turn !== this.turn) return null;
    }
    const { unknown, cut } = read;
    const [now, before] = [found.shift(), isChanged(change) ? found.shift() : null];
    return { unknown, cut, now, before, others: found.map((each, i) => ({ name: others[i], ...each })) };
  }

  // What a model reads of a text that is to be continued.
  async prompt({ model: name, text }) {
    return readOf(this.models.get(name), text);
  }

  // A text with one token more: the one of this number among those that are written side by side.
  async write({ model: name, number, cached, ...asked }) {
    const state = asked.from ? this.kept[number] : undefined;
    const { state: after, ...said } = continued(this.models.get(name), asked, { cached, state });
    this.kept[number] = after;
    return said;
  }

  // The attention weights of a text that is written.
  async attention({ model: name, ids, ended, change }) {
    const model = this.models.get(name);
    return shownHeads(forced(model, model.read([], change), ids, change, ended).attention);
  }

  // The numbers of the picture: on the way to the token after those that are said, and the same of the
  // unchanged model.
  async stages({ model: name, read, said, change, unchanged, ...chosen }) {
    const model = this.models.get(name);
    return [change, ...(isChanged(change, unchanged) ? [unchanged] : [])].map((each) =>
      stagesOf(model, read, said, each, chosen));
  }
}

const MOST_READ = 200; // tokens of a sentence: a table of more is no table that one reads

// The maximum length of a sentence without its <eos>. A language model has as much room for what it says.
function longestSource({ kind, maxLength }) {
  const room = kind === "language" ? Math.floor(maxLength / 2) : maxLength ?? Infinity;
  return Math.min(room, MOST_READ) - 1;
}

// What a model reads of a text: its ids, the end of those if they are cut, and the unknown words.
function readOf(model, text) {
  const [{ src }, most] = [model, longestSource(model)];
  const asked = asWritten(src, text);
  const all = src.encode(asked);
  const ids = all.slice(0, most);
  return { ids, cut: all.length > most && src.decode(ids), unknown: src.unknown(asked) };
}

// The translation of a sentence that a search finds, and what a page shows of it.
async function translated(model, typed, { change, beam: width, seed, instead }, goesOn) {
  const read = [...typed, EOS];
  const source = model.read(read, change);
  const pick = (next, step) => instead[step] ??
    (seed === null ? largest(next, 1)[0] : draw(next, uniform(seed, step), change));
  const way = width === 1 || instead.length ? greedy(model, source, change, pick)
    : beam(model, source, change, { beam: width, alpha: model.search.alpha });
  const steps = [];
  let last = -Infinity;
  for (const step of way) {
    steps.push(step.live ? step : { live: [step], finished: [] });
    if (performance.now() - last > 50) {
      if (!await goesOn()) return null;
      last = performance.now();
    }
  }
  const { live, finished } = steps.at(-1);
  const { tokens: ids, ended, logProb } = finished[0] ?? live[0];
  const all = ended ? [...ids, EOS] : ids;
  const said = forced(model, source, ids, change, ended);
  const unchanged = isChanged(change) && forced(model, model.read(read), ids, noChange(), ended);
  return {
    source: { ids: read, tokens: model.src.tokens(read).map(printed), roles: model.src.roles(read) },
    best: { ids, ended, logProb, text: model.tgt.decode(ids),
      tokens: model.tgt.tokens(all).map(printed), roles: model.tgt.roles(all) },
    steps,
    attention: shownHeads({ ...source.attention, ...said.attention }),
    next: all.map((id, i) => nextTokens(said.next[i], unchanged && unchanged.next[i], id, change)),
    gold: gold(model, source, typed, ids, change),
  };
}

// The heads of every attention, and their mean.
function shownHeads(attention) {
  return Object.fromEntries(Object.entries(attention).map(([name, heads]) =>
    [name, { heads, mean: meanOfHeads(heads) }]));
}

// The most probable tokens, as probabilities, and the one that is said; with those of the unchanged
// model beside them.
function nextTokens(next, unchanged, said, change) {
  const [now, before] = [kept(next, change), unchanged && unchanged.map(Math.exp)];
  const ids = new Set([...largest(next, 6), said, ...(before ? largest(before, 3) : [])]);
  return [...ids].map((id) => ({
    id, now: now[id], ...(before && { before: before[id] }), chosen: id === said,
  }));
}

// The probability of the reference translation, and the alignment error of every layer when it is
// teacher-forced.
function gold(model, source, typed, ids, change) {
  const pair = model.sentences.find(({ src }) =>
    String(model.src.encode(src.join(" "))) === String(typed));
  if (!pair) return null;
  const right = model.tgt.encode(pair.tgt.join(" "));
  const { logProb, attention } = forced(model, source, right, change);
  const lengths = [pair.src.length, pair.tgt.length];
  const errors = alignedLayers(model).map((name) =>
    [name, alignmentError(meanOfHeads(attention[name]), pair.links, lengths)]);
  return { links: pair.links, isSaid: String(right) === String(ids), logProb,
    errors: Object.fromEntries(errors) };
}

if (globalThis.importScripts) {
  const engine = new Engine();
  globalThis.onmessage = async ({ data: { number, what, asked } }) => {
    const said = await engine.answer(what, asked, (far) => postMessage({ number, far })).then(
      (answer) => ({ answer }), ({ message }) => ({ problem: message }),
    );
    postMessage({ number, ...said });
  };
}
