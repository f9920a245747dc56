"""Translation: how a word is cut by the merges."""

from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.translation.cutting import (
    cut,
    first_only,
    from_the_left,
    in_text,
    longest_first,
    one_walk,
    overlapping,
    running_range,
    swallowing,
    until_one_fails,
)
from transformer_workbook.old_exercises.translation.merges import Pair


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


cut_into_subwords = Exercise(
    reference=_cut_into_subwords,
    given={
        "a pair is joined only where it comes first in the word; join it everywhere.": first_only,
        "the merges are applied from the last to the first; begin with the first.": (
            lambda word, merges: cut(word, merges[::-1])
        ),
        "pairs are joined from the left; the merge that was learned first goes first.": (
            from_the_left
        ),
        "a merge that finds nothing ends the work; go on with the next one.": until_one_fails,
        "this takes the longest known token from the left; the order of the merges decides.": (
            longest_first
        ),
        "a part that was joined is there a second time; it is used up.": overlapping,
        "a joined part is joined again with the next one; it is used up.": swallowing,
        "the last token is lost when it is not joined.": (
            lambda word, merges: cut(word, merges, tail=False)
        ),
        "the last pair of neighbours is not looked at.": (
            lambda word, merges: cut(word, merges, early=1)
        ),
        "after a joined pair one token is passed over.": (
            lambda word, merges: cut(word, merges, step=3)
        ),
        "parts of longer tokens are joined, too; a pair is two whole tokens.": in_text,
        "pairs are joined from the right; where two overlap, the left one goes first.": (
            lambda word, merges: [
                token[::-1] for token in cut(word[::-1], [(b[::-1], a[::-1]) for a, b in merges])
            ][::-1]
        ),
        "the merges are gone through again and again; once is enough.": (
            lambda word, merges: cut(word, merges * 9)
        ),
        "the mark ▁ is not there when merges are applied; it is a token like any other.": (
            lambda word, merges: cut(word.lstrip("▁"), merges)
        ),
        "the list is made shorter under a running `range`; keep a new list.": running_range,
        "the two parts are joined in the wrong order.": (
            lambda word, merges: cut(word, merges, turned=True)
        ),
        "only the first merge is applied.": lambda word, merges: cut(word, merges[:1]),
        "the first merge is left out.": lambda word, merges: cut(word, merges[1:]),
        "the last merge is left out.": lambda word, merges: cut(word, merges[:-1]),
        "nothing is joined: these are the characters.": lambda word, merges: list(word),
        "this is one text; a list of tokens is asked for.": (
            lambda word, merges: " ".join(cut(word, merges))
        ),
        "the mark ▁ is lost; it belongs to the word.": (
            lambda word, merges: [t for t in (x.lstrip("▁") for x in cut(word, merges)) if t]
        ),
        "these are the new tokens only; the characters that stay single belong to the word, too.": (
            lambda word, merges: [token for token in cut(word, merges) if len(token) > 1]
        ),
        "these are the merges that were used; the tokens of the word are asked for.": (
            lambda word, merges: [
                "".join(pair)
                for i, pair in enumerate(merges)
                if cut(word, merges[: i + 1]) != cut(word, merges[:i])
            ]
        ),
        "this is one walk from the left, whatever pair fits: each merge has a walk of its own.": (
            one_walk
        ),
        "the mark ▁ is put in front once more; `word` begins with it.": (
            lambda word, merges: cut("▁" + word, merges)
        ),
    },
    cases=[
        ("▁hunde", [("u", "n"), ("un", "d"), ("▁", "h"), ("▁h", "und")]),
        ("▁anna", [("a", "n"), ("n", "a"), ("▁", "an"), ("na", "n"), ("n", "e")]),
        ("▁seesee", [("e", "e"), ("t", "ee"), ("s", "ee"), ("▁", "see")]),
        ("▁abcd", [("b", "c"), ("a", "b"), ("bc", "d"), ("▁", "a"), ("▁", "ab")]),
        ("▁ooo", [("o", "o"), ("▁", "oo")]),
        ("▁abc", [("b", "c"), ("a", "b")]),
        ("▁abc", [("a", "bc"), ("b", "c")]),
    ],
)
