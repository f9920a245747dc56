"""Cross-attention: a layer that projects its memory once."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.multi_head_attention import KeyValues
from transformer_workbook.exercises.cases import loaded, normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.cross_attention.faulty_readers import (
    SourceReader,
    add_the_mask,
    answer_for,
    both_memories,
    join_across,
    keep_all_of_the_first,
    keep_the_first,
    keep_the_first_mask,
    look,
    no_softmax,
    project_late,
    split_across,
    with_methods,
)


def _source_reader(d_model: int, num_heads: int) -> nn.Module:
    """Build the layer of cross-attention that projects its memory once."""
    return SourceReader(d_model, num_heads)


Read = tuple[Tensor, Tensor, Tensor, Tensor]
"""A memory, its mask, and the positions that ask it, in two parts."""


def _translate(
    kind: Callable[..., Any], num_heads: int, first: Read, second: Read, weights: dict[str, Tensor]
) -> list[Tensor] | None:
    """Let a layer read two memories, and ask it some positions at a time.

    After a memory was read, other weights project: what is still projected comes out wrong.
    """
    layer = loaded(kind(first[0].size(-1), num_heads), weights)
    if layer is None:
        return None
    projecting = [*layer.key.parameters(), *layer.value.parameters()]  # type: ignore[union-attr]
    outputs = []
    for memory, mask, *parts in (first, second):
        layer.read(memory, mask)  # type: ignore[operator]
        with torch.no_grad():
            for weight in projecting:
                weight.neg_()
        outputs += [layer(x) for x in parts]
    return None if any(output is None for output in outputs) else outputs


def _case(d_model: int, num_heads: int, dtype: torch.dtype = torch.float64) -> tuple[Any, ...]:
    """Two memories of three sentences each, and weights for a layer that reads them."""

    def numbers(*axes: int, seed: int) -> Tensor:
        return normal(*axes, seed=seed, dtype=dtype)

    def read(lengths: tuple[int, ...], positions: tuple[int, int]) -> Read:
        mask = torch.arange(5) < torch.tensor(lengths)[:, None]
        first, second = (numbers(3, tgt, d_model, seed=20 + i) for i, tgt in enumerate(positions))
        return numbers(3, 5, d_model, seed=lengths[0]), mask[:, None, None], first, second

    shapes = {
        f"{part}.{name}": shape
        for part in ("key", "output", "query", "value")
        for name, shape in (("bias", (d_model,)), ("weight", (d_model, d_model)))
    }
    weights = {name: numbers(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}
    return num_heads, read((5, 4, 2), (1, 1)), read((3, 5, 4), (2, 4)), weights


source_reader = Exercise(
    reference=_source_reader,
    given={
        "the memory is projected when it is asked, at every step; project it once, in read.": (
            with_methods(forward=project_late)
        ),
        "the mask is not used: the padding of the source gets weight.": (
            look(hidden=lambda mask, scores: mask & False)
        ),
        "the mask is inverted: True means may attend.": look(hidden=lambda mask, scores: mask),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1; it must be −∞.": look(fill=0.0),
        "the mask comes after the softmax: the weights that are left do not sum to 1.": (
            look(late=True)
        ),
        "later source words are hidden, too; the whole source is known, so all may be seen.": (
            look(hidden=lambda mask, scores: ~mask | (torch.ones_like(scores).triu(1) == 1))
        ),
        "the factor is missing: divide the scores by √d_k.": look(lambda d_k, heads: 1),
        "the scores are divided by √d_model; queries and keys of a head have d_k numbers.": (
            look(lambda d_k, heads: math.sqrt(d_k * heads))
        ),
        "the scores are divided by d_k; its root is asked for.": look(lambda d_k, heads: d_k),
        "the softmax goes over the target; each row shares out 1 among the source words.": (
            look(dim=-2)
        ),
        "this is one head of width d_model: split queries, keys and values.": (
            lambda d_model, heads: SourceReader(d_model, 1)
        ),
        "the heads mix positions: make (batch, time, heads, d_k) first, then swap two axes.": (
            with_methods(split=split_across)
        ),
        "the heads are joined wrongly: a row needs the heads of one position, side by side.": (
            with_methods(attention=join_across)
        ),
        "the last matrix, output, is missing: these are the heads side by side.": (
            with_methods(output=lambda self, joined: joined)
        ),
        "the values are the keys; value projects the memory for them.": (
            with_methods(project=lambda self, m, *_: KeyValues(*[self.split(self.key(m))] * 2))
        ),
        "key and value are swapped.": (
            with_methods(
                project=lambda self, m, *_: KeyValues(
                    *map(self.split, (self.value(m), self.key(m)))
                )
            )
        ),
        "x is added to the output; that is left to the layer around it.": (
            with_methods(forward=lambda self, x: x + SourceReader.forward(self, x))
        ),
        "the queries are not projected: query is not used.": with_methods(query=lambda self, x: x),
        "the queries are projected by key; query is theirs.": (
            with_methods(query=lambda self, x: self.key(x))
        ),
        "the keys are the values; key projects the memory for them.": (
            with_methods(project=lambda self, m, *_: KeyValues(*[self.split(self.value(m))] * 2))
        ),
        "keys and values are the memory itself; key and value project it.": (
            with_methods(project=lambda self, m, *_: KeyValues(*[self.split(m)] * 2))
        ),
        "the softmax is missing: the scores are the weights.": with_methods(attention=no_softmax),
        "the scores are multiplied by √d_k, not divided.": (look(lambda d_k, heads: d_k**-0.5)),
        "the scores are divided by the root of the number of heads; √d_k is asked for.": (
            look(lambda d_k, heads: math.sqrt(heads))
        ),
        "a masked score of −1 is not a weight of 0; it must be −∞.": look(fill=-1.0),
        "the mask of the first memory stays; each memory has its own.": (
            with_methods(read=keep_the_first_mask)
        ),
        "the first memory is still seen beside the second, which takes its place.": (
            with_methods(read=both_memories)
        ),
        "the second memory is not read: the layer still attends to the first.": (
            with_methods(read=keep_the_first)
        ),
        "the second time, read does nothing: memory and mask of the first stay.": (
            with_methods(read=keep_all_of_the_first)
        ),
        "the mask is inverted; where all is hidden, the weights are all alike.": (
            look(hidden=lambda mask, scores: mask, fill=-1e9)
        ),
        "this is the answer for the last position only; all positions ask.": (
            answer_for(slice(-1, None))
        ),
        "this is the answer for the first position only; all positions ask.": (
            answer_for(slice(1))
        ),
        "the mask is added to the scores as 0 and 1; where it is False, −∞ is needed.": (
            with_methods(attention=add_the_mask)
        ),
        "what is hidden gets all the weight: its score is large; it must be −∞.": look(fill=1e9),
        "the scores are divided by d_model; √d_k is asked for.": (
            look(lambda d_k, heads: d_k * heads)
        ),
        "earlier source words are hidden, too; the whole source is known, so all may be seen.": (
            look(
                hidden=lambda mask, scores: ~mask | (torch.ones_like(scores).tril(-1) == 1),
                fill=-1e9,
            )
        ),
    },
    cases=[_case(8, 2), _case(6, 3, dtype=torch.float32), _case(12, 4)],
    ask=_translate,
)
