"""Masking: what may be seen of the future, and how to find out that it is seen."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases


def _kept_ends(lengths: list[int]) -> int:
    return sum(length < max(lengths) for length in lengths)


kept_ends = Exercise(
    reference=_kept_ends,
    mistakes={
        "only one sentence loses its EOS then; several may be the longest.": lambda n: len(n) - 1,
        "these are the ones that lose it: EOS stands in the last column of the longest.": (
            lambda n: n.count(max(n))
        ),
        "the last column is cut off, and the EOS of a shorter sentence stands before it.": (
            lambda n: 0
        ),
        "the longest sentences lose it.": len,
        "you count lengths; sentences are asked for.": lambda n: len(set(n)) - 1,
        "one token less is enough to keep it.": lambda n: sum(x < max(n) - 1 for x in n),
        "you count the shortest only; every sentence that is not the longest keeps it.": (
            lambda n: n.count(min(n)) if min(n) < max(n) else 0
        ),
    },
    cases=[([3, 5, 5, 2, 3],), ([4, 4],), ([1, 6, 5, 6, 3, 2],), ([7],)],
)


def _causal_attention(
    query: Float[Tensor, "*batch time d_k"],
    key: Float[Tensor, "*batch time d_k"],
    value: Float[Tensor, "*batch time d_v"],
) -> Float[Tensor, "*batch time d_v"]:
    scores = query @ key.mT / math.sqrt(query.size(-1))
    past = torch.ones_like(scores).tril() == 1
    return scores.masked_fill(~past, -torch.inf).softmax(dim=-1) @ value


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT / math.sqrt(q.size(-1))


def _masked(scores: Tensor, diagonal: int = 0, score: float = -torch.inf) -> Tensor:
    """The scores, filled in where a key comes more than `diagonal` places after the query."""
    return scores.masked_fill(torch.ones_like(scores).triu(diagonal + 1) == 1, score)


causal_attention = Exercise(
    reference=_causal_attention,
    mistakes={
        "each position sees itself and the future; it must be itself and the past.": (
            lambda q, k, v: _masked(_scores(q, k).mT).mT.softmax(-1) @ v
        ),
        "a position must see itself too; now the first sees nothing, and 0/0 is nan.": (
            lambda q, k, v: _masked(_scores(q, k), -1).softmax(-1) @ v
        ),
        "each position sees one place too far: that is the word it has to predict.": (
            lambda q, k, v: _masked(_scores(q, k), 1).softmax(-1) @ v
        ),
        "each position sees only itself; its past must be seen too.": lambda q, k, v: v,
        "the future is not hidden.": lambda q, k, v: _scores(q, k).softmax(-1) @ v,
        "the mask comes after the softmax: the weights that are left do not sum to 1.": (
            lambda q, k, v: _scores(q, k).softmax(-1).tril() @ v
        ),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1; it must be −∞.": (
            lambda q, k, v: _masked(_scores(q, k), score=0.0).softmax(-1) @ v
        ),
        "the softmax goes over the queries; each query shares out 1 among the keys.": (
            lambda q, k, v: _masked(_scores(q, k)).softmax(-2) @ v
        ),
        "the mask is inverted: you hide each position and its past.": (
            lambda q, k, v: (
                _scores(q, k)
                .masked_fill(_masked(_scores(q, k)) > -torch.inf, -torch.inf)
                .softmax(-1)
                @ v
            )
        ),
        "you swapped queries and keys.": lambda q, k, v: _masked(_scores(k, q)).softmax(-1) @ v,
        "you divide by d_k; its root is asked for.": (
            lambda q, k, v: _masked(q @ k.mT / q.size(-1)).softmax(-1) @ v
        ),
        "you do not divide by √d_k.": lambda q, k, v: _masked(q @ k.mT).softmax(-1) @ v,
        "these are the weights; multiply them by the values.": (
            lambda q, k, v: _masked(_scores(q, k)).softmax(-1)
        ),
    },
    cases=random_cases("... time d_k", "... time d_k", "... time d_v"),
)


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
        rows = [[u for u in seen if u < len(ids)] for seen in self.sees[: len(ids)]]
        return torch.stack([signs[row].sum(0) for row in rows])

    def __repr__(self) -> str:
        seen = [", ".join(map(str, row)) or "nothing" for row in self.sees]
        return f"a model ({'; '.join(f'{t} sees {row}' for t, row in enumerate(seen))})"


Logits = Callable[[Tensor], Tensor]


def _sees_the_future(logits: Logits, ids: Int[Tensor, " length"]) -> bool:
    for t in range(1, len(ids)):
        changed = ids.clone()
        changed[t] += 1
        if not torch.allclose(logits(ids)[:t], logits(changed)[:t]):
            return True
    return False


def _differs(logits: Logits, ids: Tensor, at: int, where: slice) -> bool:
    """Whether another token at one place changes the logits in other places."""
    changed = ids.clone()
    changed[at] += 1
    return not torch.allclose(logits(ids)[where], logits(changed)[where])


sees_the_future = Exercise(
    reference=_sees_the_future,
    mistakes={
        "you change only the last token; an early position may see the one after it.": (
            lambda f, ids: _differs(f, ids, -1, slice(-1))
        ),
        "you compare the logits at the changed token too; there they may change.": (
            lambda f, ids: any(_differs(f, ids, t, slice(t + 1)) for t in range(len(ids)))
        ),
        "you compare all logits; those at the changed token and later may change.": (
            lambda f, ids: any(_differs(f, ids, t, slice(None)) for t in range(len(ids)))
        ),
        "you look at the logits after the changed token: that is the past of those positions.": (
            lambda f, ids: any(_differs(f, ids, t, slice(t + 1, None)) for t in range(len(ids)))
        ),
        "you compare only the position just before the changed token; a leak may reach farther.": (
            lambda f, ids: any(_differs(f, ids, t, slice(t - 1, t)) for t in range(1, len(ids)))
        ),
        "it is the other way round: True means that the future is seen.": (
            lambda f, ids: not _sees_the_future(f, ids)
        ),
        "right, but as a tensor; bool(…) makes it True or False.": (
            lambda f, ids: torch.tensor(_sees_the_future(f, ids))
        ),
        "you always say no; some of these models see the future.": lambda f, ids: False,
        "you always say yes; some of these models see no future.": lambda f, ids: True,
        "you change only the first token; it is nobody's future, so nothing is tested.": (
            lambda f, ids: _differs(f, ids, 0, slice(None))
        ),
        "you change only the first token; what follows it may change, that is its use.": (
            lambda f, ids: _differs(f, ids, 0, slice(1, None))
        ),
        "you compare only the first position.": (
            lambda f, ids: any(_differs(f, ids, t, slice(1)) for t in range(1, len(ids)))
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
        )
    ],
)
