"use strict";

// A language model writes: its text grows token by token while the reader turns its settings, beside
// another of another seed, or that of the unchanged model. The engine computes (continuation.js).

const PACE = 80; // milliseconds that a token takes at least, so that one can read along
const DRAWN = { temperature: 0.8, topP: 0.9 }; // with which a model begins to write

// The numbers of a search are of no model: they can be turned while it writes.
const isModelChanged = ({ change: { headsOff, weights, ...given } }) =>
  headsOff.size > 0 || Object.keys(weights).length > 0 || SWITCHES.some(([name]) => !given[name]);

// The texts that are to be written side by side. What they begin with is not drawn.
function newTexts(lab, prompt) {
  const ids = lab.instead.length ? lab.instead : prompt;
  const text = (title, seed, change) => ({
    title, seed, change, prompt, ids, given: ids.length, next: [], pieces: [], logProb: 0, seconds: 0,
  });
  const now = () => lab.change;
  const plain = () => {
    const { temperature, topK, topP } = lab.change;
    return { ...lab.model.unchanged, temperature, topK, topP };
  };
  const { seed } = lab;
  if (isModelChanged(lab)) {
    return [text(localised("changed"), seed, now), text(localised("unchanged"), seed, plain)];
  }
  if (!lab.isTwice || !isSampled(lab)) return [text(KINDS.language, seed, now)];
  return [seed, seed + 1].map((each) => text(localised("seed {seed}", { seed: each }), each, now));
}

// Write on from what the reader has typed, until every text has ended or the reader stops it.
async function write(lab, typed, isWanted) {
  lab.isWriting = true;
  lab.picture.inert = true; // it is of the text before
  lab.showWriteButton();
  const read = await lab.ask("prompt", { model: lab.name, text: typed });
  if (!isWanted()) return;
  lab.say(lab.notice, read);
  lab.texts = newTexts(lab, read.ids);
  lab.column = 0;
  await Promise.all(lab.texts.map((text, number) => writeOn(lab, text, number, isWanted)));
  if (!isWanted()) return;
  lab.stopWriting();
  const attention = await Promise.all(lab.texts.map(({ ids, ended, change }) =>
    lab.ask("attention", { model: lab.name, ids, ended, change: change() })));
  if (!isWanted()) return;
  lab.texts.forEach((text, number) => { text.attention = attention[number]; });
  showTexts(lab);
  lab.hear();
}

async function writeOn(lab, text, number, isWanted) {
  do {
    const pause = new Promise((resolve) => { setTimeout(resolve, PACE); });
    const { next, pieces, logProb, seconds, ...said } = await lab.ask("write", {
      model: lab.name, number, prompt: text.prompt, ids: text.ids, from: text.next.length,
      change: text.change(), seed: text.seed, cached: lab.isCached,
    });
    if (!isWanted()) return;
    Object.assign(text, said);
    text.next.push(...next);
    text.pieces.push(...pieces);
    text.logProb += logProb;
    text.seconds += seconds;
    showTexts(lab);
    await pause;
  } while (!text.done && lab.isWriting && isWanted());
}

// Show the texts as far as they are written. What else might have been is shown of the newest token, or of
// the one that the reader has chosen; attention and the picture, of a text that is finished.
function showTexts(lab) {
  const { ids, ended, text, logProb, next, roles, attention } = lab.texts[lab.column];
  const tokens = [...ids.map((id) => lab.model.tgt.tokens[id]), ...(ended ? ["<eos>"] : [])];
  lab.found = { others: [], before: null, now: {
    source: { ids: [], tokens: [], roles: "" },
    best: { ids, ended, text, logProb, tokens, roles }, next, attention,
  } };
  if (lab.follows) lab.position = next.length - 1;
  if (next.length) lab.show();
}

function chooseToken(lab, column, position) {
  Object.assign(lab, { column, position, follows: false });
  showTexts(lab);
}

// The parts of the results of a model that writes.
function writing(lab) {
  return [writtenTexts(lab), nextToken(lab), ...(lab.found.now.attention ? [attention(lab)] : [])];
}

// The texts. A word of several tokens is in one piece; a bar under each token is its probability.
function writtenTexts(lab) {
  const shown = lab.texts.map((text, column) => {
    const words = [];
    text.pieces.forEach((piece, t) => {
      const { now } = text.next[t].find(({ chosen }) => chosen);
      const token = make("button", { type: "button", "data-key": `token ${column} ${t}`,
        class: t < text.given ? "given" : null, style: `--p: ${now}`, title: percent(now),
        "aria-pressed": String(column === lab.column && t === lab.position),
        onclick: () => chooseToken(lab, column, t) }, piece.trim() || "␣");
      if (!words.length || piece.startsWith(" ")) words.push(make("span", { lang: lab.languages[0] }));
      words.at(-1).append(token);
    });
    const told = [`log p = ${twoDecimals(text.logProb)}`,
      localised("computed at {speed} tokens per second", { speed: Math.round(text.next.length / text.seconds) })];
    return make("div", { class: "translation", "data-which": text.title }, make("h2", {}, text.title),
      ...(words.length ? [roving(make("p", { class: "written" }, ...words))] : []),
      make("p", { class: "numbers" }, ...told.map((each) => make("span", {}, each))));
  });
  return make("section", {}, make("div", { class: "translations" }, ...shown), make("p", { class: "note" },
    localised("Choose a token: below is what else it might have been.")));
}

// How it is written, beside the search.
function writingSwitches(lab) {
  const row = (name, text, checked, pick, disabled = false) => make("label", {},
    make("input", { type: "checkbox", name, checked, disabled,
      onchange: ({ target }) => pick(target.checked) }), ` ${text}`);
  return [
    row("twice", localised("two seeds side by side"), lab.isTwice,
      (isTwice) => lab.set(() => { lab.isTwice = isTwice; }), !isSampled(lab)),
    row("cached", localised("KV cache"), lab.isCached, (isCached) => {
      lab.isCached = isCached;
      lab.goOn();
    }),
  ];
}
