"use strict";

// The laboratory: the page computes a model that translates a sentence while it is typed, and
// shows every change of the model at once beside the unchanged one.

const KINDS = {
  transformer: "Transformer", language: "Language model", bahdanau: "Bahdanau", luong: "Luong",
  seq2seq: "GRU, no attention",
};
const ASKED = { en: "An English sentence", de: "A German sentence" };
// Sentences to begin with, each with a switch or a head that it needs.
const EXAMPLES = {
  en: [
    ["the brave boys sing", "without one head", "decoder.1.cross_attention.0"],
    ["the poet that the dog sees sings", "without positions", "positions"],
    ["the robot that must work makes my bag", "without √d_k", "scale"],
  ],
  de: [["Ein Mann schläft auf einer Bank.", "without positions", "positions"]],
};
const SWITCHES = [
  ["positions", "positions are added"],
  ["scale", "scores are divided by √d_k"],
  ["causal", "the future is masked"],
];

const WIDTHS = [1, 2, 4, 8]; // of the beams that can be chosen
const YOURS = "your model"; // which a link cannot name
const COLDEST = 0.2; // of the temperatures that can be chosen

class Laboratory {
  constructor(root) {
    this.root = root;
    this.isSmall = "small" in root.dataset;
    this.offers = JSON.parse(root.dataset.models);
    this.change = noChange();
    this.beside = new Map(); // others on the same sentence, by name; null: it is being loaded
    this.width = 1; // of the beam; 0: sampling
    this.numbers = []; // that were drawn for sampling, one for each step
    this.layer = null;
    this.head = -1; // the mean of the heads
    this.position = 0;
    this.step = null; // up to which the tree is shown: all
    this.turn = 0; // a search that is no longer wanted sees that the turn is another's
    this.asking = 0; // and so does a model that comes after another was asked for
    this.isLoading = false;
    this.build();
  }

  // --- the frame, which stays while results change ---------------------------------------

  build() {
    const [first] = this.offers;
    this.input = make("input", {
      type: "text", id: "lab-sentence", autocomplete: "off", spellcheck: "false",
      "aria-describedby": "lab-told", oninput: () => {
        this.sentenceChanged();
        this.suggest();
      },
    });
    this.label = make("label", { for: "lab-sentence" }, ASKED.en);
    this.drawOne = make("button", { type: "button", hidden: true, onclick: () => this.draw() },
      "Draw one");
    this.told = make("p", { id: "lab-told", class: "told", role: "status" });
    this.knows = make("span", { class: "knows" });
    this.heard = make("p", { class: "heard", role: "status" });
    this.suggested = make("div", { class: "suggested", role: "group", "aria-label": "words" });
    this.results = make("div", { class: "results" });
    this.controls = make("div", { class: "controls" });
    this.root.replaceChildren(
      make("div", { class: "ask" }, this.label, this.input, this.drawOne),
      make("div", { class: "lines" }, this.told, this.knows,
        make("small", { class: "busy", "aria-hidden": "true" }, "computing …")),
      this.heard, this.suggested, this.results, this.controls);
    if (!this.isSmall) this.acceptDrops();
    this.begin(first);
  }

  async begin(offer) {
    const asked = new URLSearchParams(this.isSmall ? "" : location.search);
    const other = asked.get("model");
    const known = this.offers.find(({ name }) => name === other) ?? (other ? null : offer);
    const problem = await this.use(() => (known ? this.open(known) : openFolder(other)),
      known?.name ?? other);
    if (problem === null) return;
    if (problem && await this.use(() => this.open(offer), offer.name) !== "") return;
    const told = [problem, ...await this.follow(asked)].filter(Boolean);
    if (told.length) this.say(told.join(" "));
  }

  async open(offer) {
    const { name, kind, languages } = offer;
    const model = await (kind === "folder"
      ? openFolder(new URL(`models/${name}`, OWN)) : openEmbedded(name));
    return withLanguages(model, languages);
  }

  // Apply a link from a chapter: ?sentence=…&off=decoder.1.cross_attention.2&scale=off
  // Returns a sentence for each thing that the model does not have.
  async follow(asked) {
    const listed = (name) => (asked.get(name) ?? "").split(",").filter(Boolean);
    const missing = [];
    for (const name of listed("off")) {
      if (this.canChange && this.heads.includes(name)) this.change.headsOff.add(name);
      else missing.push(`The model has no head “${name}” to ablate.`);
    }
    for (const [name, text] of SWITCHES.filter(([each]) => asked.get(each) === "off")) {
      if (this.canChange) this.change[name] = false;
      else missing.push(`This model has no setting “${text}”.`);
    }
    const [width, temperature] = ["beam", "temperature"].map((name) => Number(asked.get(name)));
    if (WIDTHS.includes(width)) this.width = width;
    if (asked.get("sample") === "on") this.width = 0;
    if (this.width !== 1 && temperature >= COLDEST && temperature <= 3) this.change.temperature = temperature;
    if (this.model.attentions.some(({ name }) => name === asked.get("layer"))) {
      this.layer = asked.get("layer");
    }
    // Keep what was typed while the model was loaded.
    this.input.value ||= asked.get("sentence") ?? this.example;
    this.showControls();
    this.sentenceChanged();
    for (const name of listed("beside")) {
      const offer = this.companions().find((each) => each.name === name);
      missing.push(offer ? await this.putBeside(offer)
        : `There is no “${name}” to compare this model with.`);
    }
    return missing;
  }

  // Open a model and use it. An error is shown and returned; null: another model was chosen.
  async use(open, name) {
    const asking = ++this.asking;
    this.isLoading = true;
    this.say(`Loading ${name} …`);
    let [model, problem] = [null, ""];
    try {
      model = await open();
    } catch (error) {
      problem = error.message;
    }
    if (asking !== this.asking) return null;
    this.isLoading = false;
    if (model) this.take(withLanguages(model), name);
    this.showControls(); // after a failure, too: the list names the model that is in use
    if (problem && this.model && this.input.value !== this.read) this.sentenceChanged();
    this.say(problem);
    return problem;
  }

  take(model, name) {
    const spoken = this.model?.languages[0];
    const [language] = model.languages;
    this.turn += 1; // what the model before it is computing is not wanted any more
    this.results.inert = true; // they are of that model
    this.model = model;
    this.name = name;
    this.change = noChange();
    this.layer = alignedLayers(model).at(-1) ?? null;
    this.knows.textContent = `It knows ${model.src.words
      ? `${model.src.words.length} words${language === "en" ? " of a toy grammar" : ""}`
      : `${model.src.length.toLocaleString("en")} subwords`}.`;
    this.head = -1;
    const others = this.companions().map((offer) => offer.name);
    for (const beside of this.beside.keys()) {
      if (!others.includes(beside)) this.beside.delete(beside);
    }
    this.label.textContent = ASKED[language] ?? "A sentence";
    if (language) this.input.lang = language;
    else this.input.removeAttribute("lang");
    this.drawOne.hidden = !model.sentences.length;
    // A sentence in another language is of no use; keep what was typed meanwhile.
    if (spoken && language && language !== spoken && this.input.value === this.read) {
      this.input.value = this.example;
    }
  }

  // The sentence that the model begins with.
  get example() {
    const [language] = this.model.languages;
    const isFirst = language === this.offers[0].languages[0];
    return (isFirst ? null : EXAMPLES[language]?.[0][0]) ?? this.root.dataset.sentence;
  }

  // Let the address be a link to what is shown, for `follow`; what is as at the beginning is left out.
  // Not for every letter: a browser refuses too many.
  remember() {
    if (this.isSmall) return;
    const { headsOff, temperature } = this.change;
    const [first] = this.offers;
    const state = {
      model: ![first.name, YOURS].includes(this.name) && this.name,
      sentence: this.input.value !== this.example && this.input.value,
      beam: this.width > 1 && this.width,
      sample: this.width === 0 && "on",
      temperature: temperature !== 1 && temperature,
      off: [...headsOff].join(","),
      beside: [...this.beside.keys()].join(","),
      layer: this.layer !== (alignedLayers(this.model).at(-1) ?? null) && this.layer,
      ...Object.fromEntries(SWITCHES.map(([name]) => [name, !this.change[name] && "off"])),
    };
    const said = new URLSearchParams(Object.entries(state).filter(([, value]) => value));
    const address = new URL(location);
    address.search = String(said).replaceAll("%2C", ",");
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => history.replaceState(history.state, "", address), 300);
  }

  // Use another model on the same sentence.
  async exchange(open, name) {
    if (await this.use(open, name) === "") this.sentenceChanged();
  }

  // The models to compare this one with: small ones between the same languages.
  companions() {
    const pair = this.model.languages.join();
    return this.offers.filter(({ name, kind, languages }) =>
      name !== this.name && kind !== "folder" && languages.join() === pair);
  }

  acceptDrops() {
    const hasFiles = (event) => event.dataTransfer.types.includes("Files"); // and is no text
    this.root.addEventListener("dragover", (event) => {
      if (hasFiles(event)) event.preventDefault();
    });
    this.root.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.useFiles(droppedFiles(event.dataTransfer));
    });
  }

  useFiles(files) {
    return this.exchange(async () => openFiles(await files), YOURS);
  }

  say(sentence) {
    this.told.textContent = sentence;
  }

  draw() {
    const { sentences } = this.model;
    const { src } = sentences[Math.floor(Math.random() * sentences.length)];
    this.input.value = src.join(" ");
    this.sentenceChanged();
  }

  // --- the controls ---------------------------------------------------------------------

  showControls() {
    if (this.isSmall || !this.model) return;
    const offers = this.offers.map(({ name, title }) => [name, title]);
    if (!this.offers.some(({ name }) => name === this.name)) offers.push([this.name, this.name]);
    const model = make("select", { id: "lab-model", onchange: ({ target }) => {
      const offer = this.offers.find(({ name }) => name === target.value);
      if (offer) this.exchange(() => this.open(offer), offer.name);
      else this.showControls();
    } }, ...offers.map(([value, text]) =>
      make("option", { value, selected: value === this.name }, text)));
    const file = make("input", { type: "file", multiple: true, id: "lab-files",
      accept: ".json,.safetensors", onchange: () => this.useFiles(file.files) });
    const parts = [
      this.exampleControls(),
      make("div", { class: "models" }, make("label", { for: "lab-model" }, "Model "), model,
        make("label", { class: "own" }, "Open your own …", file)),
      this.searchControls(),
    ];
    if (this.canChange) parts.push(this.changeControls());
    if (this.companions().length) parts.push(this.besideControls());
    this.renew(this.controls, parts);
  }

  // Make controls and results again; the same element keeps the focus, and tables their scroll position.
  renew(part, children) {
    const key = ({ id, name, dataset }) => id || name || dataset.key;
    const { activeElement } = document;
    const was = part.contains(activeElement) && key(activeElement);
    const scrolled = [...part.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    part.replaceChildren(...children);
    part.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = scrolled[i] ?? 0; });
    if (!was) return;
    const same = [...part.querySelectorAll("*")].find((each) => key(each) === was);
    same?.focus({ preventScroll: true });
  }

  // Sentences to choose, and beside each a change that breaks it.
  exampleControls() {
    const tryOut = (sentence, name) => {
      this.change = noChange();
      if (name in this.change) this.change[name] = false;
      else if (name) this.change.headsOff.add(name);
      this.input.value = sentence;
      this.showControls();
      this.sentenceChanged();
    };
    const has = (name) => this.canChange && (name in this.change || this.heads.includes(name));
    const rows = (EXAMPLES[this.model.languages[0]] ?? []).map(([sentence, broken, name], i) =>
      make("div", {}, make("button", { type: "button", "data-key": `example ${i}`,
        lang: this.model.languages[0], onclick: () => tryOut(sentence) }, sentence),
      ...(has(name) ? [make("button", { type: "button", "data-key": `broken ${i}`,
        "aria-label": `${broken}: ${sentence}`, onclick: () => tryOut(sentence, name) }, broken)]
        : [])));
    return make("fieldset", { class: "examples", hidden: !rows.length },
      make("legend", {}, "Try a sentence, then break the model"), ...rows);
  }

  searchControls() {
    const widths = WIDTHS.map((width) => [width, width === 1 ? "greedy" : `beam ${width}`]);
    widths.push([0, this.width === 0 ? "sample again" : "sample"]);
    const range = make("input", { type: "range", id: "lab-temperature", min: COLDEST, max: 3,
      step: 0.1, value: this.change.temperature, disabled: this.width === 1, oninput: () => {
        this.change.temperature = Number(range.value);
        told.textContent = range.value;
        this.translate();
      } });
    const told = make("output", { for: "lab-temperature" }, String(this.change.temperature));
    return make("div", { class: "search" },
      choice("search", widths, this.width, (width) => this.set(() => {
        this.width = width;
        if (width === 1) this.change.temperature = 1; // with which nothing would change
        this.numbers = [];
      })),
      make("label", { for: "lab-temperature" }, "temperature "), range, told);
  }

  changeControls() {
    const switches = SWITCHES.map(([name, text]) => make("label", {},
      make("input", { type: "checkbox", name, checked: this.change[name], onchange: ({ target }) =>
        this.set(() => { this.change[name] = target.checked; }) }), ` ${text}`));
    const heads = this.model.attentions.map(({ name, heads: count }) => {
      const numbers = Array.from({ length: count }, (_, head) => {
        const id = `${name}.${head}`;
        return make("button", { type: "button", "aria-pressed": String(!this.change.headsOff.has(id)),
          "aria-label": `${layerName(name)}, head ${head + 1}`, "data-key": id,
          onclick: () => this.set(() => {
            if (!this.change.headsOff.delete(id)) this.change.headsOff.add(id);
          }) }, String(head + 1));
      });
      return make("div", { role: "group", "aria-label": `heads of ${layerName(name)}` },
        make("span", {}, layerName(name)), ...numbers);
    });
    return make("fieldset", { class: "changes" }, make("legend", {}, "Change the model"),
      make("div", { class: "switches" }, ...switches),
      make("div", { class: "heads" }, ...heads),
      make("button", { type: "button", class: "mend", "data-key": "mend", onclick: () =>
        this.set(() => { this.change = noChange(); }) }, "Undo all changes"));
  }

  besideControls() {
    return make("fieldset", { class: "beside" }, make("legend", {}, "Compare with"),
      ...this.companions().map((offer) => make("label", {},
        make("input", { type: "checkbox", name: offer.name, checked: this.beside.has(offer.name),
          onchange: async ({ target }) => {
            if (!target.checked) return this.set(() => { this.beside.delete(offer.name); });
            const problem = await this.putBeside(offer);
            if (problem) this.say(problem);
          } }), ` ${offer.title}`)));
  }

  // Let another model also translate, once it is loaded. Returns an error.
  async putBeside(offer) {
    let problem = "";
    this.beside.set(offer.name, null);
    try {
      const model = await this.open(offer);
      // The reader may have changed the box or the model meanwhile.
      if (this.beside.has(offer.name)) this.beside.set(offer.name, model);
    } catch (error) {
      problem = error.message;
      this.beside.delete(offer.name);
    }
    this.showControls();
    this.translate();
    return problem;
  }

  set(change) {
    change();
    this.showControls();
    this.translate();
  }

  // --- from the sentence to results --------------------------------------------------------

  get canChange() {
    return this.model instanceof Transformer;
  }

  get heads() {
    return this.model.attentions.flatMap(({ name, heads: count }) =>
      Array.from({ length: count }, (_, head) => `${name}.${head}`));
  }

  get isChanged() {
    const { headsOff, weights, temperature, ...switches } = this.change;
    return headsOff.size > 0 || Object.keys(weights).length > 0 || temperature !== 1 ||
      Object.values(switches).includes(false);
  }

  // What is typed while a model is loaded waits for it.
  sentenceChanged() {
    if (this.isLoading || !this.model) return;
    this.change.weights = {};
    this.position = 0;
    const text = this.input.value;
    this.read = text;
    const unknown = this.model.src.unknown(asWritten(this.model.src, text));
    this.say(unknown.length
      ? `The vocabulary does not have ${unknown.map((each) => `“${each}”`).join(", ")}.` : "");
    this.suggested.replaceChildren();
    this.translate();
  }

  // The words of the vocabulary that begin like the last one that was typed.
  suggest() {
    const text = this.input.value;
    const last = text.split(" ").at(-1).toLowerCase();
    const found = (this.model?.src.words ?? []).filter((each) =>
      last && each !== last && each.toLowerCase().startsWith(last)).slice(0, 8);
    this.suggested.replaceChildren(...found.map((each) => make("button", { type: "button",
      onclick: () => {
        this.input.value = `${text.slice(0, text.length - last.length)}${each} `;
        this.input.focus();
        this.sentenceChanged();
      } }, each)));
  }

  async translate() {
    const turn = ++this.turn;
    const { model } = this;
    const ids = model.src.encode(asWritten(model.src, this.input.value));
    if (!ids.length) {
      this.results.replaceChildren();
      this.heard.replaceChildren();
      this.results.removeAttribute("aria-busy");
      return;
    }
    this.results.setAttribute("aria-busy", "true");
    try {
      const found = {};
      const changes = { now: this.change, ...(this.isChanged && { before: noChange() }) };
      for (const [which, change] of Object.entries(changes)) {
        found[which] = await this.search(model, ids, change, turn);
        if (turn !== this.turn) return;
      }
      const others = [];
      for (const [name, other] of [...this.beside].filter(([, each]) => each)) {
        const { title } = this.offers.find((offer) => offer.name === name);
        const ours = other.src.encode(asWritten(other.src, this.input.value));
        others.push([title, other, await this.search(other, ours, noChange(), turn)]);
        if (turn !== this.turn) return;
      }
      this.found = found;
      this.others = others;
      const { tokens, ended } = found.now.best;
      this.position = Math.min(this.position, tokens.length - !ended);
      this.step = null;
      this.show();
      this.remember();
      this.heard.replaceChildren("It predicts: ", make("span", { lang: model.languages[1] },
        model.tgt.decode(tokens)));
    } catch (error) {
      if (turn !== this.turn) return;
      this.results.replaceChildren();
      this.say(error.message);
    } finally {
      if (turn === this.turn) this.results.removeAttribute("aria-busy");
    }
  }

  // The best translation, and all steps of the search; between two steps the page can react.
  async search(model, ids, change, turn) {
    const source = model.read([...ids, EOS], change);
    const steps = [];
    const sampled = (next, step) => draw(next, this.numbers[step] ??= Math.random());
    const way = this.width < 2
      ? greedy(model, source, change, this.width === 0 ? sampled : undefined)
      : beam(model, source, change, { beam: this.width, alpha: model.search.alpha });
    let last = performance.now();
    for (const step of way) {
      steps.push(this.width < 2 ? { live: [step], finished: [] } : step);
      if (performance.now() - last > 50) {
        await new Promise((resolve) => { setTimeout(resolve); });
        if (turn !== this.turn) break;
        last = performance.now();
      }
    }
    const { live, finished } = steps.at(-1);
    const best = finished[0] ?? live[0];
    const said = forced(model, source, best.tokens, change, best.ended);
    return { source, steps, best, said, gold: this.gold(model, source, change) };
  }

  // The probability of the reference translation, and the attention when it is teacher-forced.
  gold(model, source, change) {
    const text = asWritten(model.src, this.input.value);
    const pair = model.sentences.find(({ src }) => src.join(" ") === text);
    if (!pair) return null;
    const ids = model.tgt.encode(pair.tgt.join(" "));
    const said = forced(model, source, ids, change);
    const aligned = alignedLayers(model);
    const layer = aligned.includes(this.layer) ? this.layer : aligned.at(-1);
    const error = layer ? alignmentError(meanOfHeads(said.attention[layer]), pair.links,
      [pair.src.length, pair.tgt.length]) : null;
    return { pair, logProb: said.logProb, error, layer };
  }

  // --- what is shown --------------------------------------------------------------------------

  show() {
    const parts = [this.translations(), this.attention()];
    if (!this.isSmall) {
      parts.push(this.nextToken(), this.growingTree());
      if (this.canChange) parts.push(this.embeddings());
    }
    this.results.inert = false;
    this.renew(this.results, parts);
  }

  translations() {
    const { now, before } = this.found;
    const lines = before
      ? [["changed", this.model, now], ["unchanged", this.model, before]]
      : [[this.isSmall ? "it predicts" : KINDS[this.model.kind], this.model, now]];
    const rows = [...lines, ...this.others].map(([title, model, found], i) => {
      const chosen = i === 0 && !this.isSmall;
      const tokens = model.tgt.tokens(found.best.tokens);
      if (chosen && found.best.ended) tokens.push("<eos>");
      const words = tokens.map((token, t) => (chosen
        ? make("button", { type: "button", "aria-pressed": String(t === this.position),
          "data-key": `word ${t}`, onclick: () => { this.position = t; this.show(); },
        }, word(token, model.writing.tgt))
        : word(token, model.writing.tgt)));
      const told = [make("span", {}, `log p = ${twoDecimals(found.best.logProb)}`)];
      if (found.gold && !this.isSmall) {
        const right = found.gold.pair.tgt.join(" ") === model.tgt.tokens(found.best.tokens).join(" ");
        told.push(make("span", {}, right ? "✓ right" : "✗ not the right translation"),
          make("span", {}, `the right one: log p = ${twoDecimals(found.gold.logProb)}`));
        if (found.gold.error !== null) {
          told.push(make("span", {}, `alignment error ${percent(found.gold.error)}`));
        }
      }
      return make("div", { class: "translation", "data-which": title },
        make("h2", {}, title),
        make("p", {}, ...words),
        ...(this.isSmall ? [] : [make("p", { class: "numbers" }, ...told)]));
    });
    return make("div", { class: "translations" }, ...rows);
  }

  // The distribution of the token at the chosen position, given the ones before it.
  nextToken() {
    const { now, before } = this.found;
    const { tgt, writing } = this.model;
    const prefix = now.best.tokens.slice(0, this.position);
    const likely = (source, change) =>
      nextLogProbs(this.model, source, prefix, change).map(Math.exp);
    const ours = likely(now.source, this.change);
    const unchanged = before && likely(before.source, noChange());
    const chosen = [...now.best.tokens, EOS][this.position];
    const ids = [...new Set([...largest(ours, 6), chosen,
      ...(unchanged ? largest(unchanged, 3) : [])])];
    const entries = ids.map((id) => ({
      id, token: tgt.tokens([id])[0], now: ours[id], before: unchanged?.[id], chosen: id === chosen,
    }));
    const said = tgt.tokens(prefix).map(printed).join(" ") || "the beginning";
    return make("section", {}, make("h2", {}, "The next token"),
      bars(entries, writing.tgt, `Next token after: ${said}`, (token) => {
        const id = entries.find((entry) => entry.token === token).id;
        this.sayInstead(id);
      }),
      ...(this.model.kind === "language" ? [make("p", { class: "note" }, this.cacheSize())] : []));
  }

  // What the model keeps of all that it has read before the chosen position.
  cacheSize() {
    const { num_layers: layers, num_kv_heads: heads, d_k, d_v } = this.model.config;
    const [source, target] = [this.found.now.source.length, this.position + 1];
    const numbers = (source + target) * layers * heads * (d_k + d_v);
    return `KV cache: ${source} + ${target} positions × ${layers} layers × ${heads} heads × ` +
      `(${d_k} + ${d_v}) = ${numbers.toLocaleString("en")} numbers`;
  }

  // Another token at the chosen position: the model continues from there.
  sayInstead(id) {
    const { now } = this.found;
    const tokens = now.best.tokens.slice(0, this.position);
    const longest = longestTranslation(this.model, now.source);
    let token = id;
    while (token !== EOS) {
      tokens.push(token);
      if (tokens.length >= longest) break;
      [token] = largest(nextLogProbs(this.model, now.source, tokens, this.change), 1);
    }
    const ended = token === EOS;
    const said = forced(this.model, now.source, tokens, this.change, ended);
    const best = { tokens, logProb: said.logProb, ended };
    this.found = { ...this.found, now: { ...now, said, best } };
    this.show();
  }

  attention() {
    const { now } = this.found;
    const layers = this.model.attentions.map(({ name }) => name);
    if (!layers.length) {
      return make("p", { class: "note" }, "This model has no attention: the decoder gets only one " +
        "vector for the sentence.");
    }
    const all = { ...now.source.attention, ...now.said.attention };
    const heads = all[this.layer];
    const ids = now.source.ids;
    const source = this.model.src.tokens(ids);
    // Row t belongs to the token that is predicted: the decoder has read the one before.
    const words = this.model.tgt.tokens(now.best.tokens);
    const said = now.best.ended ? [...words, "<eos>"] : words;
    const read = ["<bos>", ...said.slice(0, -1)];
    const isEncoder = this.layer.startsWith("encoder");
    const isSelf = this.layer.includes("self");
    const isAligned = alignedLayers(this.model).includes(this.layer);
    const past = isSelf && isAligned ? source.length : 0; // a language model reads one text
    const rows = isEncoder ? source : isAligned ? said : read;
    const columns = [...(isEncoder || isAligned ? source : []), ...(isSelf && !isEncoder ? read : [])];
    const weights = this.head < 0 ? meanOfHeads(heads) : heads[this.head];
    const links = isAligned && now.gold?.pair.tgt.join(" ") === words.join(" ")
      ? now.gold.pair.links : [];
    const id = `${this.layer}.${this.head}`;
    const byHand = this.change.weights[id] ?? {};
    const { src, tgt } = this.model.writing;
    const shown = this.head < 0 ? "mean of the heads" : `head ${this.head + 1}`;
    const caption = `${this.isSmall ? "Attention" : `${layerName(this.layer)}, ${shown}`
    }: each row shares out 1`;
    const table = weightsTable(weights, rows, columns, {
      writing: {
        rows: isEncoder ? src : tgt,
        columns: (s) => (isEncoder || !isSelf || s < past ? src : tgt),
      },
      gold: new Set(links.map(([s, t]) => `${s} ${t}`)),
      shown: isEncoder ? undefined : this.position,
      pick: this.head < 0 || this.isSmall ? null : (t, s) =>
        this.setByHand(id, past + t, s, columns.length),
      noFuture: isSelf && !isEncoder && this.change.causal,
      past, byHand, caption,
    });
    if (this.isSmall) return table;
    const note = this.head < 0
      ? "Choose a head to set its attention weights by hand."
      : "Choose a cell: that query will attend only there. Choose it again to undo.";
    const layer = make("select", { id: "lab-layer", "aria-label": "layer", onchange: () => {
      this.layer = layer.value;
      this.head = -1;
      this.translate();
    } }, ...layers.map((name) =>
      make("option", { value: name, selected: name === this.layer }, layerName(name))));
    return make("section", {},
      make("div", { class: "shown" }, make("h2", {}, "Attention"), layer,
        choice("head", [[-1, "mean"], ...heads.map((_, head) =>
          [head, String(head + 1), { "aria-label": `head ${head + 1}` }])], this.head,
        (head) => { this.head = head; this.show(); })),
      table, make("p", { class: "note" }, note));
  }

  setByHand(id, t, s, length) {
    const rows = { ...this.change.weights[id] };
    const isUndone = rows[t]?.[s] === 1;
    if (isUndone) delete rows[t];
    else rows[t] = Array.from({ length }, (_, column) => (column === s ? 1 : 0));
    if (Object.keys(rows).length) this.change.weights[id] = rows;
    else delete this.change.weights[id];
    this.translate();
  }

  // The tree of a search up to one of its steps.
  growingTree() {
    const { steps, best } = this.found.now;
    const { tgt, writing } = this.model;
    const grown = make("div");
    const told = make("output", { for: "lab-step" });
    const grow = () => {
      told.textContent = `${range.value} of ${steps.length}`;
      grown.replaceChildren(tree(steps.slice(0, Number(range.value)), tgt, writing.tgt, best));
    };
    const range = make("input", { type: "range", id: "lab-step", min: 1, max: steps.length,
      value: this.step ?? steps.length, oninput: () => {
        this.step = Number(range.value);
        grow();
      } });
    grow();
    return make("details", { class: "more", open: this.treeOpen, ontoggle: ({ target }) => {
      this.treeOpen = target.open;
    } }, make("summary", { "data-key": "search" }, "The search, as a tree"),
    make("div", { class: "search" }, make("label", { for: "lab-step" }, "step "), range,
      told), grown);
  }

  embeddings() {
    const { now } = this.found;
    const { ids } = now.source;
    const tokens = this.model.src.tokens(ids);
    const [lang] = this.model.languages;
    const sum = now.source.embeddings;
    const alone = this.model.embed("src", ids, { positions: false });
    const positions = { ...sum, data: sum.data.map((entry, at) => entry - alone.data[at]) };
    const parts = this.change.positions
      ? [[alone, "the tokens"], [positions, "their positions"], [sum, "the sum"]]
      : [[alone, "the tokens, without positions"]];
    return make("details", { class: "more", open: this.vectorsOpen, ontoggle: ({ target }) => {
      this.vectorsOpen = target.open;
    } }, make("summary", { "data-key": "vectors" }, this.model.kind === "language"
      ? "The vectors of the source" : "The vectors that the encoder reads"),
    ...parts.map(([vectors, label]) => strips(vectors, tokens, lang, label)));
  }
}

// A model has the languages of its words, and for the toy corpus their glosses. For another model
// of the reader's, the languages are unknown.
function withLanguages(model, languages = model.languages) {
  const toy = Object.keys(model.gloss).length ? ["en", "ko"] : [];
  const [src, tgt] = languages ?? toy;
  const writing = { src: { lang: src, gloss: {} }, tgt: { lang: tgt, gloss: model.gloss } };
  return Object.assign(model, { languages: languages ?? toy, writing });
}

// The names of the attentions whose keys include the source and whose queries are of the target.
function alignedLayers(model) {
  const names = model.attentions.map(({ name }) => name);
  return model.kind === "language" ? names : names.filter((name) => !name.includes("self"));
}

// Normalise a text for a vocabulary of words, which may have no capitals and no punctuation.
function asWritten(vocabulary, text) {
  if (!vocabulary.words) return text;
  return cleaned(text).split(" ").map((each) => {
    const bare = each.replace(/[.,;:?!]+$/, "");
    return [each, bare].flatMap((way) => [way, way.toLowerCase(), way.toUpperCase()]).find(
      (way) => way === "" || vocabulary.ids.has(way),
    ) ?? bare;
  }).filter(Boolean).join(" ");
}

// The readable name of "decoder.1.cross_attention".
function layerName(name) {
  const [side, number, part] = name.split(".");
  if (part === undefined) return "cross-attention";
  return `${side} ${Number(number) + 1}, ${part.replace("_attention", "")}`;
}

document.querySelectorAll(".laboratory").forEach((root) => new Laboratory(root));
