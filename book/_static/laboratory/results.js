"use strict";

// The results: what the engine has found, as it is shown. Every function makes one part of them, for a
// laboratory.

// Tokens by their roles: whole words, around which punctuation stands apart, but not within ("U-Bahn").
const WHOLE = /s?p+|[wcs]c*(?:pc+)*|e/g;

// What is shown together, each from one token to another: words, or every token of its own.
function shownTogether({ arePieces }, roles) {
  return Array.from(roles.matchAll(arePieces ? /./g : WHOLE), ({ 0: { length }, index }) =>
    [index, index + length]);
}

// Its tokens as they are written in one.
function writtenIn(tokens, [from, to]) {
  return tokens.slice(from, to).join("").replace(/^▁(?=.)/, "").replace(/(<unk>)+/g, "<unk>");
}

// Whether a space stands before a token.
const isApart = (roles, at) => at === 0 || "wse".includes(roles[at]);

// The weights of rows and columns that are shown together: the mean of the rows, each of which adds up
// to 1, and the sum of the columns. So the mean adds up to 1, too.
function togetherWeights(weights, rows, columns) {
  const at = (t, [from, to]) => weights.data.slice(t * weights.columns + from, t * weights.columns + to)
    .reduce((a, b) => a + b);
  const data = rows.flatMap(([from, to]) => columns.map((column) =>
    [...Array(to - from).keys()].reduce((sum, t) => sum + at(from + t, column), 0) / (to - from)));
  return { rows: rows.length, columns: columns.length, data };
}

function results(lab) {
  if (!lab.readsSource) return writing(lab);
  const parts = [translations(lab), attention(lab)];
  if (lab.isSmall) return parts;
  parts.push(nextToken(lab), growingTree(lab));
  return parts;
}

function translations(lab) {
  const { now, before, others } = lab.found;
  const [, language] = lab.model.languages;
  const tongue = language &&
    new Intl.DisplayNames(document.documentElement.lang, { type: "language" }).of(language);
  const name = lab.isSmall ? localised("it predicts") : KINDS[lab.model.kind];
  const lines = before
    ? [[localised("changed"), lab, now], [localised("unchanged"), lab, before]] : [[name, lab, now]];
  for (const each of others) lines.push([lab.offer(each.name).title, lab.beside.get(each.name), each]);
  const rows = lines.map(([title, model, found], i) => {
    const { writing } = model;
    const isChosen = i === 0 && !lab.isSmall;
    const { tokens, roles } = found.best;
    const together = shownTogether(lab, roles).filter(([t]) => isChosen || tokens[t] !== "<eos>");
    const words = together.flatMap(([from, to]) => {
      const said = word(writtenIn(tokens, [from, to]), writing.tgt);
      const isShown = from <= lab.position && lab.position < to;
      return [...(from && isApart(roles, from) ? [" "] : []), isChosen
        ? make("button", { type: "button", "aria-pressed": String(isShown), "data-key": `word ${from}`,
          class: isApart(roles, from) ? null : "joined", onclick: () => lab.choose({ position: from }) }, said)
        : said];
    });
    const told = [`log p = ${twoDecimals(found.best.logProb)}`];
    const { gold } = found;
    if (gold) {
      told.push(gold.isSaid ? localised("✓ right") : localised("✗ not the right translation"),
        localised("reference: log p = {number}", { number: twoDecimals(gold.logProb) }));
      const error = gold.errors[lab.layer] ?? Object.values(gold.errors).at(-1);
      if (error !== undefined) told.push(localised("alignment error {share}", { share: percent(error) }));
    }
    return make("div", { class: "translation", "data-which": title },
      make("h2", { "data-language": tongue }, title),
      ...(i ? [] : sourceLine(lab)),
      isChosen ? roving(make("p", {}, ...words)) : make("p", {}, ...words),
      ...readBack(model.model ?? model, found.best).map((sentence) => make("p", { class: "back",
        title: localised("Korean has no articles: “the” stands for each.") }, sentence)),
      ...(lab.isSmall ? [] : [make("p", { class: "numbers" },
        ...told.map((each) => make("span", {}, each)))]));
  });
  return make("div", { class: "translations" }, ...rows);
}

// What a model of subwords reads: the pieces of each word, or words of which it does not know all.
function sourceLine({ found, model, pieces, writing }) {
  const { tokens, roles } = found.now.source;
  if (model.src.words || !(pieces || tokens.includes("<unk>"))) return [];
  const words = shownTogether({ arePieces: false }, roles).map((each) =>
    (pieces ? tokens.slice(...each).join("|") : writtenIn(tokens, each)));
  return [make("p", { class: "reads" }, localised("It reads:"),
    ...words.flatMap((each) => [" ", word(each, writing.src)]))];
}

// What a Korean translation says, in English: of what is said, not of the source; null if nothing.
const inEnglish = (grammar, { tokens }) =>
  backTranslation(tokens.filter((token) => token !== "<eos>"), grammar);

// The same as a sentence, for a model that has a grammar.
function readBack({ grammar }, best) {
  if (!grammar) return [];
  const back = inEnglish(grammar, best);
  return [back ? localised("In English: {sentence}", { sentence: back })
    : localised("This is no sentence of the grammar.")];
}

// The distribution of the token at the chosen position, given the ones before it.
function nextToken(lab) {
  const { best, next } = lab.found.now;
  const said = best.tokens.slice(0, lab.position).map((token, t) =>
    (isApart(best.roles, t) ? ` ${token}` : token)).join("").replaceAll("▁", "").trim() || localised("the beginning");
  const entries = next[lab.position].map((entry) =>
    ({ ...entry, token: lab.model.tgt.tokens[entry.id] }));
  return make("section", {}, make("h2", {}, localised("The next token")),
    bars(entries, lab.writing.tgt, localised("Next token after: {said}", { said }), (id) => lab.sayInstead(id)),
    ...(lab.model.kind === "language" ? [make("p", { class: "note" }, cacheSize(lab))] : []));
}

// What the model keeps of all that it has read before the chosen position.
function cacheSize({ model, found, position }) {
  const { num_layers: layers, num_kv_heads: heads, d_k, d_v } = model.config;
  const [source, target] = [found.now.source.tokens.length, position + 1];
  const numbers = (source + target) * layers * heads * (d_k + d_v);
  return localised("KV cache: {source} + {target} positions × {layers} layers × {heads} heads × " +
    "({d_k} + {d_v}) = {numbers} numbers",
  { source, target, layers, heads, d_k, d_v, numbers: numbers.toLocaleString("en") });
}

function attention(lab) {
  const { now } = lab.found;
  const { attentions, aligned } = lab.model;
  if (!attentions.length) {
    return make("p", { class: "note" }, localised("This model has no attention: the decoder gets only one " +
      "vector for the sentence."));
  }
  const { heads, mean } = now.attention[lab.layer];
  const { source, best: said } = now;
  // Row t belongs to the token that is predicted: the decoder has read the one before.
  const read = { tokens: ["<bos>", ...said.tokens.slice(0, -1)], roles: `e${said.roles.slice(0, -1)}` };
  const isEncoder = lab.layer.startsWith("encoder");
  const isSelf = lab.layer.includes("self");
  const isAligned = aligned.includes(lab.layer);
  const ofRows = isEncoder ? source : isAligned ? said : read;
  const parts = [...(isEncoder || isAligned ? [source] : []), ...(isSelf && !isEncoder ? [read] : [])];
  const ofColumns = { tokens: parts.flatMap(({ tokens }) => tokens),
    roles: parts.map(({ roles }) => roles).join("") };
  const [rows, columns] = [ofRows, ofColumns].map(({ roles }) => shownTogether(lab, roles));
  const isOneText = isSelf && isAligned; // a language model reads source and target as one
  const past = isOneText ? shownTogether(lab, source.roles).length : 0;
  const links = isAligned && now.gold?.isSaid ? now.gold.links : [];
  const id = `${lab.layer}.${lab.head}`;
  const byHand = Object.entries(lab.change.weights[id] ?? {})
    .map(([at, given]) => [at - (isOneText ? source.tokens.length : 0), given]);
  const { src, tgt } = lab.writing;
  const layerShown = layerName(lab.layer);
  const caption = lab.isSmall ? localised("Attention: each row adds up to 1")
    : lab.head < 0
      ? localised("{layer}, mean of the heads: each row adds up to 1", { layer: layerShown })
      : localised("{layer}, head {head}: each row adds up to 1",
        { layer: layerShown, head: lab.head + 1 });
  const weights = togetherWeights(lab.head < 0 ? mean : heads[lab.head], rows, columns);
  const names = [[ofRows, rows], [ofColumns, columns]].map(([{ tokens }, together]) =>
    together.map((each) => writtenIn(tokens, each)));
  const table = weightsTable(weights, ...names, {
    writing: {
      rows: isEncoder ? src : tgt,
      columns: (s) => (isEncoder || !isSelf || s < past ? src : tgt),
    },
    gold: new Set(links.map(([s, t]) => `${s} ${t}`)),
    shown: isEncoder ? -1 : rows.findIndex(([, to]) => lab.position < to),
    pick: lab.head < 0 || lab.isSmall || !lab.arePieces ? null : (t, s) =>
      lab.set(() => lab.attendOnlyTo(id, past + t, s)),
    noFuture: isSelf && !isEncoder && lab.change.causal,
    past, caption, byHand: Object.fromEntries(rows.map(([from, to], t) =>
      [past + t, byHand.find(([at]) => from <= at && at < to)?.[1]])),
  });
  if (lab.isSmall) return table;
  const note = !lab.arePieces
    ? localised("A word of several pieces has the mean of their rows and the sum of their columns, so its row adds up " +
      "to 1 as theirs do. Show the pieces to set weights by hand.")
    : lab.head < 0
    ? localised("Choose a head to set its attention weights by hand.")
    : localised("Choose a cell: that query will attend only there. Choose it again to undo.");
  const layer = make("select", { id: "lab-layer", "aria-label": localised("layer"),
    onchange: () => lab.choose({ layer: layer.value, head: -1 }) },
  ...attentions.map(({ name }) =>
    make("option", { value: name, selected: name === lab.layer }, layerName(name))));
  return make("section", {},
    make("div", { class: "shown" }, make("h2", {}, localised("Attention")), layer,
      ...(lab.model.tgt.words ? [] : [make("button", { type: "button", "aria-pressed": String(lab.pieces),
        "data-key": "pieces", onclick: () => lab.choose({ pieces: !lab.pieces }) }, localised("pieces"))]),
      choice("head", localised("head"), [[-1, localised("all heads")], ...heads.map((_one, head) =>
        [head, String(head + 1), { "aria-label": localised("head {head}", { head: head + 1 }) }])], lab.head,
      (head) => lab.choose({ head }))),
    table, make("p", { class: "note" }, note));
}

// What opens and closes stays as the reader has left it.
function more(lab, key, title, ...children) {
  return make("details", { class: "more", open: lab.opened.has(key), ontoggle: ({ target }) => {
    if (target.open) lab.opened.add(key);
    else lab.opened.delete(key);
  } }, make("summary", { "data-key": key }, title), ...children);
}

// The tree of a search up to one of its steps.
function growingTree(lab) {
  const { steps, best } = lab.found.now;
  const grown = make("div");
  const told = make("output", { for: "lab-step" });
  const grow = () => {
    told.textContent = localised("{number} of {total}", { number: range.value, total: steps.length });
    const shown = steps.slice(0, Number(range.value));
    grown.replaceChildren(tree(shown, lab.model.tgt.tokens, lab.writing.tgt, best));
  };
  const range = make("input", { type: "range", id: "lab-step", min: 1, max: steps.length,
    value: lab.step ?? steps.length, oninput: () => {
      lab.step = Number(range.value);
      grow();
    } });
  grow();
  return more(lab, "search", localised("The search, as a tree"),
    make("div", { class: "search" }, make("label", { for: "lab-step" }, localised("step"), " "), range, told), grown);
}
