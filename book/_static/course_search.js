"use strict";

// The search: ranks the places of an index (course_search.py) and shows them below every search field.
{
  const here = document.currentScript.src;

  // Hangul is compared as it is typed, letter by letter: 어테 begins 어텐션, and 어탠션 has one wrong letter.
  const plain = (text) => text.normalize("NFKD").toLowerCase().replace(/[\u0300-\u036f]/g, "");
  const wordsOf = (text) => plain(text).match(/[\p{L}\p{N}]+/gu) ?? [];
  const joined = (text) => wordsOf(text).join("");
  const isEnough = (whole) => whole.length > 1; // 층 has three letters
  let ending; // of the words of the book and of a query: the index tells it
  const stem = (word) => word.replace(ending, "");
  const isInitials = (word) => /^[\u1100-\u1112]+$/.test(word);

  // How well a word answers what was asked: it is the same, but for an ending, or begins so. Consonants
  // alone, as ㅌㄹㅅㅍㅁ, ask for the word whose syllables begin with them.
  function fit(word, asked) {
    if (word[0] !== asked[0]) return 0;
    if (isInitials(asked)) word = word.replace(/[^\u1100-\u1112]/g, "");
    if (word === asked) return 1;
    if ([word, stem(word)].includes(stem(asked))) return 0.9;
    return asked.length > 2 && word.startsWith(asked) ? 0.6 : 0;
  }

  // Whether one word becomes the other by so many steps: a letter goes, comes, is another one, or has
  // changed places with the next.
  function isWithin(steps, a, b) {
    let same = 0;
    while (same < a.length && a[same] === b[same]) same++;
    const [c, d] = [a.slice(same), b.slice(same)];
    if (!steps || c === d) return c === d;
    const ways = [[1, 0], [0, 1], [1, 1]];
    if (d.length > 1 && c.startsWith(d[1] + d[0])) ways.push([2, 2]);
    return ways.some(([m, n]) => isWithin(steps - 1, c.slice(m), d.slice(n)));
  }

  // Whether a word was meant by what was asked: one letter of four may be wrong.
  const isNear = (most) => (word, asked) =>
    isWithin(Math.min(most, Math.floor(Math.min(word.length, asked.length) / 4)), word, asked);

  // Where the index has each word and what it counts there; the names of pages, alone and as terms.
  function prepare({ endings, pages, terms }) {
    ending = new RegExp(plain(endings), "u");
    const [postings, names] = [new Map(), []];
    const add = (text, page, place, weight, says) => {
      const words = wordsOf(text);
      const pairs = words.slice(1).map((word, n) => words[n] + word); // 미세 조정 is asked for as 미세조정, too
      for (const word of new Set([...words, ...pairs])) {
        if (!postings.has(word)) postings.set(word, []);
        postings.get(word).push({ page, place, weight, says });
      }
    };
    const call = (text, page, weight, says) => {
      for (const name of text.split(/[(),·:]/)) names.push({ name: joined(name), page, weight, says });
    };
    pages.forEach(([, , , places], page) => {
      call(places[0][1].split(":")[0], page, 36);
      places.forEach(([, heading, sentence, words = ""], place) => {
        add(heading, page, place, place ? 3 : 6);
        add(sentence, page, place, 2);
        for (const word of words.split(" ")) add(word, page, place, 1);
      });
    });
    for (const [page, term, meaning] of terms) {
      const says = meaning && `${term}: ${meaning}`;
      call(term, page, 30, says);
      add(term, page, 0, 4, says);
      add(meaning, page, 0, 1, says);
    }
    const said = [...postings.keys()];
    const titled = said.filter((word) => postings.get(word).some(({ weight }) => weight > 2));
    return { pages, postings, names, said, titled };
  }

  // The anchor of a section, as docutils makes it from the heading.
  const slug = (heading) =>
    plain(heading).replace(/[^\0-\x7f]/g, "").replace(/[^a-z0-9]+/g, "-").replace(/^[-\d]+|-+$/g, "");

  // The pages that answer a query, the best first. A near miss counts only where nothing fits: first of
  // a word in a title or of a term.
  function find({ pages, postings, names, said, titled }, query) {
    const found = pages.map(([, , , places]) => ({ score: 0, named: 0, places: places.map(() => 0) }));
    const whole = joined(query);
    if (!isEnough(whole)) return [];
    for (const asked of new Set([...wordsOf(query), whole])) {
      let words;
      for (const [among, test] of [[said, fit], [titled, isNear(1)], [titled, isNear(2)], [said, isNear(1)]])
        if ((words = among.filter((word) => test(word, asked))).length) break;
      const best = new Map();
      for (const word of words)
        for (const { page, place, weight, says } of postings.get(word)) {
          const value = (fit(word, asked) || 0.5) * weight;
          found[page].places[place] += value;
          if (value < (best.get(page) ?? 0)) continue;
          best.set(page, value);
          found[page].says ||= says;
        }
      for (const [page, value] of best) found[page].score += value * Math.log(1 + pages.length / best.size);
    }
    for (const { name, page, weight, says } of names) {
      const named = (fit(name, whole) || (isNear(2)(name, whole) ? 0.5 : 0)) * weight;
      if (named > found[page].named) Object.assign(found[page], { named, says });
    }
    return pages
      .map(([address, part, weight, places], page) => {
        const { score, named, says, places: values } = found[page];
        const place = named && !says ? 0 : values.indexOf(Math.max(...values));
        const [anchor, heading, sentence] = places[place];
        return {
          score: (score + named) * weight,
          address: address + (place ? `#${anchor || slug(heading)}` : ""),
          title: places[0][1],
          where: [part, place && heading].filter(Boolean).join(" · "),
          text: says || sentence || places[0][2],
        };
      })
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, 20);
  }

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  let index;
  const load = () =>
    (index ??= new Promise((done) => {
      const src = new URL("search_index.js", here);
      document.head.append(element("script", { src, onload: () => done(prepare(window.courseSearch)) }));
    }));

  // A text with the words that were asked for marked; where it has none of them, those that are near.
  function marked(text, query) {
    const pieces = text.split(/([\p{L}\p{N}]+)/u);
    const asked = wordsOf(query);
    const isHit = (test) => (piece) => asked.some((word) => test(plain(piece), word));
    const isAsked = isHit(pieces.some(isHit(fit)) ? fit : isNear(2));
    return pieces.map((piece) => (isAsked(piece) ? element("mark", {}, piece) : piece));
  }

  // Below a field stand the pages for what is typed.
  function answer(field) {
    const status = element("p", { role: "status" });
    const list = element("ol");
    field.form.after(element("div", { className: "found" }, status, list));
    const show = async () => {
      const query = field.value.trim();
      const pages = query ? find(await load(), query) : [];
      if (query !== field.value.trim()) return;
      const said = isEnough(joined(query))
        ? _("Pages found: {number}").replace("{number}", pages.length)
        : _("A single letter or sign finds nothing: type a word.");
      status.textContent = query && said;
      const entries = pages.map(({ address, title, where, text }) => [
        element("a", { href: new URL(`../${address}`, here) }, ...marked(title, query)),
        element("small", {}, where),
        element("p", {}, ...marked(text, query)),
      ]);
      list.replaceChildren(...entries.map((entry) => element("li", {}, ...entry)));
    };
    field.addEventListener("focus", load);
    field.addEventListener("input", show);
    return show;
  }

  // The words of an address that leads nowhere: the last part, without its number and its ending.
  const ofAddress = () =>
    decodeURIComponent(location.pathname).split("/").pop().replace(/\.html$|[\d_-]+/g, " ").trim();

  for (const field of document.querySelectorAll("form.bd-search input")) {
    const show = answer(field);
    if (field.closest("dialog")) continue;
    const asked = new URLSearchParams(location.search).get("q");
    field.value = asked ?? ("ofAddress" in field.dataset ? ofAddress() : "");
    field.focus();
    show();
  }
}
