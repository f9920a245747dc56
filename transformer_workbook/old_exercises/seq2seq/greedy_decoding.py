"""Sequence to sequence: the words that come out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.exercises import Exercise

VOCAB = 10
LOST = 3  # what a model says that does not know how to go on
PATIENCE = 20  # tokens; whoever asks for more is in an endless loop

NextLogits = Callable[[list[int]], Tensor]


@dataclass(frozen=True)
class Reciter:
    """A language model that knows one sentence by heart, and gets lost if led astray."""

    words: tuple[int, ...]
    bos: int = 1

    def __call__(self, tokens: Iterable[Any]) -> Tensor:
        """The logits of the next token: the closer to the best id, the higher."""
        said = [int(token) for token in tokens]
        if len(said) > PATIENCE:
            raise RuntimeError(f"the sentence has {len(said)} tokens and does not end.")
        script = [self.bos, *self.words]
        known = said and said == script[: len(said)]
        best = [*script, LOST][len(said)] if known else LOST
        return -(torch.arange(VOCAB) - best).abs().double()


def _greedy_decode(next_logits: NextLogits, bos: int, eos: int, limit: int) -> list[int]:
    """Write the likeliest token, read it, and go on until EOS or the limit."""
    tokens: list[int] = []
    for _ in range(limit):
        token = int(next_logits([bos, *tokens]).argmax())
        if token == eos:
            break
        tokens.append(token)
    return tokens


def _cut_at_eos(
    find: Callable[[list[int], int], list[int]],
) -> Callable[[NextLogits, int, int, int], list[int]]:
    """The loop that keeps EOS, and cuts it off at the end, where it may be missing."""
    return lambda model, bos, eos, limit: find(_wrong(keeps="EOS")(model, bos, eos, limit), eos)


def _first_unasked(next_logits: NextLogits, bos: int, eos: int, limit: int) -> list[int]:
    """The loop that looks for EOS from the second token on."""
    first = int(next_logits([bos]).argmax())
    return [first, *_greedy_decode(lambda rest: next_logits([bos, *rest]), first, eos, limit - 1)]


def _removed(tokens: list[int], eos: int) -> list[int]:
    tokens.remove(eos)
    return tokens


def _wrong(
    more: int = 0,
    stops: bool = True,
    keeps: str = "",
    choose: Callable[[Tensor], Tensor] = torch.argmax,
    read: Callable[[list[int]], list[int]] = list,
) -> Callable[[NextLogits, int, int, int], list[int]]:
    """The loop with another limit, without a stop, or with BOS or EOS in what it keeps."""

    def answer(next_logits: NextLogits, bos: int, eos: int, limit: int) -> list[int]:
        tokens = [bos]
        while len(tokens) <= limit + more and not (stops and eos in tokens[1:]):
            tokens.append(int(choose(next_logits(read(tokens)))))
        words = [token for token in tokens[1:] if token != eos or "EOS" in keeps]
        return [bos, *words] if "BOS" in keeps else words

    return answer


greedy_decode = Exercise(
    reference=_greedy_decode,
    given={
        "EOS is still in it; it says that the sentence is over, and is no word.": (
            _wrong(keeps="EOS")
        ),
        "BOS is still in it; the model reads it, but does not say it.": _wrong(keeps="BOS"),
        "BOS and EOS are still in it; give the words alone.": _wrong(keeps="BOS EOS"),
        "the sentence goes on after EOS; stop there.": _wrong(stops=False),
        "the sentence goes on after EOS, and keeps it; stop there.": (
            _wrong(stops=False, keeps="EOS")
        ),
        "the model reads the last token alone at every step; it needs all tokens so far.": (
            _wrong(read=lambda tokens: tokens[-1:])
        ),
        "the model reads BOS alone at every step; it needs all tokens so far.": (
            _wrong(read=lambda tokens: tokens[:1])
        ),
        "the model does not read BOS; every sentence begins with it.": (
            _wrong(read=lambda tokens: tokens[1:])
        ),
        "the last token alone is given; keep all of them.": (
            lambda *case: _greedy_decode(*case)[-1:]
        ),
        "this is the last token, as a number; a list of all is asked for.": (
            lambda *case: _greedy_decode(*case)[-1]
        ),
        "where `limit` comes first, there is no EOS to be found; cut it off only if it is there.": (
            _cut_at_eos(lambda tokens, eos: tokens[: tokens.index(eos)])
        ),
        "where `limit` comes first, there is no EOS to be removed.": _cut_at_eos(_removed),
        "the first token is not compared with EOS; a sentence may be empty.": _first_unasked,
        "1 is written in for BOS; use `bos`, for one of these models has bos=6.": (
            lambda model, bos, eos, limit: _greedy_decode(model, 1, eos, limit)
        ),
        "2 is written in for EOS; use `eos`, for one of these models has eos=9.": (
            lambda model, bos, eos, limit: _greedy_decode(model, bos, 2, limit)
        ),
        "these are the least likely tokens: argmin in place of argmax.": _wrong(
            choose=torch.argmin
        ),
        "every token is 0; `next_logits` gives one axis, over the vocabulary.": (
            _wrong(choose=lambda logits: logits[-1].argmax())
        ),
        "at the limit a word is missing: BOS does not count, and only EOS is cut off at the end.": (
            _wrong(more=-1)
        ),
        "there is one word too many: `limit` words are allowed.": _wrong(more=1),
        "the limit is not kept; a model that never says EOS would talk forever.": _wrong(10**9),
    },
    cases=[
        (Reciter((5, 6, 2, 7)), 1, 2, 8),
        (Reciter((4, 8, 5, 6, 7, 2)), 1, 2, 3),
        (Reciter((5, 2, 9, 4, 7), bos=6), 6, 9, 5),
        (Reciter((2, 5, 7)), 1, 2, 4),
    ],
    whole=True,
)
