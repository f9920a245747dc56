"""Multi-head attention: heads that share keys and values in groups."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.multi_head_attention import MultiHeadAttention
from transformer_workbook.exercises.cases import loaded, normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.luong.lookups import ROW_WEIGHINGS, Weigh

Share = Callable[[Tensor, int], Tensor]

WORDS = 5
"""How long the two sentences are that pass through a layer."""


def _side_by_side(x: Tensor, times: int) -> Tensor:
    return x.repeat_interleave(times, dim=1)


def _in_turns(x: Tensor, times: int) -> Tensor:
    return x.repeat(1, times, 1, 1)


def _mean(x: Tensor, times: int) -> Tensor:
    return x.mean(1, True).expand(-1, x.size(1) * times, -1, -1)


def _blind_cut(x: Tensor, d: int) -> Tensor:
    return x.reshape(len(x), -1, x.size(1), d)


def _blind_merge(heads: Tensor) -> Tensor:
    return heads.reshape(len(heads), heads.size(2), -1)


class _Grouped(nn.Module):
    """Grouped-query attention; a faulty one has other choices."""

    cut: Share = staticmethod(lambda x, d: x.unflatten(-1, (-1, d)).transpose(1, 2))
    share_keys: Share = staticmethod(_side_by_side)
    share_values: Share = staticmethod(_side_by_side)
    divisor: Callable[[int, int], float] = staticmethod(lambda d, num_heads: d**0.5)
    weigh: Weigh = staticmethod(lambda e: e.softmax(-1))
    merge: Callable[[Tensor], Tensor] = staticmethod(lambda heads: heads.transpose(1, 2).flatten(2))
    project: bool = True
    swapped: bool = False

    def __init__(self, d_model: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        self.num_heads, self.num_groups = num_heads, num_groups
        self.d = d_model // num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, num_groups * self.d)
        self.value = nn.Linear(d_model, num_groups * self.d)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Cut, share, attend, merge."""
        q, k, v = (part(x) for part in (self.query, self.key, self.value))
        q, k, v = (self.cut(z, self.d) for z in (q, k, v))
        times = self.num_heads // self.num_groups
        k, v = self.share_keys(k, times), self.share_values(v, times)
        if self.swapped:
            q, k = k, q
        scores = q @ k.mT / self.divisor(self.d, self.num_heads)
        merged = self.merge(self.weigh(scores) @ v)
        return self.output(merged) if self.project else merged


def _faulty(share: Share | None = None, **choices: Any) -> type[nn.Module]:
    """A layer with other choices; ``share`` is one for keys and values."""
    if share:
        choices = {"share_keys": share, "share_values": share}
    wrapped = {
        name: staticmethod(choice) if callable(choice) else choice
        for name, choice in choices.items()
    }
    return type("Faulty", (_Grouped,), wrapped)


class _OfThePackage(MultiHeadAttention):
    """The package's layer, which is given queries, keys and values apart."""

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """Attend within one sentence."""
        return super().forward(x, x, x)


def _grouped_attention(d_model: int, num_heads: int, num_groups: int) -> nn.Module:
    """Write self-attention whose query heads share keys and values in groups."""
    return _OfThePackage(d_model, num_heads, num_kv_heads=num_groups)


Weights = dict[str, Tensor]


def _put_to_work(
    kind: Callable[..., nn.Module],
    x: Float[Tensor, "batch time d_model"],
    num_heads: int,
    num_groups: int,
    weights: Weights,
) -> Any:
    """Build a layer, give it weights, and let two sentences pass through it."""
    layer = loaded(kind(x.size(-1), num_heads, num_groups), weights)
    with torch.no_grad():
        return None if layer is None else layer(x)


def _case(
    d_model: int, num_heads: int, num_groups: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, int, int, Weights]:
    """Two sentences, and weights for a layer that reads them."""
    narrow = num_groups * (d_model // num_heads)
    widths = {"query": d_model, "key": narrow, "value": narrow, "output": d_model}
    weights = {}
    for seed, (name, width) in enumerate(widths.items()):
        weights[f"{name}.weight"] = normal(width, d_model, seed=seed, dtype=dtype)
        weights[f"{name}.bias"] = normal(width, seed=10 + seed, dtype=dtype)
    return normal(2, WORDS, d_model, seed=20, dtype=dtype), num_heads, num_groups, weights


DIVISORS: dict[str, Callable[[int, int], float]] = {
    "the factor is missing: divide the scores by √d_k": lambda d, num_heads: 1,
    "the divisor is √d_model; a score of one head has d_k terms": (
        lambda d, num_heads: (d * num_heads) ** 0.5
    ),
    "the divisor is d_k itself; its root is asked for": lambda d, num_heads: d,
    "the divisor is the root of the number of heads; a score has d_k terms": (
        lambda d, num_heads: num_heads**0.5
    ),
    "the divisor is the root of the number of words; a score has d_k terms": (
        lambda d, num_heads: WORDS**0.5
    ),
    "the scores are multiplied by √d_k; divide by it": lambda d, num_heads: d**-0.5,
    "** comes before /: put −1/2 into brackets": lambda d, num_heads: 2 * d,
}

grouped_attention = Exercise(
    reference=_grouped_attention,
    given={
        "query head i uses group i modulo the groups; neighbouring heads share a group.": (
            _faulty(_in_turns)
        ),
        "the keys take the groups in turns; neighbouring heads share a group, as for the values.": (
            _faulty(share_keys=_in_turns)
        ),
        "the values take the groups in turns; neighbouring heads share a group, as for the keys.": (
            _faulty(share_values=_in_turns)
        ),
        "all query heads use the first group.": (
            _faulty(share=lambda x, times: x[:, :1].expand(-1, x.size(1) * times, -1, -1))
        ),
        "all query heads use the mean of the groups; each has a group of its own.": (
            _faulty(_mean)
        ),
        "the groups are in reverse order.": (
            _faulty(share=lambda x, times: _side_by_side(x.flip(1), times))
        ),
        **{f"{said}.": _faulty(divisor=divisor) for said, divisor in DIVISORS.items()},
        "the softmax goes over the heads; each head shares out a 1 of its own.": (
            _faulty(weigh=lambda e: e.softmax(1))
        ),
        "the heads are cut together with the positions on the way out: transpose before.": (
            _faulty(merge=_blind_merge)
        ),
        "the numbers of the heads take turns; those of a head stay side by side.": (
            _faulty(merge=lambda heads: heads.permute(0, 2, 3, 1).flatten(2))
        ),
        "the last matrix is missing: these are the heads side by side.": _faulty(project=False),
        "queries and keys are swapped.": _faulty(swapped=True),
        "each group is repeated num_groups times; repeat it num_heads / num_groups times.": (
            _faulty(share=lambda x, times: _side_by_side(x, x.size(1)))
        ),
        "the heads are cut together with the positions on the way in: transpose after.": (
            _faulty(cut=_blind_cut)
        ),
        "heads and positions are cut together on both ways; transpose after the cut and before.": (
            _faulty(cut=_blind_cut, merge=_blind_merge)
        ),
        "all query heads use the mean of the groups' values; each has a group of its own.": (
            _faulty(share_values=_mean)
        ),
        "the numbers of a head are dealt out in turns; they stand side by side.": (
            _faulty(cut=lambda x, d: x.unflatten(-1, (d, -1)).permute(0, 3, 1, 2))
        ),
        **{sentence: _faulty(weigh=weigh) for sentence, weigh in ROW_WEIGHINGS.items()},
        "the softmax goes over the batch; a sentence has nothing to do with another.": (
            _faulty(weigh=lambda e: e.softmax(0))
        ),
        "all query heads use the last group.": (
            _faulty(share=lambda x, times: x[:, -1:].expand(-1, x.size(1) * times, -1, -1))
        ),
    },
    cases=[_case(8, 4, 2), _case(12, 6, 3, dtype=torch.float32), _case(9, 3, 1)],
    ask=_put_to_work,
)
