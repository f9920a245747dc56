"""Masking: how to find out that the future is seen."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.tokens import BOS, EOS, PAD, UNK
from transformer_workbook.judge.exercises import Exercise


@dataclass(frozen=True, repr=False)
class Reader:
    """A model of which you can read what it sees: for each position, the positions it reads.

    It also takes the beginning of a sentence; what it would see beyond its end is not there.
    """

    sees: tuple[tuple[int, ...], ...]

    def __call__(self, ids: Tensor) -> Tensor:
        """The logits (length, vocab) of the token after each position."""
        place = torch.arange(len(ids))
        signs = torch.sin((ids[:, None] + 1.0) * (place[:, None] + 2.0) * torch.arange(1, 5))
        signs = signs - signs.mean(1, keepdim=True)  # who adds up the logits sees nothing
        rows = [[u for u in seen if u < len(ids)] for seen in self.sees[: len(ids)]]
        return torch.stack([signs[row].sum(0) for row in rows])

    def __repr__(self) -> str:
        seen = [", ".join(map(str, row)) or "nothing" for row in self.sees]
        return f"a model ({'; '.join(f'{t} sees {row}' for t, row in enumerate(seen))})"


def _leaky(position: int, future: int) -> tuple[Reader, Tensor]:
    """Six tokens, of which one position sees one later token beside all up to itself."""
    sees = [tuple(range(t + 1)) for t in range(6)]
    sees[position] += (future,)
    return Reader(tuple(sees)), torch.arange(4, 10)


Logits = Callable[[Tensor], Tensor]


def _sees_the_future(logits: Logits, ids: Int[Tensor, " length"]) -> bool:
    """Does a model see the future? The test of it."""
    for t in range(1, len(ids)):
        changed = ids.clone()
        changed[t] += 1
        if not torch.allclose(logits(ids)[:t], logits(changed)[:t]):
            return True
    return False


def _test(
    where: Callable[[int], slice] = lambda t: slice(t),
    tokens: slice = slice(1, None),
    stays: bool = False,
    what: Callable[[Tensor], Tensor] = lambda logits: logits,
    other: Callable[[Tensor], Tensor | int] = lambda token: token + 1,
) -> Callable[[Logits, Tensor], bool]:
    """The test that compares other logits, or changes other tokens, or in another way."""

    def differs(logits: Logits, ids: Tensor) -> bool:
        changed, found = ids.clone(), False
        for t in list(range(len(ids)))[tokens]:
            changed = changed if stays else ids.clone()
            changed[t] = other(ids[t])
            before, after = (what(logits(x)[where(t)]) for x in (ids, changed))
            found = found or not torch.allclose(before, after)
        return found

    return differs


def _by_halves(logits: Logits, ids: Tensor) -> bool:
    half, changed = len(ids) // 2, ids.clone()
    changed[half:] += 1
    return not torch.allclose(logits(ids)[:half], logits(changed)[:half])


sees_the_future = Exercise(
    reference=_sees_the_future,
    given={
        "only a change of the last token counts; an early position may see the one after it.": (
            _test(tokens=slice(-1, None))
        ),
        "only a change of the token at 1 counts; go through all before you return False.": (
            _test(tokens=slice(1, 2))
        ),
        "the logits at the changed token count too; there they may change.": (
            _test(lambda t: slice(t + 1), slice(None))
        ),
        "all logits count; those at the changed token and later may change.": (
            _test(lambda t: slice(None), slice(None))
        ),
        "the logits after the changed token count: it is the past of those positions.": (
            _test(lambda t: slice(t + 1, None), slice(None))
        ),
        "only the position just before the changed token counts; a leak may reach farther.": (
            _test(lambda t: slice(t - 1, t))
        ),
        "only the first position counts; the others may see the future, too.": (
            _test(lambda t: slice(1))
        ),
        "the changes of earlier rounds stay: make a new copy in each round.": _test(stays=True),
        "it is the other way round: True means that the future is seen.": (
            lambda logits, ids: not _sees_the_future(logits, ids)
        ),
        "the tokens become PAD; where a token is PAD already, nothing changes.": (
            _test(other=lambda token: PAD)
        ),
        "the tokens become BOS; where a token is BOS already, nothing changes.": (
            _test(other=lambda token: BOS)
        ),
        "the tokens become EOS; where a token is EOS already, nothing changes.": (
            _test(other=lambda token: EOS)
        ),
        "the tokens become UNK; where a token is UNK already, nothing changes.": (
            _test(other=lambda token: UNK)
        ),
        "the position just before the changed token is not compared; it sees one too far, too.": (
            _test(lambda t: slice(t - 1))
        ),
        "the logits at the changed token alone count; there they may change.": (
            _test(lambda t: slice(t, t + 1), slice(None))
        ),
        "the last token is never changed; it is the future of all others.": (
            _test(tokens=slice(1, -1))
        ),
        "the token at 1 is never changed; it is the future of the first.": (
            _test(tokens=slice(2, None))
        ),
        "only a change of the first token counts; it is nobody's future.": (
            _test(lambda t: slice(None), slice(1))
        ),
        "only what follows the first token counts, which may change with it.": (
            _test(lambda t: slice(1, None), slice(1))
        ),
        "only the second half changes, and the first is compared; a leak may stay within a half.": (
            _by_halves
        ),
        "only the likeliest tokens are compared; a leak may move the logits less.": (
            _test(what=lambda logits: logits.argmax(-1))
        ),
    },
    cases=[
        (Reader(sees), torch.arange(4, 4 + len(sees)))
        for sees in (
            ((0,), (0, 1), (0, 1, 2)),
            ((0, 1, 2), (0, 1, 2), (0, 1, 2)),
            ((0, 1), (0, 1), (0, 1, 2), (0, 1, 2, 3)),
            ((), (0,), (0, 1), (2, 1, 0)),
            ((0,), (1, 3), (0, 2), (0, 1)),
            ((0, 2), (0, 1), (0, 1, 2)),
            ((0,), (1, 2), (0, 1, 2)),
            ((0,), (1, 2), (0, 1, 2), (3,)),
            ((), (), ()),
            ((0,), (1,), (2,)),
            ((), (0,), (0, 1)),
            ((), (1,), (1, 2)),
            ((1,), (0, 2), (0, 1)),
        )
    ]
    + [_leaky(0, 3), _leaky(2, 3), _leaky(4, 5)]
    + [  # a token that some write into the copies stands there already
        (Reader(((0,), (1, 2), (0, 1, 2))), torch.tensor([5, 7, token]))
        for token in (PAD, BOS, EOS, UNK)
    ]
    + [  # tokens in another order are the same tokens
        (Reader(((0,), (1, 3), (0, 2), (0, 1, 3))), torch.tensor([6, 6, 6, 6])),
    ],
)
