"""Translation: ways to cut a word that are wrong in one place."""

from itertools import pairwise

from transformer_workbook.old_exercises.translation.merges import Pair


def cut(
    word: str,
    merges: list[Pair],
    tail: bool = True,
    early: int = 0,
    step: int = 2,
    turned: bool = False,
) -> list[str]:
    """Cut a word by places; the settings make an end, or the next place, wrong."""
    tokens = list(word)
    for a, b in merges:
        new, i = [], 0
        while i < len(tokens) - (not tail):
            if tokens[i : i + 2] == [a, b] and i + 1 + early < len(tokens):
                new.append(b + a if turned else a + b)
                i += step
            else:
                new.append(tokens[i])
                i += 1
        tokens = new
    return tokens


def first_only(word: str, merges: list[Pair]) -> list[str]:
    """A pair is joined once."""
    tokens = list(word)
    for pair in merges:
        for i, found in enumerate(pairwise(tokens)):
            if found == pair:
                tokens[i : i + 2] = ["".join(pair)]
                break
    return tokens


def until_one_fails(word: str, merges: list[Pair]) -> list[str]:
    """A merge that finds nothing is the last."""
    for i in range(len(merges)):
        if cut(word, merges[: i + 1]) == cut(word, merges[:i]):
            return cut(word, merges[:i])
    return cut(word, merges)


def from_the_left(word: str, merges: list[Pair]) -> list[str]:
    """Whatever pair is known is joined, the leftmost first."""
    tokens = list(word)
    while known := [i for i, pair in enumerate(pairwise(tokens)) if pair in merges]:
        tokens[known[0] : known[0] + 2] = ["".join(tokens[known[0] : known[0] + 2])]
    return tokens


def longest_first(word: str, merges: list[Pair]) -> list[str]:
    """The longest known token comes first."""
    known, tokens = {"".join(pair) for pair in merges}, []
    while word:
        end = max(i for i in range(1, len(word) + 1) if i == 1 or word[:i] in known)
        tokens.append(word[:end])
        word = word[end:]
    return tokens


def overlapping(word: str, merges: list[Pair]) -> list[str]:
    """A token that was joined is used once more for the next pair."""
    tokens = list(word)
    for pair in merges:
        found = [found == pair for found in pairwise(tokens)]
        if any(found):
            new = ["".join(pair) if hit else a for a, hit in zip(tokens, found, strict=False)]
            tokens = new if found[-1] else [*new, tokens[-1]]
    return tokens


def swallowing(word: str, merges: list[Pair]) -> list[str]:
    """The second part of a joined pair begins the next one, if it can."""
    tokens = list(word)
    for pair in merges:
        new, used = [], False
        for found in zip(tokens, [*tokens[1:], ""], strict=True):
            if found == pair:
                new.append("".join(pair))
            elif not used:
                new.append(found[0])
            used = found == pair
        tokens = new
    return tokens


def in_text(word: str, merges: list[Pair]) -> list[str]:
    """The merges are replaced in a text with spaces."""
    text = " ".join(word)
    for a, b in merges:
        text = text.replace(f"{a} {b}", a + b)
    return text.split()


def running_range(word: str, merges: list[Pair]) -> list[str]:
    """The list gets shorter while its places are gone through."""
    tokens = list(word)
    for a, b in merges:
        for i in range(len(tokens) - 1):
            if tokens[i] == a and tokens[i + 1] == b:
                tokens[i : i + 2] = [a + b]
    return tokens


def one_walk(word: str, merges: list[Pair]) -> list[str]:
    """Each character joins what is left of it, if any merge says so."""
    tokens = list(word[:1])
    for letter in word[1:]:
        if (tokens[-1], letter) in merges:
            tokens[-1] += letter
        else:
            tokens.append(letter)
    return tokens
