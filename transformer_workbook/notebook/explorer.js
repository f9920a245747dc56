// Makes the static tables of a figure interactive. Weights are in hundredths, as they are printed.
function exploreAttention(id, heads) {
  const make = (parent, tag, attributes, text = "") => {
    const element = document.createElement(tag);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    element.textContent = text;
    return parent.appendChild(element);
  };
  // A site in another language has translations, which it loads after this script.
  const localised = (text) => (typeof Documentation === "object" ? Documentation.gettext(text) : text);
  const printed = (weight) => (weight / 100).toFixed(2);

  const explore = (root) => {
    root.classList.add("live");
    // JupyterLab would take arrow keys and letters for its own commands.
    root.dataset.lmSuppressShortcuts = "true";
    const grid = root.querySelector(".grid");
    const tables = [...grid.querySelectorAll("table")];
    const rows = tables.map((table) => [...table.tBodies[0].rows]);
    const cells = rows.map((body) => body.map((row) => [...row.cells].slice(1)));
    const means = cells.map((body) =>
      body.map((row) => row.map((cell) => Math.round(100 * cell.textContent))),
    );
    const headers = {
      row: rows.map((body) => body.map((row) => row.cells[0])),
      column: tables.map((table) => [...table.tHead.rows[0].cells].slice(1)),
    };
    let layer = 0;
    // -1 is the mean of the heads.
    let head = -1;
    let chosen = { side: "row", index: 0 };
    let hovered = null;

    const panel = make(root, "div", {});
    grid.before(panel);

    const choice = (label, names, pick) => {
      if (names.length < 2) return;
      const group = make(panel, "div", { class: "choice", role: "group", "aria-label": label });
      const buttons = names.map((name, index) => {
        const button = make(group, "button", { type: "button", "aria-pressed": index === 0 }, name);
        button.onclick = () => {
          buttons.forEach((other) => other.setAttribute("aria-pressed", other === button));
          pick(index);
          draw();
        };
        return button;
      });
    };
    const count = heads.length ? heads[0].length : 0;
    const numbered = Array.from({ length: count }, (_, index) => `${localised("head")} ${index + 1}`);
    choice(localised("layers"), tables.map((table) => table.dataset.layer), (index) => (layer = index));
    choice(localised("heads"), [localised("mean of the heads"), ...numbered], (index) => (head = index - 1));

    // From everything on the page that stands for a word to that word.
    const words = new Map();
    const chips = {};
    for (const side of ["row", "column"]) {
      const name = root.dataset[side];
      const line = make(panel, "div", { class: "sentence" });
      make(line, "span", {}, name);
      const list = make(line, "div", { class: "words", role: "toolbar", "aria-label": name });
      chips[side] = headers[side][0].map((header, index) => {
        const chip = make(list, "button", { type: "button", tabindex: index ? -1 : 0 });
        make(chip, "span", {}, header.textContent);
        make(chip, "small", {});
        words.set(chip, { side, index });
        headers[side].forEach((layers) => words.set(layers[index], { side, index }));
        return chip;
      });
    }
    cells.flat().forEach((row, index) =>
      row.forEach((cell) => words.set(cell, { side: "row", index: index % chips.row.length })),
    );
    const summary = make(panel, "p", { class: "summary", role: "status" });
    if (grid.querySelector("b")) make(root, "p", { class: "note" }, localised("gold alignment"));

    const draw = () => {
      const { side, index } = hovered ?? chosen;
      const other = side === "row" ? "column" : "row";
      root.dataset.shown = side;
      tables.forEach((table, number) => (table.hidden = number !== layer));
      const found = [];
      cells[layer].forEach((row, r) =>
        row.forEach((cell, c) => {
          const weight = head < 0 ? means[layer][r][c] : heads[layer][head][r * row.length + c];
          const on = index === (side === "row" ? r : c);
          const gold = cell.querySelector("b");
          (gold ?? cell).textContent = printed(weight);
          cell.style.setProperty("--w", weight);
          cell.classList.toggle("on", on);
          if (on) found.push({ weight, gold, word: headers[other][layer][other === "row" ? r : c] });
        }),
      );
      for (const [line, position] of [[side, index], [other, -1]])
        chips[line].forEach((chip, number) => {
          const weight = line === other ? found[number].weight : 0;
          chip.style.setProperty("--w", weight);
          chip.lastChild.textContent = line === other ? printed(weight) : "";
          chip.setAttribute("aria-pressed", number === position);
          headers[line][layer][number].classList.toggle("on", number === position);
        });
      const most = found.filter(({ weight }) => weight).sort((a, b) => b.weight - a.weight);
      const listed = most.slice(0, 4).map(({ word, weight, gold }) =>
        `${word.textContent}\u00a0${printed(weight)}${gold ? `\u00a0(${localised("gold")})` : ""}`,
      );
      if (most.length > listed.length) listed.push("…");
      const sentence =
        side === "row" ? localised("{word} attends to: {words}") : localised("{word} is attended to by: {words}");
      const word = headers[side][layer][index].textContent;
      summary.textContent = sentence
        .replace("{word}", () => word)
        .replace("{words}", () => listed.join(", ") || localised("nothing"));
    };

    const wordAt = (event) => words.get(event.target.closest("button, th, td"));
    const choose = (event) => {
      const word = wordAt(event);
      if (!word) return;
      chosen = word;
      hovered = null;
      chips[word.side].forEach((chip, index) => (chip.tabIndex = index === word.index ? 0 : -1));
      draw();
    };
    root.addEventListener("focusin", choose);
    root.addEventListener("click", choose);
    root.addEventListener("mouseover", (event) => {
      hovered = wordAt(event) ?? hovered;
      draw();
    });
    root.addEventListener("mouseleave", () => {
      hovered = null;
      draw();
    });
    panel.addEventListener("keydown", (event) => {
      const word = wordAt(event);
      if (!word) return;
      const line = chips[word.side];
      const across = chips[word.side === "row" ? "column" : "row"];
      const next = {
        ArrowLeft: line[word.index - 1],
        ArrowRight: line[word.index + 1],
        Home: line[0],
        End: line.at(-1),
        ArrowUp: word.side === "column" && across.find((chip) => chip.tabIndex === 0),
        ArrowDown: word.side === "row" && across.find((chip) => chip.tabIndex === 0),
      }[event.key];
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
    draw();
  };
  const start = () => document.querySelectorAll(`[id="${id}"]:not(.live)`).forEach(explore);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
