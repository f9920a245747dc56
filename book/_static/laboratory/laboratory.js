"use strict";

// The laboratory: a sentence is translated while it is typed, and every change of the model is shown at
// once beside the unchanged one. Here is what the reader has chosen; the engine computes (ask.js).

const KINDS = {
  transformer: localised("Transformer"), language: localised("Language model"), bahdanau: "Bahdanau",
  luong: "Luong", seq2seq: localised("GRU, no attention"),
};
// What a model of subwords has read, by its languages.
const HAS_READ = {
  "de-en": localised("It has read 29,000 captions of photographs, and translates other sentences badly."),
  en: localised("It has read 29,000 English captions of photographs, and nothing else."),
};
const ASKED = { en: localised("An English sentence"), de: localised("A German sentence") };
// Sentences to begin with, by the languages of a model, each with a switch or a head that it needs, or
// what it shows.
const EXAMPLES = {
  "en-ko": [
    ["the brave boys sing", localised("without one head"), "decoder.1.cross_attention.0"],
    ["the poet that the dog sees sings", localised("without positions"), "positions"],
    ["the robot that must work makes my bag", localised("without √d_k"), "scale"],
  ],
  "de-en": [
    ["Ein Mann schläft auf einer Bank.", localised("without positions"), "positions"],
    ["Zwei Kinder spielen im Schnee."],
    ["Eine Gruppe von Menschen steht vor einem Iglu."],
    ["Eine Frau mit einem roten Hut spielt Gitarre in der U-Bahn."],
    ["Ein Junge auf einem Skateboard springt über eine Treppe."],
    ["Der Mann trägt keinen Hut.", localised("“keinen” is lost: captions seldom say what there is not")],
  ],
  en: [
    ["A little girl", localised("without positions"), "positions"],
    ["Two dogs are", localised("without √d_k"), "scale"],
    ["The president said that", localised("no photograph shows what he said")],
  ],
};
const YOURS = localised("your model"); // which a link cannot name

const newSeed = () => Math.floor(Math.random() * 1e6);

class Laboratory {
  constructor(root) {
    this.root = root;
    this.isSmall = "small" in root.dataset;
    const isFile = location.protocol === "file:"; // which has a script for each model
    this.offers = JSON.parse(root.dataset.models).map((offer) =>
      ({ ...offer, folder: offer.digests && !isFile ? new URL(`models/${offer.name}`, OWN).href : null }));
    this.beside = new Map(); // others on the same sentence, by name; null: it is being loaded
    this.width = 1; // of the beam
    this.seed = null; // of the sample; null: none is drawn
    this.instead = []; // ids that the reader lets the translation begin with
    this.layer = null;
    this.head = -1; // the mean of the heads
    this.position = 0;
    this.pieces = false; // of words are shown, where the tokens are subwords
    this.step = null; // up to which the tree is shown: all
    this.box = ""; // that is open in the picture of the model, and whose layer and head are drawn
    this.drawnLayer = 0;
    this.drawnHead = 0;
    this.opened = new Set(); // parts of the results that the reader has opened
    this.turn = 0; // results that are no longer wanted see that the turn is another's
    this.asking = 0; // and so does a model that comes after another was asked for
    this.texts = []; // that are written side by side, and the one that is chosen
    this.column = 0;
    this.isWriting = false;
    this.isTwice = false; // with two seeds
    this.isCached = true;
    this.follows = false; // the position is that of the token that is written
    this.isLoading = true;
    this.asked = new URLSearchParams(this.isSmall ? "" : location.search);
    this.build();
    // The page is painted before anything is loaded and computed.
    requestAnimationFrame(() => setTimeout(() => this.begin()));
  }

  // --- the frame, which stays while results change ---------------------------------------

  build() {
    this.read = this.root.dataset.sentence;
    this.input = make("input", {
      type: "text", id: "lab-sentence", value: this.asked.get("sentence") ?? this.read,
      autocomplete: "off", spellcheck: "false", "aria-describedby": "lab-told", oninput: () => {
        this.sentenceChanged();
        this.suggest();
      },
    });
    this.label = make("label", { for: "lab-sentence" }, ASKED.en);
    this.drawOne = make("button", { type: "button", hidden: true, onclick: () => this.draw() },
      localised("Random sentence"));
    this.writeButton = make("button", { type: "button", class: "write", hidden: true, onclick: () => {
      if (this.isWriting) this.stopWriting();
      else this.searchBy(isSampled(this) ? 0 : 1);
    } });
    this.tour = this.isSmall ? make("span", { hidden: true }) : tourButton(this);
    this.told = make("p", { id: "lab-told", class: "told", role: "status" });
    this.loading = make("progress", { hidden: true, "aria-labelledby": "lab-told" });
    this.again = make("button", { type: "button", class: "again", hidden: true }, localised("Try again"));
    this.knows = make("span", { class: "knows" });
    this.heard = make("p", { class: "heard", role: "status" });
    this.suggested = make("div", { class: "suggested", role: "group", "aria-label": localised("words") });
    this.results = make("div", { class: "results" });
    this.picture = make("section", { class: "picture", "aria-label": localised("the whole model") });
    this.controls = make("div", { class: "controls" });
    this.root.replaceChildren(
      make("div", { class: "ask" }, this.label, this.input, this.drawOne, this.writeButton, this.tour),
      ...this.root.querySelectorAll(".further"),
      make("div", { class: "lines" }, this.told, this.loading, this.again, this.knows,
        make("small", { class: "busy", "aria-hidden": "true" }, localised("computing …"))),
      this.suggested, this.results, make("div", { class: "panel" }, this.controls, this.heard),
      this.picture);
    if (!this.isSmall) this.acceptDrops();
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

  showControls() {
    if (!this.isSmall && this.model) this.renew(this.controls, controls(this));
  }

  // What is to be told stays until the sentence is another; what the model does not read comes before it.
  say(sentence, { unknown = [], cut = "" } = {}) {
    const words = unknown.map((each) => `“${each}”`).join(", ");
    const told = words && (this.model.src.words ? localised("Not in the vocabulary: {words}.", { words })
      : localised("Of {words} it does not know every character: it reads <unk> instead, and goes on with the rest.",
        { words }));
    const end = cut && localised("The sentence is too long: it was cut after “{end}”.", { end: cut.slice(-40) });
    this.notice = sentence;
    this.told.textContent = [end, told, sentence].filter(Boolean).join(" ");
  }

  // --- from an offer to a model ----------------------------------------------------------

  async begin() {
    this.ask = newEngine();
    const [first] = this.offers;
    const other = this.asked.get("model");
    const offer = this.offer(other) ?? (other ? { name: other, title: other, folder: other } : first);
    const problem = await this.use(offer);
    if (problem === null) return;
    if (problem && await this.use(first) !== "") return;
    if (problem) this.offerAgain(offer);
    const told = [problem, ...follow(this, this.asked)].filter(Boolean);
    if (this.input.value !== this.input.defaultValue) this.suggest(); // for what was typed meanwhile
    this.showControls();
    this.translate(!this.readsSource && !this.asked.has("word"));
    if (told.length) this.say(told.join(" "));
    if (!this.isSmall) keepOffline(this.ask);
  }

  offer(name) {
    return this.offers.find((each) => each.name === name);
  }

  // Open a model and use it. An error is shown and returned; null: another model was chosen.
  async use(offer) {
    const asking = ++this.asking;
    this.isLoading = true;
    this.say(localised("Loading: {model} …", { model: offer.title ?? offer.name }));
    this.again.hidden = true;
    this.loading.hidden = !offer.bytes;
    this.loading.removeAttribute("value"); // nothing has come yet
    let [model, problem] = [null, ""];
    try {
      model = await this.open(offer, (far) => {
        if (offer.bytes && asking === this.asking) this.loading.value = far / offer.bytes;
      });
    } catch (error) {
      problem = error.message;
    }
    if (asking !== this.asking) return null;
    this.isLoading = false;
    this.loading.hidden = true;
    if (model) this.take(model, offer);
    this.showControls(); // after a failure, too: the list names the model that is in use
    if (problem && this.model && this.input.value !== this.read) this.sentenceChanged();
    this.say(problem);
    if (problem && !offer.files) this.offerAgain(offer);
    return problem;
  }

  // A button with which to try again to load a model.
  offerAgain(offer) {
    this.again.ariaLabel = localised("Try again: {model}", { model: offer.title ?? offer.name });
    this.again.onclick = () => this.exchange(offer);
    this.again.hidden = false;
  }

  // What the engine says of a model, with the languages of its words, and for the toy corpus their
  // glosses. For another model of the reader's, the languages are unknown.
  async open({ name, folder, digests, files, languages }, told) {
    const address = folder && new URL(folder, location).href;
    const model = await this.ask("open", { name, folder: address, digests, files: await files }, told);
    const known = languages ?? (Object.keys(model.gloss).length ? ["en", "ko"] : []);
    const [src, tgt] = known;
    const isWriter = model.config.has_source === false;
    const writing = { src: { lang: src, gloss: {} }, tgt: { lang: isWriter ? src : tgt, gloss: model.gloss } };
    const unchanged = { ...model.unchanged, ...(isWriter && DRAWN) };
    return { ...model, languages: known, writing, unchanged };
  }

  take(model, offer) {
    const pair = String(this.languages ?? this.offers[0].languages);
    const [language] = model.languages;
    const hasWritten = this.model !== undefined && !this.readsSource;
    this.turn += 1; // what the model before it is computing is not wanted any more
    this.results.inert = this.picture.inert = this.tour.hidden = true; // they are of that model
    this.stages = this.askingStages = null;
    this.isWriting = false;
    this.model = model;
    if (hasWritten === this.readsSource) { // it draws, and a translator does not
      this.width = 1;
      this.seed = this.readsSource ? null : newSeed();
    }
    this.name = offer.name;
    if (!offer.files && !this.offer(this.name)) this.offers.push(offer); // a folder on this server
    this.mend();
    this.layer = this.firstLayer;
    const { tokens, words } = model.src;
    this.knows.textContent = !words
      ? HAS_READ[model.languages.join("-")] ?? localised("It knows {count} subwords.", { count: tokens.length.toLocaleString("en") })
      : language === "en" ? localised("It knows {count} words of a toy grammar.", { count: words.length })
        : localised("It knows {count} words.", { count: words.length });
    this.head = -1;
    [this.drawnLayer, this.drawnHead] = [0, 0];
    this.instead = [];
    const others = this.companions().map((offer) => offer.name);
    for (const beside of this.beside.keys()) {
      if (!others.includes(beside)) this.beside.delete(beside);
    }
    this.label.textContent = !this.readsSource ? localised("A text to continue")
      : ASKED[language] ?? localised("A sentence");
    if (language) this.input.lang = language;
    else this.input.removeAttribute("lang");
    this.drawOne.hidden = !model.sentences.length;
    this.showWriteButton();
    // A sentence in another language, or of another kind, is of no use; keep what was typed meanwhile.
    if (pair && language && String(model.languages) !== pair && this.input.value === this.read) {
      this.input.value = this.example;
    }
  }

  // Use another model on the same sentence.
  async exchange(offer) {
    if (await this.use(offer) === "") this.sentenceChanged();
  }

  useFiles(files) {
    return this.exchange({ name: YOURS, files });
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

  // The models to compare this one with: small ones between the same languages.
  companions() {
    const pair = String(this.languages);
    return this.offers.filter(({ name, folder, languages }) =>
      name !== this.name && !folder && String(languages) === pair);
  }

  // Let another model also translate, once it is loaded.
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
    if (problem) this.say(problem);
  }

  // --- what the model is ------------------------------------------------------------------

  get languages() {
    return this.model?.languages;
  }

  get writing() {
    return this.model.writing;
  }

  get readsSource() {
    return this.model.config.has_source !== false;
  }

  get firstLayer() {
    return this.model.aligned.at(-1) ?? null;
  }

  get allHeads() {
    return this.model.attentions.flatMap(({ name, heads }) =>
      Array.from({ length: heads }, (_, head) => `${name}.${head}`));
  }

  // Whether every token is shown of its own: one that is a word always is.
  get arePieces() {
    return this.pieces || this.model.tgt.words !== null;
  }

  // The heads that can be ablated.
  get heads() {
    return this.model.canChange ? this.allHeads : [];
  }

  // The sentence that the model begins with.
  get example() {
    const isFirst = String(this.languages) === String(this.offers[0].languages);
    return (isFirst ? null : this.examples[0]?.[0]) ?? this.root.dataset.sentence;
  }

  get examples() {
    return EXAMPLES[this.languages.join("-")] ?? [];
  }

  // --- what the reader does ---------------------------------------------------------------

  // What is typed while a model is loaded waits for it.
  sentenceChanged() {
    if (this.isLoading || !this.model) return;
    this.change.weights = {};
    this.instead = [];
    this.position = 0;
    this.say("");
    this.suggested.replaceChildren();
    this.translate();
  }

  draw() {
    const { sentences } = this.model;
    const { src } = sentences[Math.floor(Math.random() * sentences.length)];
    this.input.value = src.join(" ");
    this.sentenceChanged();
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

  // A sentence, and a change that breaks it.
  tryOut(sentence, name) {
    this.mend();
    if (name in this.change) this.change[name] = false;
    else if (name) this.change.headsOff.add(name);
    this.input.value = sentence;
    this.showControls();
    this.sentenceChanged();
  }

  // Undo all changes of the model.
  mend() {
    this.change = structuredClone(this.model.unchanged);
  }

  // Change the model or the search, and compute.
  set(change) {
    change();
    this.instead = [];
    this.showControls();
    this.translate();
  }

  // A number of the search, or how it is computed: what is being written takes it up with its next token.
  goOn() {
    if (!this.isWriting) this.translate();
  }

  stopWriting() {
    this.isWriting = false;
    this.showWriteButton();
  }

  showWriteButton() {
    this.writeButton.hidden = this.readsSource;
    this.writeButton.textContent = this.isWriting ? localised("Stop") : localised("Write again");
  }

  // Choose what is shown of the results.
  choose(shown) {
    Object.assign(this, shown);
    this.show();
  }

  // A beam of that width; 0: a new sample.
  searchBy(width) {
    const { temperature, topK, topP } = this.model.unchanged;
    this.set(() => {
      this.width = width || 1;
      this.seed = width ? null : newSeed();
      if (width === 1) this.change.temperature = temperature; // with which nothing would change
      if (width) Object.assign(this.change, { topK, topP });
    });
  }

  // Let one query of a head attend to one position alone, or again to all.
  attendOnlyTo(id, t, s) {
    const rows = { ...this.change.weights[id] };
    if (rows[t]?.[s] === 1) delete rows[t];
    else rows[t] = [...Array(s).fill(0), 1];
    if (Object.keys(rows).length) this.change.weights[id] = rows;
    else delete this.change.weights[id];
  }

  // Another token at the chosen position: the model continues from there.
  sayInstead(id) {
    this.instead = [...this.found.now.best.ids.slice(0, this.position), id];
    this.translate(false);
  }

  // --- from the sentence to results -------------------------------------------------------

  // Search, or write. `follows`: a position that the reader has not chosen is that of the newest token.
  async translate(follows = !this.readsSource) {
    const turn = ++this.turn;
    const isWanted = () => turn === this.turn;
    const text = this.read = this.input.value;
    this.follows = follows;
    this.results.setAttribute("aria-busy", "true");
    try {
      await (this.readsSource ? this.search(text, isWanted) : write(this, text, isWanted));
    } catch (error) {
      if (!isWanted()) return;
      this.stopWriting();
      this.clear();
      this.say(error.message);
    } finally {
      if (isWanted()) this.results.removeAttribute("aria-busy");
    }
  }

  async search(text, isWanted) {
    const others = [...this.beside.keys()].filter((name) => this.beside.get(name));
    const found = await this.ask("translate", { model: this.name, text, change: this.change,
      beam: this.width, seed: this.seed, instead: this.instead, others });
    if (!isWanted() || !found) return;
    this.found = found;
    this.say(this.notice, found);
    if (found.now) {
      this.step = null;
      this.show();
    } else this.clear();
    this.hear();
  }

  // What is found is heard as well.
  hear() {
    const { found: { now }, model } = this;
    this.heard.replaceChildren(...(now ? [`${localised("It predicts:")} `,
      make("span", { lang: model.writing.tgt.lang }, now.best.text),
      ...readBack(model, now.best).map((sentence) => ` · ${sentence}`)] : []));
  }

  show() {
    this.position = Math.min(this.position, this.found.now.next.length - 1);
    this.results.inert = false;
    this.renew(this.results, results(this));
    this.remember();
    this.drawn = this.showPicture();
  }

  clear() {
    this.results.replaceChildren();
    this.picture.replaceChildren();
  }

  // The picture of the model comes after the results. Until its numbers are there, the one before stays.
  async showPicture() {
    if (this.isSmall || !this.found.now.attention) return; // or it is being written
    const { found, model, change, drawnLayer: layer, drawnHead: head, position } = this;
    if (!model.canChange) {
      this.picture.replaceChildren();
      return;
    }
    const asking = this.askingStages = {};
    const { source, best } = found.now;
    const [now, before] = await this.ask("stages", { model: this.name, read: source.ids,
      said: best.ids.slice(0, found.now.next.length - 1), change, unchanged: model.unchanged, layer, head,
      position });
    if (asking !== this.askingStages || found !== this.found) return;
    this.stages = { now, before, source: source.tokens, said: best.tokens, position, layer, head,
      change: structuredClone(change) };
    this.drawPicture();
    this.tour.hidden = !this.readsSource || this.root.querySelector(".tour") !== null;
  }

  drawPicture() {
    if (!this.stages) return; // those of another model are on their way
    this.picture.inert = false;
    this.renew(this.picture, flow(this));
  }

  // Draw another layer or head.
  chooseStage(drawn) {
    Object.assign(this, drawn);
    this.remember();
    this.drawn = this.showPicture();
  }

  // Open a box of the picture; its stage is shown from its beginning.
  openBox(id) {
    this.box = id;
    this.remember();
    this.drawPicture();
    this.picture.querySelector(".stage")?.scrollIntoView({ block: "nearest" });
  }

  // Let the address be a link to what is shown. Not for every letter: a browser refuses too many.
  remember() {
    if (this.isSmall) return;
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => history.replaceState(history.state, "", addressOf(this)), 300);
  }
}

const LAYERS = {
  encoder: { self_attention: (number) => localised("encoder {number}, self", { number }) },
  decoder: {
    self_attention: (number) => localised("decoder {number}, self", { number }),
    cross_attention: (number) => localised("decoder {number}, cross", { number }),
  },
};

// The readable name of "decoder.1.cross_attention".
function layerName(name) {
  const [side, number, part] = name.split(".");
  if (part === undefined) return localised("cross-attention");
  return LAYERS[side][part](Number(number) + 1);
}

// The dropped files, including those in folders.
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const files = [];
  for (const entry of entries) {
    const inside = entry.isDirectory
      ? await new Promise((resolve, reject) => entry.createReader().readEntries(resolve, reject))
      : [entry];
    for (const each of inside.filter((one) => one.isFile)) {
      files.push(await new Promise((resolve, reject) => each.file(resolve, reject)));
    }
  }
  return files;
}

document.querySelectorAll(".laboratory").forEach((root) => new Laboratory(root));
