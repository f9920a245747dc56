"""Cross-attention: who asks, who is asked, and what makes no difference."""

import math
from collections.abc import Callable
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transformer_workbook.exercises.cases import normal, random_cases
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.old_question import Question, by_letters


def _turned_attention(
    x: Float[Tensor, "*batch tgt d"], memory: Float[Tensor, "*batch src d"]
) -> Float[Tensor, "*batch tgt d"]:
    """Find what is wrong in a cross-attention without matrices."""
    weights = (x @ memory.mT / math.sqrt(x.size(-1))).softmax(dim=-1)
    return weights @ memory


def _wrong(
    root: Callable[[int], float] = math.sqrt,
    share: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    end: Callable[[Tensor, Tensor], Tensor] = lambda weights, memory: weights @ memory,
) -> Callable[[Tensor, Tensor], Tensor]:
    """The same with another divisor, way to share out the weights, or end."""
    return lambda x, memory: end(share(x @ memory.mT / root(x.size(-1))), memory)


def _attend(x: Tensor, memory: Tensor, size: int) -> Tensor:
    """The same with the root of another size."""
    return _wrong(root=lambda d: math.sqrt(size))(x, memory)


OTHER_ROOTS: dict[str, Callable[[Tensor, Tensor, int], float]] = {
    "this divides by the root of the number of source words": lambda x, m, d: m.size(-2) ** 0.5,
    "this divides by the root of the number of target words": lambda x, m, d: x.size(-2) ** 0.5,
    "the scores are divided by d": lambda x, m, d: d,
    "the scores are multiplied by √d": lambda x, m, d: d**-0.5,
}


turned_attention = Exercise(
    reference=_turned_attention,
    given={
        "each source word shares out 1 among the targets; each target must share out 1.": (
            _wrong(share=lambda scores: scores.softmax(-2))
        ),
        "the result has a vector for each source word: here the memory asks.": (
            lambda x, m: _turned_attention(m, x)
        ),
        "the memory is not used: this is self-attention of the target.": (
            lambda x, m: _turned_attention(x, x)
        ),
        "x is not used: this is self-attention of the memory.": (
            lambda x, m: _turned_attention(m, m)
        ),
        "the factor 1/√d is missing.": _wrong(root=lambda d: 1),
        "the scores are divided by d; its root is asked for.": _wrong(root=lambda d: d),
        "the scores are divided by 2d: d ** -1/2 is (d ** -1)/2, so write d ** -0.5.": (
            _wrong(root=lambda d: 2 * d)
        ),
        "the softmax is missing: these weights do not sum to 1.": _wrong(share=lambda s: s),
        "the memory is not weighted: this is its mean.": _wrong(root=lambda d: math.inf),
        "the scores are multiplied by √d, not divided.": _wrong(root=lambda d: d**-0.5),
        "this divides by the root of the number of source words; √d is asked for.": (
            lambda x, m: _attend(x, m, m.size(-2))
        ),
        "this divides by the root of the number of target words; √d is asked for.": (
            lambda x, m: _attend(x, m, x.size(-2))
        ),
        "the output is divided by √d; the scores must be.": (
            lambda x, m: _attend(x, m, 1) / math.sqrt(x.size(-1))
        ),
        "each source word shares out 1, and the factor 1/√d is missing.": _wrong(
            root=lambda d: 1, share=lambda scores: scores.softmax(-2)
        ),
        "the softmax is taken twice; its weights sum to 1 already.": (
            _wrong(share=lambda s: s.softmax(-1).softmax(-1))
        ),
        "the softmax is taken over both axes, one after the other; each row must share out 1.": (
            _wrong(share=lambda s: s.softmax(-2).softmax(-1))
        ),
        "later source words are hidden; the whole source is known, so all may be seen.": (
            _wrong(
                share=lambda s: s.masked_fill(torch.ones_like(s).triu(1) == 1, -torch.inf).softmax(
                    -1
                )
            )
        ),
        "the scores are divided by their sum; a softmax takes them as exponents.": (
            _wrong(share=lambda s: s / s.sum(-1, keepdim=True))
        ),
        "each target word takes the likeliest source word alone; the softmax mixes them.": (
            _wrong(share=lambda s: functional.one_hot(s.argmax(-1), s.size(-1)).to(s))
        ),
        "x is added; that is left to the layer around it.": (
            lambda x, m: x + _turned_attention(x, m)
        ),
        "these are the weights; multiply them by the memory.": _wrong(end=lambda w, m: w),
        "the softmax goes over axis 0, which is the source without a batch; count from the end.": (
            _wrong(share=lambda s: s.mT.softmax(0).mT)
        ),
        "the softmax goes over axis 1, which is the source in a batch; count from the end: −2.": (
            _wrong(share=lambda s: s.mT.softmax(1).mT)
        ),
        "the softmax goes over axis 1, which is the source without a batch; take −1.": (
            _wrong(share=lambda s: s.softmax(1))
        ),
        "each source word shares out 1, and rows are divided by their sums; one softmax does.": (
            _wrong(share=lambda s: s.softmax(-2) / s.softmax(-2).sum(-1, keepdim=True))
        ),
        "the weights are turned, and x is mixed by them; each target mixes the memory.": (
            lambda x, m: _wrong(end=lambda weights, _: weights.mT @ x)(x, m)
        ),
        "all scores of a sentence share out 1; each row must.": (
            _wrong(share=lambda s: s.flatten(-2).softmax(-1).view(s.shape))
        ),
        "each row has its own sum, but the sums are no 1: divide by them, as softmax does.": (
            _wrong(share=lambda s: s.exp())
        ),
        **{
            f"each source word shares out 1 among the targets, and {said}.": (
                lambda x, m, of=of: _wrong(lambda d: of(x, m, d), lambda s: s.softmax(-2))(x, m)
            )
            for said, of in OTHER_ROOTS.items()
        },
    },
    cases=random_cases("... tgt d", "... src d"),
)


@cache
def _unchanged() -> str:
    """The letters of the changes that leave the output of cross-attention as it is."""
    x, words, places = normal(4, 6, seed=0), normal(5, 6, seed=1), normal(5, 6, seed=2)
    memory, order, one = words + places, [3, 0, 4, 2, 1], normal(6, seed=3)
    keys_and_values = {
        "A": (memory[order], memory[order]),
        "B": (words[order] + places, words[order] + places),
        "C": (memory[order], memory),
        "D": (memory.repeat(2, 1), memory.repeat(2, 1)),
        "E": (torch.cat([memory[:1], memory]), torch.cat([memory[:1], memory])),
        "F": (memory + one, memory),
        "G": (memory, memory + one),
    }
    attend = functional.scaled_dot_product_attention
    before = attend(x, memory, memory)
    same = {at: attend(x, *changed) for at, changed in keys_and_values.items()}
    return "".join(at for at, after in same.items() if torch.allclose(before, after))


@Question
def unchanged_by(answer: object) -> str:
    """Which changes of the memory leave the output of cross-attention as it is?"""
    return by_letters(
        answer,
        _unchanged(),
        {
            "A": "a key and its value move together, and a sum has no order.",
            "B": "a word at another place gives another row, so other keys and values.",
            "C": "a key now finds the value of another word.",
            "D": "each weight is halved, and each value is counted twice.",
            "E": "the first word gets two shares, and all others get less.",
            "F": "it adds the same number to all scores of a row, and the softmax takes it away.",
            "G": "the weights sum to 1, so what is added to all values arrives in the output.",
        },
    )
