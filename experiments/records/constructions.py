"""The record of who acts: the checkpoint on sentences whose endings, not their order, tell it."""

from itertools import permutations

import torch

from annotated_transformer.decoding import GREEDY
from annotated_transformer.run import Run
from records import captions
from records.tables import Row, Tables

NOUNS = {"Hund": "dog", "Mann": "man", "Clown": "clown", "Vogel": "bird", "Fisch": "fish"}
VERBS = {"jagen": ("jagt", "gejagt"), "beobachten": ("beobachtet", "beobachtet"),
         "umarmen": ("umarmt", "umarmt"), "schieben": ("schiebt", "geschoben")}  # fmt: skip
CONSTRUCTIONS = {
    "subject first": "Ein {a} {finite} einen {b}.",
    "object first": "Einen {a} {finite} ein {b}.",
    "passive": "Ein {a} wird von einem {b} {participle}.",
}
"""In the first the noun that comes first acts, in the others the second does."""


def acts(text: str, first: str, second: str) -> str:
    """Which of two nouns acts in an English sentence: "first", "second" or "neither"."""
    active, _, agent = text.lower().rstrip(".").partition(" by ")
    words = (agent or active).split()
    found = [word for word in words if word in (first, second)]
    if not found or {first, second} - set(text.lower().rstrip(".").split()):
        return "neither"
    return "first" if found[0] == first else "second"


def translate_constructions(verb: str, construction: str) -> Row:
    """Translate a construction with every pair of nouns; how often which of them acts."""
    torch.set_num_threads(1)
    finite, participle = VERBS[verb]
    pairs = list(permutations(NOUNS, 2))
    texts = [
        CONSTRUCTIONS[construction].format(a=a, b=b, finite=finite, participle=participle)
        for a, b in pairs
    ]
    found = Run.open(captions.CHECKPOINT).translate(texts, GREEDY)
    told = [acts(text, NOUNS[a], NOUNS[b]) for text, (a, b) in zip(found, pairs, strict=True)]
    row: Row = {"verb": verb, "construction": construction, "pairs": len(pairs)}
    row |= {who: told.count(who) for who in ("first", "second", "neither")}
    return row | {"example": texts[0], "translation": found[0]}


def make_who_acts(tables: Tables) -> None:
    """Who acts in the checkpoint's translations, by the construction of the German sentence.

    It is the other method for "the model goes by the order alone": another construction in which
    the second noun acts.
    """
    runs = [(verb, construction) for verb in VERBS for construction in CONSTRUCTIONS]
    tables.extend("who_acts", translate_constructions, runs, ["verb", "construction"], workers=1)
