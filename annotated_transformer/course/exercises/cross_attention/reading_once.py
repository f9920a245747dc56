"""Cross-attention: a layer that projects its memory once."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention


class _SourceReader(MultiHeadAttention):
    """The layer of the package, which keeps what it has read."""

    def read(self, memory: Tensor, mask: Tensor) -> None:
        self.memory, self.mask = memory, mask
        self.seen = self.project(memory, memory)

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return self.attend(x, self.seen, self.mask)


def _source_reader(d_model: int, num_heads: int) -> nn.Module:
    """Build the layer of cross-attention that projects its memory once."""
    return _SourceReader(d_model, num_heads)


def _translate(
    kind: Callable[[int, int], Any], d_model: int, num_heads: int
) -> dict[str, Any] | None:
    """Let a layer read two memories, and ask it some positions at a time."""
    layer = kind(d_model, num_heads).double()
    parts = ("query", "key", "value", "output")
    asked = sorted(f"{part}.{name}" for part in parts for name in ("weight", "bias"))
    own = layer.state_dict()
    if sorted(own) != asked:
        raise ValueError(f"the parameters must be {asked}, here they are {sorted(own)}")
    layer.load_state_dict({name: normal(*own[name].shape, seed=i) for i, name in enumerate(asked)})
    projected: list[int] = []
    for part in (layer.key, layer.value):
        part.register_forward_hook(lambda *_: projected.append(1))
    outputs = []
    for lengths, positions in (((5, 4, 2), (1, 1)), ((3, 5, 4), (2, 4))):
        mask = torch.arange(5) < torch.tensor(lengths)[:, None]
        layer.read(normal(3, 5, d_model, seed=lengths[0]), mask[:, None, None])
        for seed, tgt in enumerate(positions):
            outputs.append(layer(normal(3, tgt, d_model, seed=20 + seed)))
    if any(output is None for output in outputs):
        return None
    return {"outputs": outputs, "memory projected once": len(projected) <= 4}


def _with(**methods: Callable[..., Any]) -> Callable[[int, int], nn.Module]:
    """The layer with other methods."""
    return type("Faulty", (_SourceReader,), methods)


def _look(
    root: Callable[[int, int], float] = lambda d_k, heads: math.sqrt(d_k),
    dim: int = -1,
    fill: float = -math.inf,
    late: bool = False,
    hidden: Callable[[Tensor, Tensor], Tensor] = lambda mask, scores: ~mask,
) -> Callable[[int, int], nn.Module]:
    """The layer with another divisor, axis of the softmax, or mask."""

    def attention(self: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        scores = q @ k.mT / root(q.size(-1), q.size(1))
        out = hidden(mask, scores)
        if late:
            return scores.softmax(dim).masked_fill(out, 0) @ v
        return scores.masked_fill(out, fill).softmax(dim) @ v

    return _with(attention=attention)


def _no_softmax(self: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return (q @ k.mT / math.sqrt(q.size(-1))).masked_fill(~mask, 0) @ v


def _split(self: _SourceReader, x: Tensor, heads: int | None = None) -> Tensor:
    return x.reshape(x.size(0), heads or self.num_heads, x.size(1), -1)


def _join(self: _SourceReader, *given: Tensor) -> Tensor:
    heads = ScaledDotProductAttention()(*given)
    return self.split(heads.reshape(heads.size(0), heads.size(2), -1))


def _keep_the_first(self: _SourceReader, memory: Tensor, mask: Tensor) -> None:
    self.mask = mask
    if not hasattr(self, "seen"):
        self.seen = self.project(memory, memory)


def _both_memories(self: _SourceReader, memory: Tensor, mask: Tensor) -> None:
    old = (self.memory, self.mask) if hasattr(self, "seen") else (memory[:, :0], mask[..., :0])
    both = torch.cat([old[0], memory], dim=1), torch.cat([old[1], mask], dim=-1)
    _SourceReader.read(self, *both)


def _keep_all_of_the_first(self: _SourceReader, memory: Tensor, mask: Tensor) -> None:
    if not hasattr(self, "seen"):
        _SourceReader.read(self, memory, mask)


def _keep_the_first_mask(self: _SourceReader, memory: Tensor, mask: Tensor) -> None:
    _SourceReader.read(self, memory, self.mask if hasattr(self, "seen") else mask)


def _project_late(self: _SourceReader, x: Tensor) -> Tensor:
    return self.attend(x, self.project(self.memory, self.memory), self.mask)


source_reader = Exercise(
    reference=_source_reader,
    mistakes={
        "the output is right, but the memory is projected at every step, not once in read.": (
            _with(forward=_project_late)
        ),
        "the mask is not used: the padding of the source gets weight.": (
            _look(hidden=lambda mask, scores: mask & False)
        ),
        "the mask is inverted: True means may attend.": _look(hidden=lambda mask, scores: mask),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1; it must be −∞.": _look(fill=0.0),
        "the mask comes after the softmax: the weights that are left do not sum to 1.": (
            _look(late=True)
        ),
        "later source words are hidden, too; the whole source is known, so all may be seen.": (
            _look(hidden=lambda mask, scores: ~mask | (torch.ones_like(scores).triu(1) == 1))
        ),
        "the factor is missing: divide the scores by √d_k.": _look(lambda d_k, heads: 1),
        "the scores are divided by √d_model; queries and keys of a head have d_k numbers.": (
            _look(lambda d_k, heads: math.sqrt(d_k * heads))
        ),
        "the scores are divided by d_k; its root is asked for.": _look(lambda d_k, heads: d_k),
        "the softmax goes over the target; each row shares out 1 among the source words.": (
            _look(dim=-2)
        ),
        "this is one head of width d_model: split queries, keys and values.": (
            lambda d_model, heads: _SourceReader(d_model, 1)
        ),
        "the heads mix positions: make (batch, time, heads, d_k) first, then swap two axes.": (
            _with(split=_split)
        ),
        "the heads are joined wrongly: a row needs the heads of one position, side by side.": (
            _with(attention=_join)
        ),
        "the last matrix, output, is missing: these are the heads side by side.": (
            _with(output=lambda self, joined: joined)
        ),
        "the values are the keys; value projects the memory for them.": (
            _with(project=lambda self, m, *_: KeyValues(*[self.split(self.key(m))] * 2))
        ),
        "key and value are swapped.": (
            _with(
                project=lambda self, m, *_: KeyValues(
                    *map(self.split, (self.value(m), self.key(m)))
                )
            )
        ),
        "x is added to the output; that is left to the layer around it.": (
            _with(forward=lambda self, x: x + _SourceReader.forward(self, x))
        ),
        "the queries are not projected: query is not used.": _with(query=lambda self, x: x),
        "the queries are projected by key; query is theirs.": (
            _with(query=lambda self, x: self.key(x))
        ),
        "the keys are the values; key projects the memory for them.": (
            _with(project=lambda self, m, *_: KeyValues(*[self.split(self.value(m))] * 2))
        ),
        "keys and values are the memory itself; key and value project it.": (
            _with(project=lambda self, m, *_: KeyValues(*[self.split(m)] * 2))
        ),
        "the softmax is missing: the scores are the weights.": _with(attention=_no_softmax),
        "the scores are multiplied by √d_k, not divided.": (_look(lambda d_k, heads: d_k**-0.5)),
        "the scores are divided by the root of the number of heads; √d_k is asked for.": (
            _look(lambda d_k, heads: math.sqrt(heads))
        ),
        "a masked score of −1 is not a weight of 0; it must be −∞.": _look(fill=-1.0),
        "the mask of the first memory stays; each memory has its own.": (
            _with(read=_keep_the_first_mask)
        ),
        "the first memory is still seen beside the second, which takes its place.": (
            _with(read=_both_memories)
        ),
        "the second memory is not read: the layer still attends to the first.": (
            _with(read=_keep_the_first)
        ),
        "the second time, read does nothing: memory and mask of the first stay.": (
            _with(read=_keep_all_of_the_first)
        ),
    },
    cases=[(8, 2), (6, 3), (12, 4)],
    ask=_translate,
)
