"use strict";

// The picture of the model: a box for every part, in the order in which the numbers pass, filled with
// the numbers of the reader's sentence. A box opens its stage.

// The picture, and beside it the stage of the box that is open. `lab.stages` has the numbers of the
// model as it was when it was asked, and if it was changed those of the unchanged one.
function flow(lab) {
  const { now, before, layer: drawnLayer } = lab.stages;
  const { num_layers: layers } = lab.model.config;
  const stacks = ["encoder", "decoder"].filter((side) => now[side]);
  const name = (side) => (lab.model.kind === "language" ? KINDS.language
    : side === "encoder" ? localised("Encoder, reads") : localised("Decoder, predicts"));
  const drawn = stacks.map((side) => make("div", { class: `stack ${side}`, role: "group",
    "aria-label": name(side) },
  make("h3", {}, name(side)),
  make("p", { class: "tokens" }, ...rowsOf(lab, side).map(({ token, lang }) =>
    make("span", { lang }, token))),
  ...boxesOf(lab, side, now[side], before?.[side])));
  const picture = roving(make("div", { class: `flow${stacks.length < 2 ? " alone" : ""}` }, ...drawn));
  if (stacks.length > 1) connect(picture);
  return [
    make("div", { class: "shown" }, make("h2", {}, localised("The whole model")),
      make("span", { class: "note", "aria-hidden": "true" }, localised("layer")),
      choice("layer", localised("layer"), Array.from({ length: layers }, (_one, layer) =>
        [layer, String(layer + 1), { "aria-label":
          localised("layer {number} of {total}", { number: layer + 1, total: layers }) }]),
      drawnLayer, (layer) => lab.chooseStage({ drawnLayer: layer }))),
    make("div", { class: "drawn" }, picture, stage(lab, now, before)),
  ];
}

// Draw the way from the encoder's output to the cross-attention, however wide the picture is.
function connect(picture) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  picture.append(svg);
  new ResizeObserver(() => {
    const origin = picture.getBoundingClientRect();
    const place = (key) => picture.querySelector(`[data-key="box ${key}"]`).getBoundingClientRect();
    const [from, to] = [place("encoder.memory"), place("decoder.cross_attention")];
    const middle = ({ y, height }) => y + height / 2 - origin.y;
    const turn = (from.right + to.left) / 2 - origin.x - 8;
    path.setAttribute("d", `M ${from.right - origin.x} ${middle(from)} H ${turn} V ${middle(to)} ` +
      `H ${to.left - origin.x}`);
  }).observe(picture);
}

// The box that is open: the first self-attention, if the reader has opened none that the model has.
function opened({ box, stages: { now } }) {
  const [side, key] = box.split(".");
  return Object.hasOwn(now, side) && Object.hasOwn(now[side] ?? {}, key) ? box : `${now.encoder ? "encoder" : "decoder"}.self_attention`;
}

// The tokens whose vectors are the rows of a stack: what the encoder, or the decoder, has read.
function rowsOf({ stages: { now, source, said }, writing: { src, tgt } }, side) {
  const read = side === "encoder" ? source : ["<bos>", ...said].slice(0, now.decoder.embedding.output.rows);
  const { lang } = side === "encoder" ? src : tgt;
  return read.map((token) => ({ token, lang }));
}

// The tokens of the keys of an attention.
function keysOf(lab, side, key) {
  if (key === "cross_attention") return rowsOf(lab, "encoder");
  const past = lab.model.kind === "language" ? rowsOf(lab, "encoder") : [];
  return [...(side === "decoder" ? past : []), ...rowsOf(lab, side)];
}

// The boxes of a stack. A residual connection leads around the sub-layer before it (in pre-norm, the
// one behind it).
function boxesOf(lab, side, now, before) {
  const parts = [];
  let around = null;
  for (const [key, box] of Object.entries(now)) {
    const button = boxButton(lab, side, key, box, before?.[key]);
    if (box.kind === "attention" || box.kind === "feedForward") {
      around = make("div", { class: "sublayer" }, button);
      parts.push(around);
    } else if (box.kind === "residual" && around) {
      around[box.isPre ? "prepend" : "append"](button);
    } else parts.push(button);
  }
  return parts;
}

function boxButton(lab, side, key, box, before) {
  const id = `${side}.${key}`;
  const isMasked = side === "decoder" && key === "self_attention";
  const note = before && noteOf(key, box, lab.stages.change, isMasked);
  const share = before ? difference(box.output, before.output) : 0;
  return make("button", { type: "button", class: `box${note ? " changed" : ""}`, "data-key": `box ${id}`,
    "aria-expanded": String(opened(lab) === id), "aria-controls": "lab-stage",
    onclick: () => lab.openBox(id) },
  make("span", {}, boxName(key, box, isMasked)),
  ...(note ? [make("small", {}, `✎ ${note}`)] : []),
  ...(key === "next" ? [mostProbable(lab, box)] : []),
  thumbnail(box),
  ...(share > 0.001 ? [make("span", { class: "was" }, thumbnail(before)), key === "next"
    ? mostProbable(lab, before, localised("unchanged:"))
    : make("small", {}, localised("differs by {share}", { share: percent(share) }))] : []));
}

function mostProbable(lab, { output: { data } }, which = "") {
  const best = data.indexOf(Math.max(...data));
  return make("small", {}, which, " ", make("span", { lang: lab.writing.tgt.lang }, lab.model.tgt.tokens[best]),
    ` ${percent(data[best])}`);
}

// How far numbers are from those of the unchanged model, as a share of their size.
function difference(now, before) {
  let [apart, whole] = [0, 0];
  now.data.forEach((entry, at) => {
    apart += (entry - before.data[at]) ** 2;
    whole += before.data[at] ** 2;
  });
  return Math.sqrt(apart / (whole || 1));
}

// The numbers of a box as small coloured fields: the weights of an attention's head, the six largest
// probabilities, or what a box hands on.
function thumbnail({ kind, weights, output }) {
  const largest = { rows: 1, columns: 6, data: output.data.toSorted((a, b) => b - a).subarray(0, 6) };
  const { rows, columns: width, data } = { attention: weights, next: largest }[kind] ?? output;
  const canvas = make("canvas", { width, height: rows, "aria-hidden": "true" });
  paint(canvas, data, width, 1, kind === "attention" || kind === "next");
  return canvas;
}

// --- the stage of the open box ---------------------------------------------------------------

function stage(lab, now, before) {
  const [side, key] = opened(lab).split(".");
  const [box, was] = [now[side][key], before?.[side][key]];
  const isSelf = key === "self_attention";
  const isMasked = isSelf && side === "decoder";
  const { config } = lab.model;
  const context = { config, change: lab.stages.change, isSelf, isMasked };
  const chapters = [CHAPTERS[isMasked ? "masked" : key] ?? CHAPTERS[box.kind],
    ...(box.kind === "attention" ? [CHAPTERS.heads] : [])];
  const links = chapters.flatMap(([page, title], i) =>
    [...(i ? [" · "] : []), make("a", { href: `${page}.html` }, title)]);
  const name = boxName(key, box, isMasked);
  const title = ["embedding", "memory", "next"].includes(key) ? name
    : localised("{name}, layer {number}", { name, number: lab.stages.layer + 1 });
  const isOff = lab.stages.change.headsOff.has(`${box.name}.${box.head}`);
  const heads = box.kind !== "attention" ? [] : [make("div", { class: "shown" },
    choice("head of the picture", localised("head of the picture"),
      Array.from({ length: config.num_heads }, (_one, head) => [head, String(head + 1),
        { "aria-label": localised("head {head} in the picture", { head: head + 1 }) }]), lab.stages.head,
    (head) => lab.chooseStage({ drawnHead: head })),
    make("button", { type: "button", "aria-pressed": String(isOff), "data-key": "ablate this",
      onclick: () => lab.set(() => {
        const id = `${box.name}.${box.head}`;
        if (!lab.change.headsOff.delete(id)) lab.change.headsOff.add(id);
      }) }, localised("Ablate head {head}", { head: box.head + 1 })))];
  const isWide = (step) => step.scores && box.weights.columns > 5;
  const steps = STEPS[box.kind](box, context).map((step) => make("div",
    { class: `step${isWide(step) ? " wide" : ""}` },
    make("h4", {}, step.title), formula(step.formula), make("p", {}, step.says),
    ...drawnStep(lab, step, box, was, side, key)));
  return make("section", { class: "stage", id: "lab-stage", "aria-label": localised("the open box") },
    make("h3", {}, title), ...heads,
    make("p", { class: "note" }, localised("Explained in:"), " ", ...links), make("div", { class: "steps" }, ...steps));
}

// The numbers of a step, and those of the unchanged model where they differ.
function drawnStep(lab, step, box, was, side, key) {
  const rows = step.rows === "keys" ? keysOf(lab, side, key)
    : step.rows === "last" ? [rowsOf(lab, side)[lab.stages.position]] : rowsOf(lab, side);
  if (step.tokens) return [tokensTable(lab, box, was)];
  if (step.scores) {
    return [scoresTable(box[step.scores], was?.[step.scores], rows, keysOf(lab, side, key), step.title,
      step.scores === "weights")];
  }
  const now = box[step.vectors];
  const before = was?.[step.vectors];
  const differs = before && difference(now, before) > 0.001;
  return [readable(now, rows, step.title), ...(differs ? [readable(before, rows, step.title, true)] : [])];
}

// Vectors as coloured fields. Whoever points at a number, or moves there with the arrow keys, is told it.
function readable(matrix, rows, label, isBefore = false) {
  const named = (name) => (isBefore ? localised("{name}, unchanged model", { name }) : name);
  const figure = strips(matrix, rows.map(({ token }) => token), rows[0]?.lang, named(size(matrix)));
  figure.classList.toggle("before", isBefore);
  const told = make("output", { "aria-live": "polite" });
  const canvas = figure.querySelector("canvas");
  let [i, j] = [0, 0];
  const tell = (row, column) => {
    i = Math.max(0, Math.min(matrix.rows - 1, row));
    j = Math.max(0, Math.min(matrix.columns - 1, column));
    const number = withMinus(matrix.data[i * matrix.columns + j].toFixed(2));
    told.textContent = `“${rows[i].token}”, ${j + 1}: ${number}`;
  };
  const point = ({ offsetX, offsetY }) => tell(
    Math.floor((offsetY / canvas.clientHeight) * matrix.rows),
    Math.floor((offsetX / canvas.clientWidth) * matrix.columns));
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("click", point);
  const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  figure.addEventListener("keydown", (event) => {
    if (!moves[event.key]) return;
    event.preventDefault();
    tell(i + moves[event.key][0], j + moves[event.key][1]);
  });
  figure.addEventListener("focus", () => tell(i, j));
  figure.append(told);
  for (const [name, value] of Object.entries({ tabindex: 0,
    "aria-label": localised("{label}: arrow keys read the numbers", { label: named(label) }) })) figure.setAttribute(name, value);
  return figure;
}

// A number with a minus sign instead of a hyphen.
const withMinus = (number) => number.replace("-", "−");

// Scores or weights of every query (row) for every key (column); those of the unchanged model are below.
function scoresTable(matrix, before, rows, columns, caption, isWeights) {
  const largest = matrix.data.reduce((a, b) => (Number.isFinite(b) ? Math.max(a, Math.abs(b)) : a), 1e-9);
  const said = (entry) => (Number.isFinite(entry) ? withMinus(twoDecimals(entry)) : "−∞");
  const body = rows.map(({ token, lang }, i) => make("tr", {}, make("th", { scope: "row", lang }, token),
    ...columns.map((_, j) => {
      const at = i * matrix.columns + j;
      const entry = matrix.data[at];
      const was = before && said(before.data[at]) !== said(entry) && said(before.data[at]);
      return make("td", { class: isWeights ? "blue" : entry < 0 ? "negative" : null,
        style: `--w: ${Number.isFinite(entry) ? Math.abs(entry) / largest : 0}` },
      said(entry), ...(was ? [make("small", { title: localised("unchanged") }, was)] : []));
    })));
  return make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption },
    make("table", { class: "scores" }, make("thead", {}, make("tr", {}, make("td"),
      ...columns.map(({ token, lang }) => make("th", { scope: "col", lang }, token)))),
    make("tbody", {}, ...body)));
}

// The most probable tokens with their logits.
function tokensTable(lab, { logits, output }, was) {
  const best = [...output.data.keys()].sort((a, b) => output.data[b] - output.data[a]).slice(0, 6);
  const { tgt } = lab.writing;
  const list = best.map((id) => make("tr", {},
    make("th", { scope: "row" }, word(lab.model.tgt.tokens[id], tgt)),
    make("td", {}, withMinus(twoDecimals(logits.data[id]))),
    make("td", {}, percent(output.data[id])),
    ...(was ? [make("td", {}, percent(was.output.data[id]))] : [])));
  const names = [localised("token"), localised("logit"), localised("probability"),
    ...(was ? [localised("unchanged")] : [])];
  return make("table", { class: "scores" }, make("thead", {}, make("tr", {},
    ...names.map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...list));
}
