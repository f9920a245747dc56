"use strict";

// The controls: what the reader can choose. Every function makes one part of them, for a laboratory.

function controls(lab) {
  const parts = [modelControls(lab), exampleControls(lab), searchControls(lab)];
  if (lab.model.canChange) parts.push(changeControls(lab));
  if (lab.companions().length) parts.push(besideControls(lab));
  return parts;
}

// Sentences to choose, and beside each a change that breaks it, or what it shows.
function exampleControls(lab) {
  const [lang] = lab.languages;
  const has = (name) => lab.model.canChange && (name in lab.change || lab.heads.includes(name));
  const rows = lab.examples.map(([sentence, broken, name], i) => make("div", {},
    make("button", { type: "button", "data-key": `example ${i}`, lang,
      onclick: () => lab.tryOut(sentence) }, sentence),
    ...(has(name) ? [make("button", { type: "button", "data-key": `broken ${i}`,
      "aria-label": `${broken}: ${sentence}`, onclick: () => lab.tryOut(sentence, name) }, broken)]
      : broken && !name ? [make("small", {}, broken)] : [])));
  return make("fieldset", { class: "examples", hidden: !rows.length },
    make("legend", {}, localised("Try a sentence, then break the model")), ...rows);
}

function modelControls(lab) {
  const offers = lab.offers.map(({ name, title }) => [name, title]);
  if (lab.name === YOURS) offers.push([YOURS, YOURS]);
  const model = make("select", { id: "lab-model", onchange: ({ target }) =>
    lab.exchange(lab.offers.find(({ name }) => name === target.value)) },
  ...offers.map(([value, text]) => make("option", { value, selected: value === lab.name }, text)));
  const file = make("input", { type: "file", multiple: true, id: "lab-files",
    accept: ".json,.safetensors", onchange: () => lab.useFiles([...file.files]) });
  return make("div", { class: "models" }, make("label", { for: "lab-model" }, localised("Model"), " "), model,
    make("label", { class: "own" }, localised("Open your own …"), file));
}

// A number of a search: its label, its name in the change, its bounds, and how it is said.
const RANGES = [
  [localised("temperature"), "temperature", { min: COLDEST, max: HOTTEST, step: 0.1 }, String],
  ["top-k", "topK", { min: 0, max: MOST, step: 1 }, (k) => (k ? String(k) : localised("all"))],
  ["top-p", "topP", { min: 0.05, max: 1, step: 0.05 }, String],
];

function searchControls(lab) {
  const widths = WIDTHS.slice(0, lab.readsSource ? WIDTHS.length : 1).map((width) => [width, width === 1 ? localised("greedy") : localised("beam {width}", { width })]);
  widths.push([0, isSampled(lab) ? localised("sample again") : localised("sample")]);
  const numbers = RANGES.map(([label, name, bounds, said]) => {
    const id = `lab-${name}`;
    const disabled = !isSampled(lab) && (name !== "temperature" || lab.width === 1);
    const range = make("input", { type: "range", id, ...bounds, value: lab.change[name], disabled,
      oninput: () => {
        lab.change[name] = Number(range.value);
        told.textContent = said(lab.change[name]);
        lab.goOn();
      } });
    const told = make("output", { for: id }, said(lab.change[name]));
    return make("span", { class: "range" }, make("label", { for: id }, label, " "), range, told);
  });
  return make("div", { class: "search" },
    choice("search", localised("search"), widths, isSampled(lab) ? 0 : lab.width, (width) => lab.searchBy(width)), ...numbers,
    ...(lab.readsSource ? [] : writingSwitches(lab)));
}

function changeControls(lab) {
  const { change, model } = lab;
  const own = SWITCHES.filter(([name]) => name !== "positions" || model.config.positions !== "none");
  const switches = own.map(([name, text]) => make("label", {},
    make("input", { type: "checkbox", name, checked: change[name], onchange: ({ target }) =>
      lab.set(() => { change[name] = target.checked; }) }), ` ${text}`));
  const heads = model.attentions.map(({ name, heads: count }) => {
    const numbers = Array.from({ length: count }, (_, head) => {
      const id = `${name}.${head}`;
      return make("button", { type: "button", "aria-pressed": String(!change.headsOff.has(id)),
        "aria-label": localised("{layer}, head {head}", { layer: layerName(name), head: head + 1 }),
        "data-key": id,
        onclick: () => lab.set(() => {
          if (!change.headsOff.delete(id)) change.headsOff.add(id);
        }) }, String(head + 1));
    });
    return make("div", { role: "group", "aria-label": localised("heads of {layer}", { layer: layerName(name) }) },
      make("span", {}, layerName(name)), ...numbers);
  });
  return make("fieldset", { class: "changes" }, make("legend", {}, localised("Change the model")),
    make("div", { class: "switches" }, ...switches),
    make("p", { class: "note" }, localised("Heads: choose one to ablate it.")),
    roving(make("div", { class: "heads" }, ...heads)),
    make("button", { type: "button", class: "mend", "data-key": "mend",
      onclick: () => lab.set(() => lab.mend()) }, localised("Undo all changes")));
}

function besideControls(lab) {
  return make("fieldset", { class: "beside" }, make("legend", {}, localised("Compare with")),
    ...lab.companions().map((offer) => make("label", {},
      make("input", { type: "checkbox", name: offer.name, checked: lab.beside.has(offer.name),
        onchange: ({ target }) => {
          if (target.checked) lab.putBeside(offer);
          else lab.set(() => { lab.beside.delete(offer.name); });
        } }), ` ${offer.title}`)));
}
