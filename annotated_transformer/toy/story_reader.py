"""A reader that tells whether a little story holds together, without the rules that made it.

It parses each clause into subject, verb and rest, keeps account of who is who, how each feels, what
is sought and who has it, and puts the answer into the question to see whether the story said so.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from annotated_transformer.ground.inputs import each_text
from annotated_transformer.toy.lexicon import with_s
from annotated_transformer.toy.stories import (
    FEARED,
    HOMES,
    LIKE,
    LOOKS,
    LOST,
    NAMES,
    NEEDS,
    NOUNS,
    PLACES,
    PRONOUNS,
    SPOTS,
    conjugated,
    with_article,
)

_ACTS = "be come cry dance find give have hide laugh live look run sing sleep take thank walk want"
_VERBS = {*_ACTS.split(), *(use.split()[0] for use, _ in NEEDS.values())}
_FORMS = {conjugated(verb, plural): verb for verb in _VERBS for plural in (False, True)}
_MOODS = {
    "be happy": "glad", "laugh": "glad", "sing": "glad", "dance": "glad",
    "be sad": "sorry", "cry": "sorry",
}  # fmt: skip


def _any(*words: Iterable[str]) -> str:
    return f"(?:{'|'.join(word for some in words for word in some)})"


_NAME, _LIKE = _any(*NAMES.values()), _any(LIKE)
_FIRST = {  # how those of each pronoun are introduced
    "she": f"{_any(NAMES['she'])}|an? {_LIKE} {_any(NOUNS['she'])}",
    "he": f"{_any(NAMES['he'])}|an? {_LIKE} {_any(NOUNS['he'])}",
    "it": f"an? {_LIKE} {_any(NOUNS['it'], FEARED)}",
    "they": rf"({_NAME}) and (?!\1){_NAME}|two {_LIKE} {_any(map(with_s, NOUNS['it']))}",
}
_NEXT = re.compile(rf" and (?={_any(_FORMS)}\b)")  # a verb begins another clause
_THING = re.compile(rf"\b(an?|some|the) ({_any(*(things for _, things in NEEDS.values()))})\b")
_SPOT = "|".join(f"{on} the {_any(what)}" for on, what in SPOTS.items())
_OPENING = f"live in an? {_any(LOOKS)} {_any(HOMES)}|walk to the {_any(PLACES)}|come"


class _FaultError(Exception):
    """Something does not hold together."""


def _require(right: object, wrong: str) -> None:
    if not right:
        raise _FaultError(wrong)


class _Clause(NamedTuple):
    """Who does what, in names, infinitives and definite articles: clauses can be compared."""

    who: str
    verb: str
    rest: str = ""

    @property
    def said(self) -> str:
        return f"{self.verb} {self.rest}".strip()

    def is_reason_for(self, other: "_Clause") -> bool:
        """Tell whether one sought something in need, hid in fear, or is sad about a loss."""
        if other.said == "be sad":
            return self.verb == "have"
        reason = self.rest in NEEDS if other.verb == "look" else self.rest[:9] == "afraid of"
        return self.who == other.who and other.verb in ("look", "hide") and reason


class _Reader:
    """What is known so far."""

    def __init__(self) -> None:
        self.cast: dict[str, str] = {}  # who each pronoun is
        self.feels: dict[str, str] = {}  # a need, "lost", "afraid", "glad" or "sorry"
        self.thing = self.owner = ""  # what is sought, and who has it
        self.told: list[_Clause] = []

    def read(self, sentence: str) -> None:
        """Read one sentence, its reason before what follows from it."""
        main, _, reason = sentence.partition(" because ")
        clauses: list[_Clause] = []
        for text in _NEXT.split(re.sub(r"^(then|soon|but|now|one day) ", "", main)):
            clauses.append(self.clause(text, clauses[-1].who if clauses else ""))
        if reason:
            clauses.insert(0, self.clause(reason))
            _require(clauses[0].is_reason_for(clauses[1]), f"{reason!r} is no reason")
        for clause in clauses:
            _require(self.follows(clause), f"{clause.who!r}, {clause.said!r}: does not follow")
            self.told.append(clause)

    def clause(self, text: str, who: str = "") -> _Clause:
        """Parse a clause; one after *and* has the subject of the clause before."""
        articles = re.findall(r"\b(an?) (\w)", text)
        _require(all((a == "an") == (b in "aeiou") for a, b in articles), f"an article in {text!r}")
        words = text.replace("only ", "").split()
        at = next((i for i, word in enumerate(words) if word in _FORMS), -1)
        _require(at > 0 or (at == 0 and who), f"{text!r} is no clause")
        who = self.meet(" ".join(words[:at])) if at else who
        verb = self.agree(who, words[at], _FORMS[words[at]])
        return _Clause(who, verb, self.plain(who, " ".join(words[at + 1 :])))

    def agree(self, who: str, form: str, verb: str) -> str:
        """Make sure that this is the form of the verb, which is returned."""
        right = conjugated(verb, plural=self.cast.get("they") == who)
        _require(form == right, f"{form!r} does not agree with {who!r}")
        return verb

    def meet(self, words: str) -> str:
        """Find out whom a subject means, perhaps somebody new."""
        name = self.cast.get(words, words)
        if name in self.cast.values():
            return name
        new = next((it for it, first in _FIRST.items() if re.fullmatch(first, words)), "")
        _require(new, f"who is {words!r}?")
        _require(new not in self.cast, f"{new!r} could be {self.cast.get(new)!r} or {words!r}")
        self.cast[new] = re.sub(r"^(an?|two) \w+", "the", words)
        return self.cast[new]

    def plain(self, who: str, rest: str) -> str:
        """Replace pronouns by names, and other articles by *the*."""
        for pronoun, name in self.cast.items():
            him, his = PRONOUNS[pronoun]
            old, new = (f"^lost {his} ", "lost the ") if name == who else (rf"^{him}\b", name)
            rest = re.sub(old, new, rest)
        if found := _THING.search(rest):
            article, thing = found.groups()
            known = self.thing == f"the {thing}"
            _require(
                known if article == "the" else found[0] == with_article(thing), f"{found[0]!r}?"
            )
            rest = rest.replace(found[0], f"the {thing}")
        return rest

    def follows(self, clause: _Clause) -> bool:
        """Tell whether a clause may follow, and draw its conclusions."""
        who, verb, rest = clause
        said, mine, thing = clause.said, self.feels.get(who, ""), self.thing
        seeker = next((one for one, how in self.feels.items() if how in (*NEEDS, "lost")), "")
        if said in _MOODS:
            return mine == _MOODS[said] or (mine, said) == ("lost", "be sad")
        if re.fullmatch(_OPENING, said):
            return all(who != told.who for told in self.told)
        if not mine and verb in ("be", "have"):
            self.feels[who] = rest if rest in NEEDS else "lost" if verb == "have" else "afraid"
            self.thing = rest.removeprefix("lost ") if verb == "have" else thing
            return bool(re.fullmatch(self.trouble(), said))
        if verb == "hide":
            return mine == "afraid" and bool(re.fullmatch(_SPOT, rest))
        if said in ("want to play", "want to sing", "sleep"):
            afraid = [one for one, how in self.feels.items() if how == "afraid"]
            self.feels |= dict.fromkeys(afraid, "glad")
            return bool(afraid) and who not in afraid and (verb == "want" or mine == "tired")
        if verb == "look":
            self.thing = rest.removeprefix("for ")
            useful = [f"the {what}" for what in NEEDS.get(mine, ("", []))[1]]
            return self.thing in ([thing] if mine == "lost" else useful)
        if verb == "find":
            self.owner = who
            self.feels |= {who: "glad"} if mine == "lost" else {}
            right = mine in (*NEEDS, "lost") or self.feels.get(seeker) == "lost"
            return right and bool(re.fullmatch(f"{thing} (?:{_SPOT})", rest))
        if verb == "give":
            lost, found = self.feels.get(seeker) == "lost", self.owner == who
            self.owner = seeker
            self.feels |= {seeker: "glad"} if lost else {}
            return rest == f"{seeker} {thing}" and who != seeker and found == lost
        if verb == "thank":
            return _Clause(rest, "give", f"{who} {thing}") in self.told
        if said == f"take {thing}":
            robbed, self.owner = self.owner, who
            self.feels[robbed] = "sorry"
            return robbed not in ("", who)
        if said == "run away":
            return _Clause(who, "take", thing) in self.told
        self.feels[who] = "glad"
        return mine in NEEDS and self.owner == who and said == f"{NEEDS[mine][0]} {thing}"

    def trouble(self) -> str:
        """Describe what one may be or have at first: a need, a fear of who has come, a loss."""
        feared = self.cast.get("it", "").split()[-1:]
        fear = f"afraid of the {feared[0]}" if feared and feared[0] in FEARED else "-"
        return f"be {_any(NEEDS)}|be {fear}|have lost the {_any(LOST)}"

    def answer(self, question: str, answer: str) -> None:
        """Put the answer into the question, and look whether that was told."""
        asked, form, rest = question.split(" ", 2)
        sorry = [_Clause(who, "be", "sad") for who, how in self.feels.items() if how == "sorry"]
        self.told += [_Clause(self.owner, "have", self.thing), *sorry]
        who = next((name for name in self.cast.values() if f"{rest} ".startswith(f"{name} ")), "")
        ask, right = rest.removeprefix(who).split(), True
        if asked == "who":
            verb = self.agree("who", form, _FORMS.get(form, "be"))
            claim = _Clause(answer, verb, self.plain("", rest))
        else:
            doing = self.agree(who, form, "do" if form in ("do", "does") else "be") == "do"
            verb, *more = ask if doing else ("be", *ask)
            claim = _Clause(who, verb, " ".join([*more, *[answer] * (asked != "why")]))
            right = asked == "why" or bool(re.fullmatch(_SPOT, answer)) == (asked == "where")
        if asked == "why":
            reason = self.clause(answer.removeprefix("because "))
            right = self.knows(reason) and reason.is_reason_for(claim)
        _require(right and self.knows(claim), f"{answer!r} is not the answer")

    def knows(self, claim: _Clause) -> bool:
        """Tell whether this was told, perhaps with more behind it."""
        said = f"{claim.who} {claim.said} "
        return any(f"{told.who} {told.said} ".startswith(said) for told in self.told)


def story_fault(story: str) -> str:
    """Return what is wrong with a story, or nothing.

    A story that holds together introduces everybody once, and calls each by the right pronoun; what
    is done follows from a need, a loss or a fear; the end is as happy or as sad as it must be; and
    the answer to the question is what the story has said.

    Raises:
        InputError: if it is not a text.

    >>> story_fault("ben is cold and looks for a hat . soon he finds a hat on the chair . "
    ...             "he wears the hat . now she laughs . who finds the hat ? ben .")
    "who is 'she'?"
    """
    (story,) = each_text([story])
    told, _, end = story.removesuffix(" .").rpartition(" . ")
    question, _, answer = end.partition(" ? ")
    reader = _Reader()
    try:
        for sentence in told.split(" . "):
            reader.read(sentence)
        _require(reader.told[-1].said in _MOODS, "the story has no end")
        strays = {one.who for one in reader.told if one.verb in ("live", "walk")} - {*reader.feels}
        _require(not strays, f"what became of {strays}?")
        _require(re.match(r"(who|what|where|why) \w+ \w+", question) and answer, "nothing is asked")
        reader.answer(question, answer)
    except _FaultError as found:
        return str(found)
    return ""
