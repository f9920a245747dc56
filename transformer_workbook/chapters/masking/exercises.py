import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import SelfAttention
from annotated_transformer.batches import pad
from annotated_transformer.tokens import BOS, EOS, PAD, UNK
from transformer_workbook.judge import (
    attempt,
    derivation,
    difference,
    equal,
    exercise,
    normal,
    number,
    numbers_for,
    put_to_work,
    question,
    random_cases,
)
from transformer_workbook.judge.sentences import said, to_say


@exercise(random_cases("... time d_k", "... time d_k", "... time d_v"))
def causal_attention(
    query: Float[Tensor, "*batch time d_k"],
    key: Float[Tensor, "*batch time d_k"],
    value: Float[Tensor, "*batch time d_v"],
) -> Float[Tensor, "*batch time d_v"]:
    """Causal attention, after the bug in the friend's is found."""
    scores = query @ key.mT / math.sqrt(query.size(-1))
    past = torch.ones_like(scores).tril() == 1
    return scores.masked_fill(~past, -torch.inf).softmax(dim=-1) @ value


@exercise(
    [
        (pad([[1, 6, 5, 2], [1, 7]]), 2),
        (pad([[1, 8, 2], [9, 8, 7, 6, 2], [1, 3, 4, 2]]), 3),
        (pad([[1, 6, 5, 4, 9, 3], [7, 2, 8, 1]]).flip(1), 4),  # padded on the left
        (pad([[5, 2], [5, 6, 2]]), 1),
    ]
)
def window_mask(ids: Int[Tensor, "batch time"], width: int) -> Bool[Tensor, "batch 1 time time"]:
    """The causal window mask of a batch: each position attends to width words, no padding."""
    place = torch.arange(ids.size(1))
    back = place[:, None] - place
    near = (back >= 0) & (back < width)
    words = (ids != PAD)[:, None, None]
    mask = words & near
    return mask


Logits = Callable[[Tensor], Tensor]


@dataclass(frozen=True, repr=False)
class Reader:
    """A model of which you can read what it sees: for each position, the positions it attends to.

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


@exercise(
    [
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
            ((0, 3), (0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5)),
            ((0,), (0, 1), (0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5)),
            ((0,), (0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5)),
        )
    ]
    + [  # the token that some write into the copies is there already
        (Reader(((0,), (1, 2), (0, 1, 2))), torch.tensor([5, 7, token]))
        for token in (PAD, BOS, EOS, UNK)
    ]
    + [  # tokens in another order are the same tokens
        (Reader(((0,), (1, 3), (0, 2), (0, 1, 3))), torch.tensor([6, 6, 6, 6])),
    ]
)
def sees_the_future(logits: Logits, ids: Int[Tensor, " length"]) -> bool:
    """Does a model see the future? The test of it."""
    for t in range(1, len(ids)):
        changed = ids.clone()
        changed[t] += 1
        same = torch.isclose(logits(changed), logits(ids)).all(dim=-1)
        if not same[:t].all():
            return True
    return False


@exercise(
    [
        ([3, 5, 5, 2, 3],),
        ([4, 4],),
        ([1, 6, 5, 6, 3, 2],),
        ([7],),
        ([9, 2, 8],),
        ([12, 3, 4, 10],),
    ]
)
def kept_ends(lengths: list[int]) -> int:
    """In how many rows is an EOS left, once the last column is cut off?"""
    longest = max(lengths)
    shorter = [length for length in lengths if length < longest]
    return len(shorter)


LAYERS, WIDTH, PLACES = 3, 5, 20


def reach(layers: int = LAYERS, width: int = WIDTH) -> int:
    """How many positions back a stack of layers reaches, each of them through a window."""
    place = torch.arange(PLACES)
    back = place[:, None] - place
    window = ((back >= 0) & (back < width)).double()
    seen = torch.linalg.matrix_power(window, layers)[-1]
    return int(back[-1, seen > 0].max())


@number()
def far_reach() -> int:
    """How many positions back do three layers reach, each through a window of five?"""
    return reach()


@derivation(
    [
        (normal(3, seed=0), torch.tensor([True, True, False]), normal(3, seed=1)),
        (
            normal(5, seed=2).float(),
            torch.tensor([True, False, True, True, False]),
            normal(5, seed=3).float(),
        ),
        (normal(4, seed=4), torch.tensor([False, True, True, True]), normal(4, seed=5)),
    ]
)
def through_the_mask(
    scores: Float[Tensor, " key"], mask: Bool[Tensor, " key"], values: Float[Tensor, " key"]
) -> tuple[Tensor, ...]:
    """What a mask does to the weights, and to the gradient of each score."""
    weights = scores.softmax(0)
    left = (weights * mask).sum()
    masked = weights * mask / left
    output = masked @ values
    gradient = masked * (values - output)
    return weights, left, masked, output, gradient


Case = tuple[Tensor, Tensor, Tensor]


def vectors(*shape: int, seed: int, width: int = 4, value_width: int = 4) -> Case:
    """Queries and keys of some width, and values of another or the same."""
    sizes = (*shape, width), (*shape, width), (*shape, value_width)
    query, key, value = (normal(*size, seed=seed + i) for i, size in enumerate(sizes))
    return query, key, value


FOUR = vectors(4, seed=0)


def failed_test(attention: Any) -> tuple[str, str]:
    """Which of the five tests a function fails first, and how; two empty texts if none."""
    query, key, value = FOUR
    ones = torch.ones_like(value)
    other_query, other_key, other_value = query.clone(), key.clone(), value.clone()
    other_query[-1], other_key[-1], other_value[-1] = -query[-1], 2 - key[-1], 5 - value[-1]
    outs = []
    for case in FOUR, (query, key, ones), (other_query, other_key, other_value):
        outs.append(out := attempt(attention, case).result)
        if not isinstance(out, Tensor) or out.shape != value.shape:
            return "A", difference(out, value)
    plain, of_ones, other = outs
    unmasked = F.scaled_dot_product_attention(*FOUR)
    tests = {
        "B": (of_ones, ones),
        "C": (plain[0], value[0]),
        "D": (other[:-1], plain[:-1]),
        "E": (plain[-1], unmasked[-1]),
    }
    for letter, (got, want) in tests.items():
        if not equal(got, want):
            return letter, difference(got, want)
    return "", ""


def long_queries() -> Case:
    """Queries that are so long that one key takes all the weight."""
    query, key, value = vectors(6, seed=50)
    return 1e10 * query, key, value


def opposite_queries() -> Case:
    """Queries opposite to the key of their own position: the first attends to that alone."""
    _, key, value = vectors(6, seed=55)
    return -1e10 * key, key, value


def single_precision() -> Case:
    """Five words in float32."""
    query, key, value = vectors(5, seed=65)
    return query.float(), key.float(), value.float()


PROBES: dict[str, Case] = {
    to_say("the four words of the tests"): FOUR,
    to_say("seven words"): vectors(7, seed=10),
    to_say("one word"): vectors(1, seed=20),
    to_say("queries and keys of width 9"): vectors(4, seed=30, width=9),
    to_say("values of width 3"): vectors(4, seed=35, value_width=3),
    to_say("values of width 6"): vectors(4, seed=36, value_width=6),
    to_say("one sentence in a batch"): vectors(1, 5, seed=37),
    to_say("a batch of two sentences"): vectors(2, 5, seed=40),
    to_say("two sentences and three heads"): vectors(2, 3, 5, seed=45),
    to_say("queries that are very long"): long_queries(),
    to_say("a visible score below -10,000,000,000"): opposite_queries(),
    to_say("forty words"): vectors(40, seed=60),
    to_say("a hundred words"): vectors(100, seed=62),
    to_say("single precision"): single_precision(),
}
"""What no test tries, but for the first."""


@question
def unseen_leak(answer: Any, say: Callable[..., str]) -> str:
    """Write causal attention with a bug that all five tests let through."""
    if not callable(answer):
        return say("no function")
    letter, how = failed_test(answer)
    if letter:
        return say("caught", letter=letter, how=how)
    for probe, case in PROBES.items():
        got, right = attempt(answer, case).result, causal_attention.reference(*case)
        if not equal(got, right):
            print(say("unseen", probe=said(probe), how=difference(got, right)))
            return ""
    return say("no bug", number=len(PROBES))


Weights = dict[str, Tensor]


def _put_to_work(
    kind: Callable[..., nn.Module],
    x: Float[Tensor, "*batch time d_model"],
    mask: Bool[Tensor, "*#batch #time time"],
    weights: Weights,
) -> Any:
    """Build a layer, give it weights, and let sentences pass through it, under a mask."""
    d_k, d_v = (len(weights[f"{name}.weight"]) for name in ("key", "value"))
    return put_to_work(kind(x.size(-1), d_k, d_v), weights, x, mask)


def _layer_case(
    *axes: int, d_k: int, d_v: int, mask: Tensor, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Weights]:
    """Sentences, a mask, and weights for a layer that reads them."""
    weights = numbers_for(SelfAttention, axes[-1], d_k, d_v, dtype=dtype)
    return normal(*axes, seed=10, dtype=dtype), mask, weights


def _causal(*axes: int) -> Bool[Tensor, "query key"]:
    return torch.ones(axes, dtype=torch.bool).tril()


@exercise(
    [
        _layer_case(4, 6, d_k=3, d_v=5, mask=_causal(4, 4)),
        _layer_case(2, 5, 7, d_k=4, d_v=3, mask=_causal(5, 5), dtype=torch.float32),
        _layer_case(
            2, 4, 8, d_k=5, d_v=6, mask=torch.tensor([[[1, 1, 0, 1]], [[1, 0, 0, 1]]]).bool()
        ),
    ],
    ask=_put_to_work,
    gap=True,
)
def masked_attention(d_model: int, d_k: int, d_v: int) -> nn.Module:
    """Write a layer of self-attention that looks only where a mask is true."""

    class MaskedAttention(SelfAttention):
        def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
            q, k, v = self.query(x), self.key(x), self.value(x)
            scores = q @ k.mT / math.sqrt(d_k)
            scores = scores.masked_fill(~mask, -torch.inf)
            weights = scores.softmax(dim=-1)
            output: Tensor = weights @ v
            return output

    return MaskedAttention(d_model, d_k, d_v)


@exercise(
    [
        (torch.tensor([[4, 5, 0], [4, 0, 0], [4, 5, 6]]),),  # as many lines as positions
        (pad([[11, 16, 15, 12], [11, 17]]),),
        (pad([[18, 12], [9, 8, 7, 6, 12], [13, 14, 12]]),),
        (pad([[6, 5, 4, 9, 3, 12], [7, 12, 8, 3]]).flip(1),),  # padded on the left
        (torch.tensor([[5, 6, 7], [8, 9, 5]]),),
    ],
    gap=True,
)
def may_attend(ids: Int[Tensor, "batch time"]) -> Bool[Tensor, "batch time time"]:
    """The mask of a batch of lines: nobody looks at padding, and nobody looks ahead."""
    time = ids.size(1)
    word = (ids != PAD)[:, None, :]
    past = torch.ones(time, time, dtype=torch.bool).tril()
    mask = word & past
    return mask
