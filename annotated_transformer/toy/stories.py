"""Little stories with a question at the end, made by a grammar.

Somebody needs something, has lost something or is afraid, and somebody else comes. The two have
different pronouns, so that *she* can mean only one of them:

    ruth is hungry and looks for a cake . then two kind birds come and give her a cake .
    ruth eats the cake . now she laughs . who gives ruth the cake ? the birds .

``toy.story_reader`` tells whether a story holds together, without these rules.
"""

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import NamedTuple

from annotated_transformer.ground.inputs import require_whole
from annotated_transformer.toy.lexicon import with_s

_list = str.split
NEEDS = {  # who is so looks for one of these, and then does this with it
    "hungry": ("eat", _list("apple cake cookie melon pear")),
    "thirsty": ("drink", _list("juice lemonade milk tea water")),
    "cold": ("wear", _list("blanket coat hat scarf")),
    "tired": ("sleep in", _list("basket bed hammock tent")),
    "bored": ("play with", _list("ball drum kite puppet")),
    "curious": ("read", _list("book letter map poem")),
}
LOST = _list("bag crown flute key lamp ring")
FEARED = _list("dragon ghost tiger wolf")
LIKE = _list("big brave funny kind old small wise young")
NAMES = {"she": _list("anna emma mia nora ruth"), "he": _list("ben leo oscar paul tom")}
NOUNS = {
    "she": _list("girl queen witch woman"),
    "he": _list("boy king man pirate"),
    "it": _list("bear bird cat dog duck frog horse rabbit robot"),
}
PRONOUNS = {
    "she": ("her", "her"),
    "he": ("him", "his"),
    "it": ("it", "its"),
    "they": ("them", "their"),
}
HOMES = _list("boat castle house tent tower")
PLACES = _list("garden library park river school")
LOOKS = _list("big old quiet red small")
SEATS, LANDMARKS = _list("bench chair table"), _list("bush door house rock tree wall")
SPOTS = {"on": SEATS, "under": SEATS, "behind": LANDMARKS, "beside": LANDMARKS}

_PLOTS = ("WANT", "WANT", "OPEN WANT", "OPEN WANT", "LOSE", "OPEN LOSE", "OPEN FEAR")
_RULES = {  # be+ agrees with the subject before it, +be with the one behind it
    "OPEN": "one day HE walk+ to the PLACE .|HE live+ in A_LIKE HOME .",
    "WANT": "SEEK FIND USE FOUND|SEEK GIVE USE GIVEN|SEEK FIND TAKE TAKEN",
    "SEEK": "HE be+ NEED . HE look+ for A .|HE be+ NEED and look+ for A ."
    "|HE look+ for A because he be+ NEED .",
    "FIND": "then HE find+ A SPOT .|soon HE find+ A SPOT .",
    "GIVE": "then OTHER come+ . OTHER give+ HIM A . THANK|then OTHER come+ and give+ HIM A . THANK",
    "THANK": "|HE thank+ THEM .",
    "USE": "HE USES B . GLAD",
    "TAKE": "but OTHER come+ and take+ B . SORRY|but OTHER take+ B and run+ away . SORRY",
    "LOSE": "MISS FIND_IT GLAD FOUND|MISS RETURN GLAD GIVEN",
    "MISS": "HE have+ lost A . HE look+ for B ."
    "|HE be+ sad because he have+ lost A . HE look+ for B .",
    "FIND_IT": "then HE find+ B SPOT .|soon HE find+ B SPOT .",
    "RETURN": "then OTHER come+ . OTHER find+ B SPOT and give+ HIM B . THANK",
    "FEAR": "then OTHER come+ . AFRAID . but OTHER CALM . GLAD HIDDEN",
    "AFRAID": "HE be+ afraid of THEM and hide+ SPOT|HE hide+ SPOT because he be+ afraid of THEM",
    "CALM": "only want+ to play|only want+ to sing|be+ tired and sleep+",
    "GLAD": "now HE be+ happy .|now HE laugh+ .|now HE sing+ .|now HE dance+ .",
    "SORRY": "now HE be+ sad .|now HE cry+ .",
    "FOUND": "who find+ B ? HERO .|where +do HERO find B ? SPOT .|SOUGHT",
    "GIVEN": "who give+ HERO B ? OTHER .|what +do OTHER give HERO ? B .|SOUGHT",
    "TAKEN": "who take+ B ? OTHER .|who have+ B ? OTHER ."
    "|why +be HERO sad ? because OTHER have+ B .",
    "SOUGHT": "what +do HERO look for ? B .|who look+ for B ? HERO .",
    "HIDDEN": "where +do HERO hide ? SPOT .|who be+ afraid ? HERO ."
    "|why +do HERO hide ? because he be+ afraid of THEM .",
}
_SENTENCES, _WORDS = 7, 62  # at most, the answer and the full stops counted


class Who(NamedTuple):
    """Somebody: when first mentioned ("a small bear"), later ("the bear"), and the pronoun."""

    first: str
    later: str
    pronoun: str


def with_article(words: str) -> str:
    """Put the indefinite article, or *some*, before a noun or its adjective.

    >>> with_article("apple"), with_article("small bear"), with_article("milk")
    ('an apple', 'a small bear', 'some milk')
    """
    some = "some" if words in NEEDS["thirsty"][1] else "an" if words[0] in "aeiou" else "a"
    return f"{some} {words}"


def conjugated(verb: str, plural: bool) -> str:
    """Return the third person of a verb.

    >>> conjugated("cry", plural=False), conjugated("be", plural=True)
    ('cries', 'are')
    """
    irregular = {"be": ("is", "are"), "have": ("has", "have"), "do": ("does", "do")}
    return irregular.get(verb, (with_s(verb), verb))[plural]


def _somebody(rng: Random, pronoun: str, names: list[str], nouns: list[str]) -> Who:
    """Make up somebody: by a name, if there is one, or by a noun with an adjective."""
    if names and rng.random() < 0.6:
        return Who(names[0], names[0], pronoun)
    like, noun = rng.choice(LIKE), rng.choice(nouns)
    if pronoun == "they":
        return Who(f"two {like} {with_s(noun)}", f"the {with_s(noun)}", pronoun)
    return Who(with_article(f"{like} {noun}"), f"the {noun}", pronoun)


def _terminals(symbols: str, rng: Random, bound: dict[str, str]) -> Iterator[str]:
    """Expand symbols by the rules, and replace those that are bound."""
    for symbol in symbols.split():
        if symbol in _RULES:
            yield from _terminals(rng.choice(_RULES[symbol].split("|")), rng, bound)
        else:
            yield from bound.get(symbol, symbol).split()


def _story(rng: Random) -> str:
    plot, need = rng.choice(_PLOTS), rng.choice(list(NEEDS))
    fear, lose = "FEAR" in plot, "LOSE" in plot
    one, another = rng.sample([who for who in PRONOUNS if who != "it" or not fear], 2)
    names = rng.sample([*NAMES["she"], *NAMES["he"]], 10)
    named = {who: [name for name in names[2:] if name in NAMES[who]] for who in NAMES}
    named |= {"it": [], "they": [" and ".join(names[:2])]}
    nouns = NOUNS | {"they": NOUNS["it"]}
    hero = _somebody(rng, one, named[one], nouns[one])
    other = _somebody(rng, another, named[another], nouns[another])
    if fear:
        other = _somebody(rng, "it", [], FEARED)
    use, things = NEEDS[need]
    thing = rng.choice(LOST if lose else things)
    on = rng.choice([where for where in SPOTS if where != "on" or not fear])
    him, his = PRONOUNS[one]
    bound = {
        "NEED": need,
        "USES": use.replace(" ", "+ ") if " " in use else f"{use}+",
        "A": f"{his} {thing}" if lose else with_article(thing),
        "B": f"the {thing}",
        "HIM": rng.choice((him, hero.later)),
        "THEM": other.later,
        "SPOT": f"{on} the {rng.choice(SPOTS[on])}",
        "PLACE": rng.choice(PLACES),
        "HOME": rng.choice(HOMES),
        "A_LIKE": with_article(rng.choice(LOOKS)),
    }
    words: list[str] = []
    tokens = [*_terminals(plot, rng, bound), ""]
    who = hero
    for token, following in pairwise(tokens):
        if token in ("HE", "he", "HERO", "OTHER"):
            who = other if token == "OTHER" else hero
            again = {"he": one, "HE": rng.choice((one, hero.later))}.get(token, who.later)
            words.append(again if who.first in " ".join(words) else who.first)
        elif token.startswith("+"):
            who = other if following == "OTHER" else hero
            words.append(conjugated(token[1:], who.pronoun == "they"))
        elif token.endswith("+"):
            words.append(conjugated(token[:-1], who.pronoun == "they" and words[-1] != "who"))
        else:
            words.append(token)
    return " ".join(words)


def toy_stories(count: int = 10_000, seed: int = 0) -> list[str]:
    """Make up different stories, the same for the same arguments on every machine.

    Args:
        count: how many, 1 to 1,000,000.
        seed: of the random numbers.

    Raises:
        InputError: if an argument is out of its range.

    >>> toy_stories(1, seed=5)[0]
    'a kind horse is sad because it has lost its lamp . it looks for the lamp . then it finds the
    lamp under the table . now it is happy . who finds the lamp ? the horse .'
    """
    require_whole("count", count, 1, 1_000_000)
    require_whole("seed", seed, 0)
    rng = Random(seed)
    found: dict[str, None] = {}  # a set that keeps its order
    while len(found) < count:
        story = _story(rng)
        if story.count(".") <= _SENTENCES and story.count(" ") < _WORDS:
            found[story] = None
    return list(found)
