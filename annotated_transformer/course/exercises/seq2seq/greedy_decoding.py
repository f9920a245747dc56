"""Sequence to sequence: the words that come out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.course.checking import Exercise

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
    tokens: list[int] = []
    for _ in range(limit):
        token = int(next_logits([bos, *tokens]).argmax())
        if token == eos:
            break
        tokens.append(token)
    return tokens


def _decode(
    next_logits: NextLogits,
    bos: int,
    limit: int,
    stop: int | None = None,
    choose: Callable[[Tensor], Tensor] = torch.argmax,
    read: Callable[[list[int]], list[int]] = list,
) -> list[int]:
    """The tokens of a loop that can be wrong in many ways, BOS and the end symbol included."""
    tokens = [bos]
    while len(tokens) <= limit and (tokens[-1] != stop or len(tokens) == 1):
        tokens.append(int(choose(next_logits(read(tokens)))))
    return tokens


def _without(tokens: list[int], eos: int) -> list[int]:
    return [token for token in tokens[1:] if token != eos]


greedy_decode = Exercise(
    reference=_greedy_decode,
    mistakes={
        "EOS is still in it; it says that the sentence is over, and is no word.": (
            lambda f, bos, eos, limit: _decode(f, bos, limit, eos)[1:]
        ),
        "BOS is still in it; the model reads it, but does not say it.": (
            lambda f, bos, eos, limit: [bos, *_without(_decode(f, bos, limit, eos), eos)]
        ),
        "BOS and EOS are still in it; give the words alone.": (
            lambda f, bos, eos, limit: _decode(f, bos, limit, eos)
        ),
        "you go on after EOS; stop there.": (
            lambda f, bos, eos, limit: _without(_decode(f, bos, limit), eos)
        ),
        "you go on after EOS, and keep it; stop there.": (
            lambda f, bos, eos, limit: _decode(f, bos, limit)[1:]
        ),
        "you show the model the last token alone; it needs all tokens so far.": (
            lambda f, bos, eos, limit: _without(
                _decode(f, bos, limit, eos, read=lambda tokens: tokens[-1:]), eos
            )
        ),
        "you never show the model what it has said: it reads BOS alone at every step.": (
            lambda f, bos, eos, limit: _without(
                _decode(f, bos, limit, eos, read=lambda tokens: tokens[:1]), eos
            )
        ),
        "you hide BOS from the model; every sentence begins with it.": (
            lambda f, bos, eos, limit: _without(
                _decode(f, bos, limit, eos, read=lambda tokens: tokens[1:]), eos
            )
        ),
        "you take the least likely token: argmin in place of argmax.": (
            lambda f, bos, eos, limit: _without(
                _decode(f, bos, limit, eos, choose=torch.argmin), eos
            )
        ),
        "at the limit a word is missing: BOS does not count, and only EOS is cut off at the end.": (
            lambda f, bos, eos, limit: _without(_decode(f, bos, limit - 1, eos), eos)
        ),
        "you stop one word too late: `limit` words are allowed, not more.": (
            lambda f, bos, eos, limit: _without(_decode(f, bos, limit + 1, eos), eos)
        ),
        "you forget the limit; a model that never says EOS would talk forever.": (
            lambda f, bos, eos, limit: _without(_decode(f, bos, 10**9, eos), eos)
        ),
    },
    cases=[
        (Reciter((5, 6, 2, 7)), 1, 2, 8),
        (Reciter((4, 8, 5, 6, 7, 2)), 1, 2, 3),
        (Reciter((5, 2, 9, 4, 7), bos=6), 6, 9, 5),
    ],
)
