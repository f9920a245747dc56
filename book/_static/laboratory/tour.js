"use strict";

// A tour of one minute: eight steps through the picture, told with the reader's own sentence. The last
// but one breaks the model, the last one mends it.

// A step sets something up, if it has to, and says one or two sentences about one part of the page.
const TOUR = [
  {
    part: () => ".ask",
    says: ({ found: { now }, model }) => localised("Your sentence is cut into {tokens} tokens, the last " +
      "of which, <eos>, ends it. The vocabulary has {known} of them; the model has never seen any other.",
    { tokens: now.source.tokens.length, known: model.src.tokens.length.toLocaleString("en") }),
  },
  {
    box: (side) => `${side}.embedding`,
    says: ({ stages: { now } }, side) => {
      const { output } = now[side].embedding;
      return localised("Each token becomes {count} numbers that were learned, and the numbers of its " +
        "position are added. From here on the model sees nothing but these rows.",
      { count: output.columns });
    },
  },
  {
    box: (side) => `${side}.self_attention`,
    says: (lab, side) => {
      const { weights, head } = lab.stages.now[side].self_attention;
      const { row, column, weight } = strongest(weights, (i, j) => i !== j);
      const [from, to] = [rowsOf(lab, side)[row], keysOf(lab, side, "self_attention")[column]];
      return localised("Every token looks at the others: its query is compared with their keys. In head " +
        "{head}, “{from}” takes {share} of what it gets from “{to}”.",
      { head: head + 1, from: from.token, share: percent(weight), to: to.token });
    },
  },
  {
    box: (side) => `${side}.feed_forward`,
    says: ({ stages: { now } }, side) => {
      const { active, output } = now[side].feed_forward;
      return localised("Then each token is computed on its own: {few} numbers, {many}, and {few} again. A " +
        "layer only adds to what came in: that is the line around each box.",
      { few: output.columns, many: active.columns });
    },
  },
  {
    part: () => ".weights",
    says: ({ found: { now }, layer }) => {
      const { row, column, weight } = strongest(now.attention[layer].mean, () => true);
      const read = now.source.tokens[column] ?? localised("the target");
      return localised("The decoder predicts the translation token by token. To predict “{predicted}” it " +
        "gives {share} of its attention to “{read}”.", { predicted: now.best.tokens[row],
        share: percent(weight), read });
    },
  },
  {
    box: () => "decoder.next",
    says: ({ stages: { now }, model }) => {
      const { data } = now.decoder.next.output;
      const best = data.indexOf(Math.max(...data));
      return localised("At the end every one of {count} tokens gets a probability. Here “{token}” has " +
        "{share}; it is appended, and all begins again.",
      { count: data.length, token: model.tgt.tokens[best], share: percent(data[best]) });
    },
  },
  {
    part: () => ".translations",
    breaks: (change) => { change.positions = false; },
    says: ({ found: { now, before }, model }) => {
      const { text } = now.best;
      const said = model.grammar ? inEnglish(model.grammar, now.best) : text;
      const isSame = !before || before.best.text === text;
      const outcome = isSame
        ? localised("This sentence is still translated alike; try one in which somebody sees somebody.")
        : said ? localised("In English, the model now predicts “{said}”.", { said })
          : localised("What the model predicts now is no sentence of the grammar.");
      return `${localised("Now break it: without positions the sentence is a bag of words.")} ${outcome}`;
    },
  },
  {
    part: () => ".examples",
    says: () => localised("All is mended. Try another sentence here and break it with one click; or open " +
      "a box of the picture, and ablate a head where it stands."),
  },
];

// The largest weight among the allowed ones.
function strongest({ rows, columns: width, data }, isAllowed) {
  let best = { weight: -1 };
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < width; column++) {
      const weight = data[row * width + column];
      if (isAllowed(row, column) && weight > best.weight) best = { row, column, weight };
    }
  }
  return best;
}

// The button that starts the tour of a laboratory.
function tourButton(lab) {
  const start = make("button", { type: "button", class: "tour-start", hidden: true,
    onclick: () => tour(lab, start) }, localised("Tour, 1 minute"));
  return start;
}

function tour(lab, start) {
  const side = lab.stages.now.encoder ? "encoder" : "decoder";
  const change = structuredClone(lab.change); // that was there before
  let at = 0;
  let isBroken = false;
  const told = make("p", { tabindex: -1 });
  const count = make("span", { class: "note" });
  const [back, next, end] = [[localised("Back"), () => go(at - 1)],
    [localised("Next"), () => go(at + 1)], [localised("End"), () => stop()]]
    .map(([name, onclick]) => make("button", { type: "button", onclick }, name));
  const dialog = make("div", { class: "tour", role: "dialog", "aria-label": localised("Tour") }, told,
    make("div", { class: "shown" }, count, back, next, end));
  const onKey = (event) => {
    if (event.key === "Escape") stop();
    if (!dialog.contains(event.target)) return;
    if (event.key === "ArrowRight" && at < TOUR.length - 1) go(at + 1);
    if (event.key === "ArrowLeft" && at > 0) go(at - 1);
  };

  const calm = () => document.querySelectorAll(".spoken").forEach((each) =>
    each.classList.remove("spoken"));

  const setBroken = async (breaks) => {
    if (Boolean(breaks) === isBroken) return;
    isBroken = Boolean(breaks);
    lab.change = structuredClone(change);
    breaks?.(lab.change);
    lab.showControls();
    await lab.translate();
  };

  const go = async (to) => {
    at = to;
    const { part, box, breaks, says } = TOUR[at];
    await setBroken(breaks);
    await lab.drawn;
    if (at !== to || !dialog.isConnected) return; // the reader was faster
    if (box) lab.openBox(box(side));
    calm();
    const spoken = box ? lab.picture.querySelector(`[data-key="box ${box(side)}"]`)
      : lab.root.querySelector(part());
    spoken.classList.add("spoken");
    spoken.scrollIntoView({ block: "center" });
    told.textContent = says(lab, side);
    count.textContent = localised("{number} of {total}", { number: at + 1, total: TOUR.length });
    [back.disabled, next.disabled] = [at === 0, at === TOUR.length - 1];
    told.focus({ preventScroll: true });
  };

  const stop = () => {
    calm();
    dialog.remove();
    document.removeEventListener("keydown", onKey);
    start.hidden = false;
    start.focus();
    return setBroken(null);
  };

  start.hidden = true;
  lab.root.append(dialog);
  document.addEventListener("keydown", onKey);
  go(0);
}
