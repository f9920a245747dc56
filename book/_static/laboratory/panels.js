"use strict";

// The panels of the laboratory: every function makes one element.

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// A token in its language, with its English gloss below, if it is known.
function word(token, { lang, gloss }) {
  const parts = [make("span", { lang }, token)];
  if (gloss[token]) parts.push(make("small", {}, gloss[token]));
  return make("span", { class: token.includes("<unk>") ? "word unknown" : "word" }, ...parts);
}

function percent(probability) {
  const share = 100 * probability;
  if (share > 0 && share < 0.01) return "< 0.01 %";
  return `${share >= 10 || share === 0 ? share.toFixed(0) : share.toPrecision(2)} %`;
}

// Two decimals, and no sign before a zero.
function twoDecimals(number) {
  return number.toFixed(2).replace(/^-(?=0\.00$)/, "");
}

// A row of buttons of which one is pressed; `key` names it in the page, `label` for the reader.
function choice(key, label, options, chosen, pick) {
  const buttons = options.map(([value, text, extra]) => make("button", {
    type: "button", "aria-pressed": String(value === chosen), "data-key": `${key} ${value}`,
    onclick: () => pick(value), ...extra,
  }, text));
  return roving(make("div", { class: "choice", role: "group", "aria-label": label }, ...buttons));
}

// Let many buttons be one tab stop: the arrow keys move among them as they stand, Home and End within
// a row, or in a single column to its ends.
function roving(group, selector = "button") {
  const items = () => [...group.querySelectorAll(selector)];
  const enter = (item) => items().forEach((each) => { each.tabIndex = each === item ? 0 : -1; });
  const isChosen = (each) => each.matches("[aria-pressed='true'], [aria-expanded='true']");
  enter(items().find(isChosen) ?? items()[0]);
  group.addEventListener("focusin", ({ target }) => { if (target.matches(selector)) enter(target); });
  group.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(event.target);
    if (at < 0) return;
    const boxes = all.map((each) => each.getBoundingClientRect());
    const [x, y] = [(i) => boxes[i].x + boxes[i].width / 2, (i) => boxes[i].y + boxes[i].height / 2];
    const beyond = (sign) => [...all.keys()].filter((i) => sign * (y(i) - y(at)) > boxes[at].height / 2)
      .sort((a, b) => Math.abs(y(a) - y(at)) - Math.abs(y(b) - y(at)) ||
        Math.abs(x(a) - x(at)) - Math.abs(x(b) - x(at)));
    const nearest = (sign) => {
      const [first] = beyond(sign);
      return beyond(sign).filter((i) => Math.abs(y(i) - y(first)) < boxes[first].height / 2)
        .sort((a, b) => Math.abs(x(a) - x(at)) - Math.abs(x(b) - x(at)))[0];
    };
    const row = [...all.keys()].filter((i) => Math.abs(y(i) - y(at)) < boxes[at].height / 2);
    const line = row.length > 1 ? row : [...all.keys()];
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: nearest(1), ArrowUp: nearest(-1),
      Home: line[0], End: line.at(-1) };
    if (!(event.key in to)) return;
    event.preventDefault();
    all[to[event.key]]?.focus();
  });
  return group;
}

// The most probable next tokens as bars, with the unchanged model's beside them.
function bars(entries, writing, caption, pick) {
  const list = entries.map(({ id, token, now, before, chosen }) => make("tr", {},
    make("th", { scope: "row" }, make("button", {
      type: "button", "aria-pressed": String(chosen), "data-key": `next ${token}`,
      onclick: () => pick(id),
    }, word(token, writing))),
    make("td", { class: "bar", style: `--p: ${now}` }, percent(now)),
    ...(before === undefined ? [] : [make("td", { class: "bar pale", style: `--p: ${before}` },
      percent(before))]),
  ));
  const columns = [localised("token"), localised("probability"), localised("unchanged")]
    .slice(0, list[0]?.cells.length ?? 2);
  return roving(make("table", { class: "bars" }, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...list)));
}

// Attention weights as a table: a row for every token that attends. Gold links are outlined.
// `pick(row, column)` is called when a cell is chosen (with `noFuture`, one that is not masked),
// `shown` is the selected row. The first `past` columns are of tokens that were read before the rows.
function weightsTable(weights, rows, columns, options) {
  const { writing, gold = new Set(), pick, noFuture, past = 0, shown, byHand, caption } = options;
  const head = make("tr", {}, make("td"),
    ...columns.map((token, s) => make("th", { scope: "col" }, word(token, writing.columns(s)))));
  const body = rows.map((token, t) => {
    const cells = columns.map((column, s) => {
      const weight = weights.data[t * weights.columns + s];
      const isGold = gold.has(`${s} ${t}`);
      const title = `${token} → ${column}: ${weight.toFixed(2)}${
        isGold ? ` (${localised("gold")})` : ""}`;
      const number = weight.toFixed(2).replace(/^0/, "");
      const inside = pick && !(noFuture && s > past + t)
        ? make("button", { type: "button", "aria-label": title, "data-key": `cell ${t} ${s}`,
          "aria-pressed": String(byHand[past + t]?.[s] === 1), onclick: () => pick(t, s) }, number)
        : number;
      return make("td", { style: `--w: ${weight}`, title, class: isGold ? "gold" : null }, inside);
    });
    const mark = byHand[past + t] ? " ✎" : "";
    return make("tr", { class: t === shown ? "shown" : null },
      make("th", { scope: "row" }, word(token, writing.rows), mark), ...cells);
  });
  const legend = gold.size
    ? [". ", make("span", { class: "gold" }, localised("Outlined:")), " ",
      localised("words that belong together")] : [];
  // A table that scrolls is a tab stop, unless its cells are one.
  return roving(make("div", {
    class: "scroll", role: "group", "aria-label": caption, "data-key": "weights",
    ...(!pick && { tabindex: 0 }),
  },
  make("table", { class: "weights" }, make("caption", {},
    make("span", {}, caption, ...legend)), make("thead", {}, head), make("tbody", {}, ...body))));
}

// Paint numbers as fields, `height` high: the largest has the full colour. Weights are blue; of other
// numbers, the positive ones are purple and the negative ones orange, as in the figures.
function paint(canvas, data, width, height, isWeights = false) {
  const context = canvas.getContext("2d");
  const largest = isWeights ? 1 : data.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9);
  data.forEach((entry, at) => {
    const strength = Math.abs(entry) / largest;
    const colour = isWeights ? "0 114 178" : entry < 0 ? "213 94 0" : "124 95 190";
    context.fillStyle = `rgb(${colour} / ${strength})`;
    context.fillRect(at % width, Math.floor(at / width) * height, 1, Math.max(1, height - 1));
  });
}

// Vectors as rows of small coloured fields.
// The style sheet gives a row the height of its token's name.
function strips(rows, tokens, lang, label) {
  const { columns: width, data } = rows;
  const height = 9;
  const canvas = make("canvas", { width, height: rows.rows * height, role: "img", "aria-label":
    localised("{label}: {rows} rows of {width} numbers, one row for each token",
      { label, rows: tokens.length, width }) });
  paint(canvas, data, width, height);
  const names = make("ol", { lang }, ...tokens.map((token) => make("li", {}, token)));
  return make("figure", { class: "strips" }, make("figcaption", {}, label),
    make("div", { style: `--rows: ${rows.rows}` }, names, canvas));
}

// The tree of all hypotheses that a search kept. A leaf that was dropped is pale. `names` are those
// of the ids.
function tree(steps, names, writing, best) {
  const END = "<eos>";
  const root = { children: new Map() };
  const grow = (tokens, ended, logProb) => {
    let node = root;
    for (const token of ended ? [...tokens, END] : tokens) {
      if (!node.children.has(token)) node.children.set(token, { children: new Map(), token });
      node = node.children.get(token);
    }
    node.logProb = logProb;
  };
  for (const { live, finished } of steps) {
    for (const { tokens, ended, logProb } of [...live, ...finished]) grow(tokens, ended, logProb);
  }
  const onBest = new Set();
  for (let node = root, path = [...best.ids, END]; node && path.length;) {
    node = node.children.get(path.shift());
    if (node) onBest.add(node);
  }
  const draw = (node) => {
    const label = make("span", { class: onBest.has(node) ? "best" : null },
      word(names[node.token] ?? END, writing));
    if (!node.children.size && node.logProb !== undefined) {
      label.append(make("small", { class: "number" }, ` ${twoDecimals(node.logProb)}`));
    }
    // A node with one child stays on its line.
    const line = make("li", {}, label);
    let last = node;
    while (last.children.size === 1) {
      [last] = last.children.values();
      const next = make("span", { class: onBest.has(last) ? "best" : null },
        word(names[last.token] ?? END, writing));
      line.append(" ", next);
      if (!last.children.size && last.logProb !== undefined) {
        line.append(make("small", { class: "number" }, ` ${twoDecimals(last.logProb)}`));
      }
    }
    if (last.children.size) line.append(make("ul", {}, ...[...last.children.values()].map(draw)));
    return line;
  };
  const list = make("ul", { class: "tree" }, ...[...root.children.values()].map(draw));
  return make("div", {
    class: "scroll", tabindex: 0, role: "group", "aria-label": localised("tree"), "data-key": "tree",
  }, list);
}
