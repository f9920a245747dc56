"use strict";

// Text in, ids out, and back: whole words, or subwords by byte-pair encoding (Sennrich et al.
// 2016), split exactly as the package splits them (annotated_transformer/tokens.py).

const SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"];
const [PAD, BOS, EOS, UNK] = SPECIALS.keys();
const BOUNDARY = "▁"; // marks the beginning of a word among subwords
// Clean a text as annotated_transformer/text/cleaning.py does: remove these, then NFC, then one space.
const INVISIBLE =
  /[\x00-\x08\x0E-\x1B\x7F-\x84\x86-\x9F\xAD\u034F\u061C\u17B4\u17B5\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFB\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E001F}]/gu;
const WHITE =
  /[\x09-\x0D\x1C-\x20\x85\xA0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+/gu;
const PUNCTUATION = /[\p{P}$+<=>^`|~]/u; // in any script, and what counts as such in ASCII

function cleaned(text) {
  const spaced = text.replace(INVISIBLE, "").normalize("NFC").replace(WHITE, " ");
  return spaced.replace(/^ | $/g, "");
}

class Vocabulary {
  // `description` is {kind: "words" | "subwords", tokens, merges}, as in model.json.
  constructor(description) {
    const { kind, tokens, merges } = description ?? {};
    const isList = Array.isArray(tokens) && tokens.every((token) => typeof token === "string");
    if (!isList || SPECIALS.some((special, id) => tokens[id] !== special)) {
      throw new Error(`A vocabulary's first tokens must be ${SPECIALS.join(", ")}.`);
    }
    if (kind !== "words" && kind !== "subwords") {
      throw new Error(`A vocabulary is of ${JSON.stringify(kind)}, it must be words or subwords.`);
    }
    if (kind === "subwords" && !(Array.isArray(merges) && merges.every(Array.isArray))) {
      throw new Error("A vocabulary of subwords has no merges.");
    }
    this.list = tokens;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    this.words = kind === "words" ? tokens.slice(SPECIALS.length) : null;
    // Merges are applied in the order in which they were learned.
    this.ranks = new Map((merges ?? []).map((pair, rank) => [this.pair(...pair), rank]));
  }

  // One number for two neighbouring tokens.
  pair(a, b) {
    return this.ids.get(a) * this.length + this.ids.get(b);
  }

  get length() {
    return this.list.length;
  }

  // The ids of a text, without <bos> and <eos>. A special token that is typed is unknown.
  encode(text) {
    return this.cut(text).map((token) => {
      const id = this.ids.get(token) ?? UNK;
      return id > EOS ? id : UNK;
    });
  }

  // The pieces of a text, known or not. Text between special tokens is split separately.
  cut(text) {
    const parts = text.split(/(<pad>|<bos>|<eos>|<unk>)/);
    return parts.flatMap((part, i) => {
      if (i % 2) return [part];
      if (this.words) return cleaned(part).split(" ").filter(Boolean);
      return this.pieces(cleaned(part)).flatMap((piece) => this.join(piece));
    });
  }

  // Words, each with the mark of its beginning, and separate punctuation.
  pieces(text) {
    const marked = text.replaceAll(" ", BOUNDARY);
    const whole = marked && !marked.startsWith(BOUNDARY) ? BOUNDARY + marked : marked;
    const pieces = [""];
    for (const character of whole) {
      if (PUNCTUATION.test(character)) pieces.push(character, "");
      else if (character === BOUNDARY) pieces.push(character);
      else pieces[pieces.length - 1] += character;
    }
    return pieces.filter(Boolean);
  }

  // Byte-pair encoding: begin with single characters; apply the merge that was learned first, at its
  // leftmost pair; repeat until no pair can be merged.
  join(piece) {
    const known = (character) => (this.ids.has(character) ? character : SPECIALS[UNK]);
    const tokens = Array.from(piece, known);
    for (;;) {
      const ranks = tokens.slice(1).map((b, i) => this.ranks.get(this.pair(tokens[i], b)));
      const first = ranks.reduce((best, rank) => (rank < best ? rank : best), Infinity);
      if (first === Infinity) return tokens;
      const place = ranks.indexOf(first);
      tokens.splice(place, 2, tokens[place] + tokens[place + 1]);
    }
  }

  tokens(ids) {
    return Array.from(ids, (id) => {
      if (this.list[id] !== undefined) return this.list[id];
      throw new Error(`Id ${id} is outside the vocabulary of ${this.length} tokens.`);
    });
  }

  // How tokens are written, a letter for each: w begins a word, c continues it, p is punctuation, s a space
  // before either; e stands apart, as every token does that is a word.
  roles(ids) {
    return this.tokens(ids).map((token, i) => (
      this.words || [PAD, BOS, EOS].includes(ids[i]) ? "e" : token === BOUNDARY ? "s"
        : token.startsWith(BOUNDARY) ? "w" : PUNCTUATION.test(token) ? "p" : "c")).join("");
  }

  // The text of ids; <pad>, <bos> and <eos> are left out.
  decode(ids) {
    const shown = this.tokens(ids).filter((_, i) => ![PAD, BOS, EOS].includes(ids[i]));
    if (this.words) return shown.join(" ");
    return shown.map((token, i) => token.replaceAll(BOUNDARY, i ? " " : "")).join("");
  }

  // The words of a text that the vocabulary does not know completely, each once.
  unknown(text) {
    const words = cleaned(text).split(" ").filter(Boolean);
    return [...new Set(words.filter((word) => this.encode(word).includes(UNK)))];
  }
}

// A token as it is printed, without the mark of the beginning of a word.
function printed(token) {
  return token.replaceAll(BOUNDARY, "") || BOUNDARY;
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
