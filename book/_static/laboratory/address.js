"use strict";

// The address is a link to what is shown. What is as at the beginning is left out; what a link asks
// for and the model does not have is told.

const WIDTHS = [1, 2, 4, 8]; // of the beams that can be chosen
const COLDEST = 0.2; // of the temperatures that can be chosen
const HOTTEST = 3;
const MOST = 20; // tokens that can be chosen for top-k
const LONGEST = 10_000; // tokens: no model has a longer text
const SWITCHES = [
  ["positions", localised("positions are encoded")],
  ["scale", localised("scores are divided by √d_k")],
  ["causal", localised("the future is masked")],
];

const listed = (text) => text.split(",").filter(Boolean);
const isSampled = ({ seed }) => seed !== null;

// A number within bounds, or null.
function within(text, lowest, highest) {
  const number = Number(text);
  return text !== "" && number >= lowest && number <= highest ? number : null;
}

const whole = (...given) => {
  const number = within(...given);
  return Number.isInteger(number) ? number : null;
};

// A number of the search, which not every search uses.
const number = (name, lowest, highest, isUsed) => ({
  say: ({ change, model }) => change[name] !== model.unchanged[name] && change[name],
  take: (lab, text) => {
    if (isUsed(lab)) lab.change[name] = within(text, lowest, highest) ?? lab.change[name];
  },
});

// By its name in the address: how a state of the laboratory is said (`say`), and how it is taken from a
// link (`take`, which may return a sentence). A link is taken in this order; its model and sentence,
// before anything is computed.
const STATE = {
  model: { say: (lab) => lab.name !== lab.offers[0].name && lab.name !== YOURS && lab.name },
  sentence: { say: (lab) => lab.input.value !== lab.example && lab.input.value },
  beam: {
    say: ({ width }) => width > 1 && width,
    take: (lab, text) => { if (lab.readsSource && WIDTHS.includes(Number(text))) lab.width = Number(text); },
  },
  sample: {
    say: (lab) => (isSampled(lab) ? lab.seed : !lab.readsSource && "off"),
    take: (lab, text) => {
      lab.width = 1;
      lab.seed = text === "on" ? newSeed() : whole(text, 0, 2 ** 32);
    },
  },
  temperature: number("temperature", COLDEST, HOTTEST, (lab) => isSampled(lab) || lab.width > 1),
  top_k: number("topK", 0, MOST, isSampled),
  top_p: number("topP", 0.05, 1, isSampled),
  twice: {
    say: ({ isTwice, readsSource }) => isTwice && !readsSource && "on",
    take: (lab, text) => { lab.isTwice = text === "on"; },
  },
  cache: {
    say: ({ isCached, readsSource }) => !isCached && !readsSource && "off",
    take: (lab, text) => { lab.isCached = text !== "off"; },
  },
  off: {
    say: ({ change }) => [...change.headsOff].join(),
    take: (lab, text) => listed(text).map((name) => {
      if (!lab.heads.includes(name)) return localised("The model has no head “{name}” to ablate.", { name });
      lab.change.headsOff.add(name);
    }),
  },
  ...Object.fromEntries(SWITCHES.map(([name, meaning]) => [name, {
    say: ({ change }) => !change[name] && "off",
    take: (lab, text) => {
      if (!lab.model.canChange) return localised("This model has no setting “{meaning}”.", { meaning });
      lab.change[name] = text !== "off";
    },
  }])),
  layer: {
    say: (lab) => lab.layer !== lab.firstLayer && lab.layer,
    take: (lab, text) => {
      if (lab.model.attentions.some(({ name }) => name === text)) lab.layer = text;
    },
  },
  head: {
    say: ({ head }) => head >= 0 && head + 1,
    take: (lab, text) => {
      const heads = lab.model.attentions.find(({ name }) => name === lab.layer)?.heads ?? 0;
      lab.head = (whole(text, 1, heads) ?? 0) - 1;
    },
  },
  pieces: { say: ({ pieces }) => pieces && "on", take: (lab, text) => { lab.pieces = text === "on"; } },
  word: {
    say: ({ position, follows }) => position > 0 && !follows && position + 1,
    take: (lab, text) => { lab.position = (whole(text, 1, LONGEST) ?? 1) - 1; },
  },
  attend: { // weights set by hand: HEAD:ROW:COLUMN, counted from 0
    say: ({ change }) => Object.entries(change.weights).flatMap(([head, rows]) =>
      Object.entries(rows).map(([row, weights]) => `${head}:${row}:${weights.indexOf(1)}`)).join(),
    take: (lab, text) => listed(text).forEach((each) => {
      const [head, ...at] = each.split(":");
      const [row, column] = at.map((text) => whole(text, 0, LONGEST) ?? -1);
      if (lab.allHeads.includes(head) && row >= 0 && column >= 0) lab.attendOnlyTo(head, row, column);
    }),
  },
  box: { // that is open in the picture, and its layer and head, counted from 1
    say: ({ box }) => box,
    take: (lab, text) => { lab.box = text; },
  },
  drawn: {
    say: ({ drawnLayer, drawnHead }) => drawnLayer + drawnHead > 0 && [drawnLayer + 1, drawnHead + 1].join(),
    take: (lab, text) => {
      const { num_layers: layers, num_heads: heads } = lab.model.config;
      const [layer, head] = text.split(",");
      lab.drawnLayer = Math.round(within(layer, 1, layers ?? 0) ?? 1) - 1;
      lab.drawnHead = Math.round(within(head ?? "", 1, heads ?? 0) ?? 1) - 1;
    },
  },
  said: { // ids that the reader lets the translation begin with
    say: ({ instead }) => instead.join(),
    take: (lab, text) => {
      const last = lab.model.tgt.tokens.length - 1;
      lab.instead = listed(text).map((id) => whole(id, 2, last)).filter((id) => id !== null);
    },
  },
  beside: {
    say: ({ beside }) => [...beside.keys()].join(),
    take: (lab, text) => listed(text).map((name) => {
      const offer = lab.companions().find((each) => each.name === name);
      if (!offer) return localised("There is no “{name}” to compare this model with.", { name });
      lab.putBeside(offer);
    }),
  },
};

// Take what a link asks for; return what is told about it.
function follow(lab, asked) {
  const rows = Object.entries(STATE).filter(([name, { take }]) => take && asked.has(name));
  return rows.flatMap(([name, { take }]) => take(lab, asked.get(name)) ?? []).filter(Boolean);
}

// The address of what is shown.
function addressOf(lab) {
  const said = Object.entries(STATE).map(([name, { say }]) => [name, say(lab)]);
  const address = new URL(location);
  address.search = String(new URLSearchParams(said.filter(([, text]) => text || text === 0)))
    .replaceAll("%2C", ",").replaceAll("%3A", ":");
  return address;
}
