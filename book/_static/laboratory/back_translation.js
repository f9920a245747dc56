"use strict";

// From Korean morphemes back to English: the grammar of the toy corpus, read backwards. Korean puts
// everything before what it belongs to, so a stack keeps every phrase until its head comes.
// Articles are not Korean ("the" stands for each), nor is the number of orders, rules and laws, nor
// the difference between "the sad king" and "the king who is sad".

const AM = { I: "am", singular: "is", plural: "are" };
const EMBEDDED_CLAUSES = { QUOTE: "that", IF: "if", NOMINAL: "because" };
const phrase = (...parts) => parts.filter(Boolean).join(" ");

// The words of a noun phrase whose head is a noun.
function nounPhrase({ head, plural, determiner, adjective, after }, article = "the", many = plural) {
  const name = phrase(adjective?.text, many ? head.plural : head.english);
  const indefinite = many ? "" : /^[aeiou]/.test(name) ? "an" : "a";
  return phrase(determiner ?? (article === "a" ? indefinite : article), name,
    after?.({ who: head.who, agreement: plural ? "plural" : "singular" }));
}

// The words of a verb, adjective or noun with "be", its auxiliaries and complements.
function predicateOf({ verb, adjective, noun, modal, negated, complements = [], first }) {
  return (agreement) => {
    const not = negated && modal !== "can" && "not";
    const start = first && phrase(first(agreement), "and");
    if (adjective) return phrase(start, AM[agreement], not, adjective);
    if (noun) {
      const many = agreement === "plural";
      return phrase(start, AM[agreement], not, noun.pronoun?.[1] ?? nounPhrase(noun, "a", many));
    }
    const does = agreement === "singular" ? "does" : "do";
    const auxiliary = modal === "can" && negated ? "cannot" : modal ?? (negated && does);
    const isThird = agreement === "singular" && !auxiliary;
    return phrase(start, auxiliary, not, isThird ? verb.third : verb.english, ...complements);
  };
}

// The English of the tokens, or null if they are no sentence of the grammar.
function backTranslation(tokens, grammar) {
  const { nouns, verbs, adjectives, pronouns, determiners, prepositions, senses } = grammar;
  const stack = [];
  const is = (type) => stack.at(-1)?.type === type;
  const take = (type) => (is(type) ? stack.pop() : undefined);
  const push = (type, item) => stack.push({ ...item, type });

  // The predicate before "and", which joins two actions, two qualities or two professions.
  const before = (sort) => (is("first") && stack.at(-1).sort === sort ? stack.pop().predicate
    : undefined);

  // A noun phrase, perhaps several with "and": as a subject and as anything else.
  const nominal = () => {
    const joined = [];
    for (let noun = take("noun"); noun; noun = take("and") && take("noun")) joined.unshift(noun);
    if (!joined.length) return undefined;
    const [last] = joined.slice(-1);
    const said = (at) => joined.map((one) => one.pronoun?.[at] ?? nounPhrase(one)).join(" and ");
    const isPlural = joined.length > 1 || last.plural;
    return { subject: said(0), other: said(1), noun: last,
      agreement: last.pronoun?.[2] ?? (isPlural ? "plural" : "singular") };
  };

  const readNoun = (head) => {
    const [adjective, determiner] = [take("adjective"), take("determiner")?.text];
    const clause = take("after")?.text ?? take("adjective")?.after;
    push("noun", { head, adjective, determiner, after: clause });
  };

  const readVerb = (verb) => {
    const takesObject = ["transitive", "ditransitive"].includes(verb.pattern);
    const object = takesObject ? take("OBJECT") : undefined;
    const to = verb.pattern === "ditransitive" ? take("TO") : undefined;
    const clause = verb.pattern === "clausal" ? take("QUOTE") : undefined;
    const place = take("IN");
    if (verb.pattern === "ditransitive" && !to || verb.pattern === "clausal" && !clause) return false;
    const complements = [clause?.text, object?.other, to && `to ${to.other}`,
      place && `in ${place.other}`];
    return push("stem", { verb, complements, isOpen: takesObject && !object,
      first: before("action") });
  };

  // What comes between a stem and its last ending. A stem that awaits something is not complete.
  const AUXILIARIES = {
    NEGATED: { awaits: "not" }, MUST: { awaits: "do" }, PROSPECTIVE: { awaits: "way" },
    not: { negated: true }, do: { modal: "must" }, way: { awaits: "exist" },
    exist: { modal: "can" }, "not.exist": { modal: "can", negated: true },
  };

  const close = (gloss) => {
    const stem = take("stem");
    const predicate = predicateOf(stem);
    if (stem.given) return push("after", { text: () => `given ${stem.given}` });
    if (gloss === "ADNOMINAL") {
      const subject = stem.isOpen ? take("SUBJECT") : null;
      if (subject === undefined || subject && stem.first) return false;
      const after = ({ who, agreement }) => phrase(who ? (subject ? "whom" : "who") : "that",
        subject?.subject, predicate(subject?.agreement ?? agreement));
      const isPlain = stem.adjective && !stem.negated && !stem.first;
      return isPlain ? push("adjective", { text: stem.adjective, after })
        : push("after", { text: after });
    }
    if (stem.isOpen) return false;
    if (gloss === "AND") {
      const sort = stem.verb ? "action" : stem.adjective ? "quality" : "profession";
      return push("first", { predicate, sort });
    }
    const who = take(gloss === "PLAIN" ? "TOPIC" : "SUBJECT");
    if (!who) return false;
    const clause = phrase(EMBEDDED_CLAUSES[gloss], who.subject, predicate(who.agreement));
    if (gloss === "PLAIN") return push("sentence", { text: phrase(clause, take("adverb")?.text) });
    return push(gloss === "IF" ? "adverb" : gloss, { text: clause });
  };

  const read = (token, next) => {
    const meanings = senses[token] ?? [];
    const isMy = token in determiners && !(senses[next] ?? []).includes("SUBJECT");
    if (isMy) return push("determiner", { text: determiners[token] });
    if (token in pronouns) return push("noun", { pronoun: pronouns[token] });
    if (token in nouns) return readNoun(nouns[token]) ?? true;
    if (token in verbs) return readVerb(verbs[token]);
    if (token in adjectives) {
      const adjective = phrase(take("very") && "very", adjectives[token]);
      return push("stem", { adjective, first: before("quality") });
    }
    if (meanings.includes("very")) return push("very");
    if (meanings.includes("be.given")) {
      const to = take("TO");
      return to && push("stem", { given: to.other });
    }
    if (meanings.includes("because")) {
      const reason = take("NOMINAL");
      return reason && push("adverb", reason);
    }
    if (is("stem")) {
      const stem = stack.at(-1);
      const meaning = meanings.find((each) => each in AUXILIARIES || each in EMBEDDED_CLAUSES ||
        ["PLAIN", "AND", "ADNOMINAL"].includes(each));
      const wanted = stem.awaits;
      delete stem.awaits;
      if (!(meaning in AUXILIARIES)) return meaning && !wanted && close(meaning);
      if (wanted && !meaning.endsWith(wanted) || !wanted && !/^[A-Z]+$/.test(meaning)) return false;
      return Object.assign(stem, AUXILIARIES[meaning]);
    }
    if (token in prepositions) {
      const ground = nominal();
      return ground && push("place", { text: `${prepositions[token]} ${ground.other}` });
    }
    if (meanings.includes("OF")) {
      const place = take("place");
      return place && push("after", { text: () => place.text });
    }
    if (meanings.includes("not.be")) {
      const noun = take("SUBJECT")?.noun;
      return noun && push("stem", { noun, negated: true, first: before("profession") });
    }
    if (meanings.includes("PLURAL")) return is("noun") && (stack.at(-1).plural = true);
    if (!is("noun")) return false;
    if (meanings.includes("AND")) return push("and");
    const be = meanings.find((each) => /^be\b/.test(each));
    if (be) {
      const { noun } = nominal();
      push("stem", { noun, first: before("profession") });
      return close(be.split(".")[1] ?? "PLAIN");
    }
    const particle = meanings.find((each) => ["TOPIC", "SUBJECT", "OBJECT", "TO", "IN"].includes(each));
    return particle && push(particle, nominal());
  };

  if (!tokens.every((token, i) => read(token, tokens[i + 1]))) return null;
  return stack.length === 1 && is("sentence") ? stack[0].text : null;
}
