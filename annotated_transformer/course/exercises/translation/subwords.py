"""Translation: how a word is cut by the merges."""

from itertools import pairwise

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.translation.merges import Pair


def _cut_into_subwords(word: str, merges: list[Pair]) -> list[str]:
    """Cut a word into subwords with a list of merges."""
    tokens = list(word)
    for pair in merges:
        joined = tokens[:1]
        for token in tokens[1:]:
            if (joined[-1], token) == pair:
                joined[-1] += token
            else:
                joined.append(token)
        tokens = joined
    return tokens


_cut = _cut_into_subwords


def _first_only(word: str, merges: list[Pair]) -> list[str]:
    tokens = list(word)
    for pair in merges:
        for i, found in enumerate(pairwise(tokens)):
            if found == pair:
                tokens[i : i + 2] = ["".join(pair)]
                break
    return tokens


def _until_one_fails(word: str, merges: list[Pair]) -> list[str]:
    for i in range(len(merges)):
        if _cut(word, merges[: i + 1]) == _cut(word, merges[:i]):
            return _cut(word, merges[:i])
    return _cut(word, merges)


def _from_the_left(word: str, merges: list[Pair]) -> list[str]:
    tokens = list(word)
    while known := [i for i, pair in enumerate(pairwise(tokens)) if pair in merges]:
        tokens[known[0] : known[0] + 2] = ["".join(tokens[known[0] : known[0] + 2])]
    return tokens


def _longest_first(word: str, merges: list[Pair]) -> list[str]:
    known, tokens = {"".join(pair) for pair in merges}, []
    while word:
        end = max(i for i in range(1, len(word) + 1) if i == 1 or word[:i] in known)
        tokens.append(word[:end])
        word = word[end:]
    return tokens


def _overlapping(word: str, merges: list[Pair]) -> list[str]:
    """A token that was joined is used once more for the next pair."""
    tokens = list(word)
    for pair in merges:
        found = [found == pair for found in pairwise(tokens)]
        if any(found):
            new = ["".join(pair) if hit else a for a, hit in zip(tokens, found, strict=False)]
            tokens = new if found[-1] else [*new, tokens[-1]]
    return tokens


cut_into_subwords = Exercise(
    reference=_cut_into_subwords,
    mistakes={
        "a pair is joined only where it comes first in the word; join it everywhere.": _first_only,
        "the merges are applied from the last to the first; begin with the first.": (
            lambda word, merges: _cut(word, merges[::-1])
        ),
        "pairs are joined from the left; the merge that was learned first goes first.": (
            _from_the_left
        ),
        "a merge that finds nothing ends the work; go on with the next one.": _until_one_fails,
        "this takes the longest known token from the left; the order of the merges decides.": (
            _longest_first
        ),
        "a part that was joined is there a second time; it is used up.": _overlapping,
        "only the first merge is applied.": lambda word, merges: _cut(word, merges[:1]),
        "the first merge is left out.": lambda word, merges: _cut(word, merges[1:]),
        "the last merge is left out.": lambda word, merges: _cut(word, merges[:-1]),
        "nothing is joined: these are the characters.": lambda word, merges: list(word),
        "this is one text; a list of tokens is asked for.": (
            lambda word, merges: " ".join(_cut(word, merges))
        ),
        "the mark ▁ is lost; it belongs to the word.": (
            lambda word, merges: [t for t in (x.lstrip("▁") for x in _cut(word, merges)) if t]
        ),
        "these are the new tokens only; the characters that stay single belong to the word, too.": (
            lambda word, merges: [token for token in _cut(word, merges) if len(token) > 1]
        ),
        "these are the merges that were used; the tokens of the word are asked for.": (
            lambda word, merges: [
                "".join(pair)
                for i, pair in enumerate(merges)
                if _cut(word, merges[: i + 1]) != _cut(word, merges[:i])
            ]
        ),
    },
    cases=[
        ("▁hunde", [("u", "n"), ("un", "d"), ("▁", "h"), ("▁h", "und")]),
        ("▁anna", [("a", "n"), ("n", "a"), ("▁", "an"), ("na", "n"), ("n", "e")]),
        ("▁seesee", [("e", "e"), ("t", "ee"), ("s", "ee"), ("▁", "see")]),
        ("▁abcd", [("b", "c"), ("a", "b"), ("bc", "d"), ("▁", "a"), ("▁", "ab")]),
        ("▁ooo", [("o", "o"), ("▁", "oo")]),
        ("▁abc", [("b", "c"), ("a", "b")]),
    ],
)
