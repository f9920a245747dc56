"""Self-attention: a layer of one's own."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_workbook.exercises.cases import loaded, normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.luong.lookups import ROW_LOOKUPS, Lookup
from transformer_workbook.old_exercises.self_attention.divisors import DIVISORS, Divisor

Attend = Callable[[Tensor, Tensor, Tensor], Any]


class _Layer(nn.Module):
    """Three projections of one X, and what is made of them."""

    attend: Callable[..., Any] = staticmethod(F.scaled_dot_product_attention)

    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x: Tensor) -> Any:
        """The output for every word."""
        return self.attend(self.query(x), self.key(x), self.value(x))


def _self_attention_layer(d_model: int, d_k: int, d_v: int) -> nn.Module:
    """Write a layer of self-attention with matrices for queries, keys and values."""
    return _Layer(d_model, d_k, d_v)


def _by_hand(
    divisor: Divisor = lambda q, k, v: q.size(-1) ** 0.5,
    dim: int = -1,
    late: bool = False,
) -> Attend:
    """Attention with another divisor, or another axis of the softmax."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores, root = q @ k.mT, divisor(q, k, v)
        weights = scores.softmax(dim) / root if late else (scores / root).softmax(dim)
        return weights @ v

    return attend


def _faulty(attend: Attend) -> type[nn.Module]:
    return type("Faulty", (_Layer,), {"attend": staticmethod(attend)})


def _on_words(forward: Callable[[Any, Tensor], Tensor]) -> type[nn.Module]:
    """A layer whose mistake is in what it makes of X."""
    return type("Faulty", (_Layer,), {"forward": forward})


def _looked_up(look: Lookup) -> type[nn.Module]:
    return _faulty(lambda q, k, v: look(q @ k.mT / q.size(-1) ** 0.5, v))


_right = _by_hand()


Weights = dict[str, Tensor]


def _put_to_work(
    kind: Callable[..., nn.Module], x: Float[Tensor, "*batch time d_model"], weights: Weights
) -> Any:
    """Build a layer, give it weights, and let sentences pass through it."""
    d_k, d_v = (len(weights[f"{name}.weight"]) for name in ("key", "value"))
    layer = loaded(kind(x.size(-1), d_k, d_v), weights)
    with torch.no_grad():
        return None if layer is None else layer(x)


def _case(
    *axes: int, d_k: int, d_v: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Weights]:
    """Sentences, and weights for a layer that reads them."""
    widths = {"query": d_k, "key": d_k, "value": d_v}
    weights = {
        f"{name}.weight": normal(width, axes[-1], seed=seed, dtype=dtype)
        for seed, (name, width) in enumerate(widths.items())
    }
    return normal(*axes, seed=10, dtype=dtype), weights


self_attention_layer = Exercise(
    reference=_self_attention_layer,
    given={
        **{f"{sentence}.": _faulty(_by_hand(divisor)) for sentence, divisor in DIVISORS.items()},
        "the divisor is √d_model; queries and keys have d_k numbers.": _on_words(
            lambda self, x: _by_hand(lambda q, k, v: x.size(-1) ** 0.5)(
                self.query(x), self.key(x), self.value(x)
            )
        ),
        "the division comes after the softmax; then the weights sum to 1/√d_k.": (
            _faulty(_by_hand(late=True))
        ),
        "queries and keys are swapped: the rows of the scores belong to the queries.": (
            _faulty(lambda q, k, v: _right(k, q, v))
        ),
        "the keys are the queries again; they have a matrix of their own.": (
            _faulty(lambda q, k, v: _right(q, q, v))
        ),
        "the queries are the keys again; they have a matrix of their own.": (
            _faulty(lambda q, k, v: _right(k, k, v))
        ),
        "X itself is added up; the values are X W_V.": (
            _on_words(lambda self, x: _right(self.query(x), self.key(x), x))
        ),
        **{sentence: _looked_up(look) for sentence, look in ROW_LOOKUPS.items()},
        "these are the values; nothing was attended to.": _faulty(lambda q, k, v: v),
        "X is added to the output; that comes in a later chapter.": (
            _on_words(
                lambda self, x: _right(self.query(x), self.key(x), self.value(x)).add(
                    x[..., : self.value.out_features]
                )
            )
        ),
        "the softmax goes over axis 0, whatever it is; the keys are the last axis, −1.": (
            _faulty(_by_hand(dim=0))
        ),
        "the softmax goes over axis 1, which is the keys only without a batch; take −1.": (
            _faulty(_by_hand(dim=1))
        ),
        "the softmax goes over axis 2, which is the keys only in a batch; take −1.": (
            _faulty(_by_hand(dim=2))
        ),
        "this works for a batch of sentences only; count the axes from the end: −1, −2.": (
            _faulty(lambda q, k, v: (q @ k.transpose(1, 2) / q.size(-1) ** 0.5).softmax(-1) @ v)
        ),
        "these are sums of keys; the weights are for the values.": (
            _faulty(lambda q, k, v: _right(q, k, k))
        ),
        "X itself is compared; queries and keys are X W_Q and X W_K.": (
            _on_words(lambda self, x: _right(x, x, self.value(x)))
        ),
        "the keys are cut anew, not transposed: exchange their last two axes.": (
            _faulty(lambda q, k, v: (q @ k.reshape(k.mT.shape) / q.size(-1) ** 0.5).softmax(-1) @ v)
        ),
        "the weights are transposed: a row of them belongs to a query.": (
            _faulty(lambda q, k, v: (q @ k.mT / q.size(-1) ** 0.5).softmax(-1).mT @ v)
        ),
        "a sentence without a batch comes back with an axis too many, in front.": (
            _faulty(lambda q, k, v: _right(q, k, v if v.dim() > 2 else v[None]))
        ),
        "the sentences of a batch attend to each other; a word attends to its own sentence.": (
            _faulty(
                lambda q, k, v: _right(*(x.reshape(-1, x.size(-1)) for x in (q, k, v))).view_as(v)
            )
        ),
        "a word does not attend to itself; here it may attend to every word.": (
            _faulty(
                lambda q, k, v: (
                    (q @ k.mT / q.size(-1) ** 0.5)
                    .masked_fill(torch.eye(q.size(-2)).bool(), -torch.inf)
                    .softmax(-1)
                    @ v
                )
            )
        ),
    },
    cases=[
        _case(4, 6, d_k=3, d_v=5),
        _case(2, 5, 7, d_k=4, d_v=3, dtype=torch.float32),
        _case(3, 2, 4, 8, d_k=5, d_v=6),
    ],
    ask=_put_to_work,
)
