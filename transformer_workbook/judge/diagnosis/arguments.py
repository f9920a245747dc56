"""For which other arguments would the answer be right? A number plus one, another axis, a size."""

import ast
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor, nn

from transformer_workbook.judge.catalogue import source_of
from transformer_workbook.judge.comparing import is_number
from transformer_workbook.judge.copying import copied
from transformer_workbook.judge.sentences import Way, said


def parameters(
    reference: Callable[..., Any], ask: Callable[..., Any] | None, case: Sequence[Any]
) -> dict[str, Any]:
    """Return the names of the arguments of a case, each with its annotation.

    They are those of the reference; if it takes others than the case has, as one that builds a
    layer does, those of ``ask``, whose first parameter is the answer.
    """
    found = list(signature(reference).parameters.values())
    if ask and (len(found) != len(case) or builds_a_layer(reference)):
        found = list(signature(ask).parameters.values())[1:]
    if any(p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for p in found):
        return {f"argument {i + 1}": None for i in range(len(case))}
    return {p.name: p.annotation for p in found} if len(found) == len(case) else {}


def builds_a_layer(reference: Callable[..., Any]) -> bool:
    """Tell whether a reference returns a layer, which is then called on the case."""
    return signature(reference).return_annotation is nn.Module


def own_names(reference: Callable[..., Any]) -> set[str]:
    """Return the names of the arguments that a reader's function has, or a method of a class."""
    return {
        node.arg for node in ast.walk(ast.parse(source_of(reference))) if isinstance(node, ast.arg)
    }


def axes(name: str, annotation: Any, tensor: Tensor) -> list[str]:
    """Name the axes of a tensor: by its annotation, else by their numbers.

    >>> import torch
    >>> from jaxtyping import Float
    >>> axes("x", Float[Tensor, "batch d"], torch.ones(2, 3))
    ['batch', 'd']
    >>> axes("x", Tensor, torch.ones(2, 3))
    ['x.size(0)', 'x.size(1)']
    """
    names = getattr(annotation, "dim_str", "").replace("#", "").split()
    numbered = [f"{name}.size({i})" for i in range(tensor.dim())]
    if names and names[0].startswith("*"):
        more = tensor.dim() - len(names) + 1
        names[:1] = numbered[:more]
    return names if len(names) == tensor.dim() else numbered


def sizes(known: Mapping[str, Any], case: Sequence[Any], own: Collection[str]) -> dict[str, float]:
    """Return the sizes of all axes of a case by name, and the numbers among its arguments.

    The axes have names of the chapter; of the others, a reader knows his ``own`` arguments.

    >>> sizes({"x": Tensor, "weights": dict}, [torch.ones(2, 3), {"W": 1}], own={"x"})
    {'x.size(0)': 2.0, 'x.size(1)': 3.0}
    """
    found: dict[str, float] = {}
    for (name, annotation), argument in zip(known.items(), case, strict=False):
        if isinstance(argument, Tensor) and argument.dim():
            named = zip(axes(name, annotation, argument), argument.shape, strict=True)
            known_to = {axis: float(size) for axis, size in named if not axis.isdigit()}
            found |= {k: v for k, v in known_to.items() if "." not in k or name in own}
        elif name not in own:
            continue
        elif is_number(argument):
            found[name] = float(argument)
        elif isinstance(argument, str | list | tuple | set | dict):
            found[f"len({name})"] = float(len(argument))
    return found


def named_shape(results: Sequence[Any], known: Sequence[Mapping[str, float]]) -> str:
    """Name the axes of tensors by what has their sizes in every case; return "" if unclear.

    >>> import torch
    >>> sizes = [{"batch": 2.0, "d": 3.0}, {"batch": 3.0, "d": 3.0}]
    >>> named_shape([torch.ones(2, 3, 1), torch.ones(3, 3, 1)], sizes)
    '(batch, d, 1)'
    """
    if not all(isinstance(x, Tensor) for x in results) or len({x.dim() for x in results}) > 1:
        return ""
    named = [
        [name for name in known[0] if sizes == tuple(case.get(name) for case in known)]
        if set(sizes) != {1}
        else ["1"]
        for sizes in zip(*(x.shape for x in results), strict=True)
    ]
    if any(len(names) != 1 for names in named):
        return ""
    called = itertools.chain.from_iterable(named)
    return f"({', '.join(called)})"


Case = tuple[Any, ...]

TENSORS: tuple[Way, ...] = (
    Way("rows and columns of `{name}` are swapped.", lambda x: x.mT),
    Way("the first two axes of `{name}` are swapped.", lambda x: x.transpose(0, 1)),
)
"""Changes of any tensor with two axes or more."""

TRUTHS: tuple[Way, ...] = (
    Way("True and False are swapped in `{name}`.", torch.logical_not),
    Way("`{name}` is True everywhere.", torch.ones_like),
    Way("`{name}` is False everywhere.", torch.zeros_like),
)
"""Changes of a mask."""

FORGOTTEN: tuple[Way, ...] = (
    Way("`{name}` is 0 everywhere.", torch.zeros_like),
    Way("`{name}` is 1 everywhere.", torch.ones_like),
)
"""Changes of numbers that are ignored."""

FLOATS: tuple[Way, ...] = (
    Way("`{name}` is taken with the other sign.", torch.neg),
    *FORGOTTEN,
    Way("`{name}` is taken without its signs.", torch.abs),
    Way("`{name}` is taken twice.", lambda x: 2 * x),
    Way("`{name}` is halved.", lambda x: x / 2),
    Way("`{name}` is squared.", torch.square),
    Way("`{name}` goes through exp first.", torch.exp),
    Way("`{name}` goes through tanh first.", torch.tanh),
    Way("`{name}` goes through a sigmoid first.", torch.sigmoid),
    Way("`{name}` goes through a softmax along its last axis first.", lambda x: x.softmax(-1)),
    Way("`{name}` goes through a logarithm first.", torch.log),
    Way("`{name}` is divided by the root of its last axis' size.", lambda x: x / x.size(-1) ** 0.5),
    Way(
        "`{name}` is multiplied by the root of its last axis' size.",
        lambda x: x * x.size(-1) ** 0.5,
    ),
    Way(
        "the mean along its last axis is subtracted from `{name}`.",
        lambda x: x - x.mean(-1, keepdim=True),
    ),
    Way(
        "`{name}` is divided by its sum along its last axis.", lambda x: x / x.sum(-1, keepdim=True)
    ),
    Way("`{name}` is rounded.", torch.round),
)
"""Changes of numbers."""

WHOLE: tuple[Way, ...] = (
    Way("`{name}` is 1 larger.", lambda x: x + 1),
    Way("`{name}` is 1 smaller.", lambda x: x - 1),
    Way("`{name}` is 0 in every case.", lambda x: 0 * x),
    Way("`{name}` is 1 in every case.", lambda x: 0 * x + 1),
    Way("`{name}` is doubled.", lambda x: 2 * x),
    Way("`{name}` is halved, and rounded down.", lambda x: x // 2),
    Way("`{name}` is taken with the other sign.", lambda x: -x),
    Way("`{name}` is 2 larger.", lambda x: x + 2),
    Way("`{name}` is 2 smaller.", lambda x: x - 2),
)
"""Changes of one integer, or of integers."""

IDS: tuple[Way, ...] = (
    Way("`{name}` is compared with 1 where 0 is meant.", lambda x: x - 1),
    Way("`{name}` is compared with 2 where 0 is meant.", lambda x: x - 2),
    Way("`{name}` is compared with 3 where 0 is meant.", lambda x: x - 3),
)
"""Changes of the ids of a batch, in which only 0 has a fixed meaning."""

REAL: tuple[Way, ...] = (
    Way("`{name}` is taken with the other sign.", lambda x: -x),
    Way("`{name}` is replaced by its root.", lambda x: x**0.5),
    Way("`{name}` is squared.", lambda x: x * x),
    Way("`{name}` is replaced by 1 divided by it.", lambda x: 1 / x),
    Way("`{name}` is replaced by 1 minus it.", lambda x: 1 - x),
    Way("`{name}` is doubled.", lambda x: 2 * x),
    Way("`{name}` is halved.", lambda x: x / 2),
    Way("`{name}` is 0 in every case.", lambda x: 0.0),
    Way("`{name}` is 1 in every case.", lambda x: 1.0),
)
"""Changes of a number that need not be an integer."""

LISTS: tuple[Way, ...] = (
    Way("`{name}` is read from its end.", lambda x: x[::-1]),
    Way("`{name}` is sorted first.", lambda x: type(x)(sorted(x))),
    Way("the first is missing from `{name}`.", lambda x: x[1:]),
    Way("the last is missing from `{name}`.", lambda x: x[:-1]),
    Way("only the first of `{name}` is used.", lambda x: x[:1]),
    Way("only the last of `{name}` is used.", lambda x: x[-1:]),
    Way("`{name}` is without repetitions.", lambda x: list(dict.fromkeys(x))),
)
"""Changes of a list."""

FLAGS: tuple[Way, ...] = (Way("`{name}` is negated.", lambda x: not x),)
"""Changes of True or False."""


def _everywhere(part: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """Repeat what a tensor gives along its first axis along another axis."""

    def changed(x: Tensor, axis: int) -> Tensor:
        first = x.movedim(axis, 0)
        return part(first).expand_as(first).movedim(0, axis).contiguous()

    return changed


ALONG: tuple[Way, ...] = (
    Way("`{name}` is reversed along `{axis}`.", lambda x, axis: x.flip(axis)),
    Way("`{name}` is shifted by 1 along `{axis}`.", lambda x, axis: x.roll(1, axis)),
    Way("`{name}` is shifted back by 1 along `{axis}`.", lambda x, axis: x.roll(-1, axis)),
    Way("the first of `{axis}` stands for all in `{name}`.", _everywhere(lambda x: x[0])),
    Way("the last of `{axis}` stands for all in `{name}`.", _everywhere(lambda x: x[-1])),
    Way("`{name}` is sorted along `{axis}`.", lambda x, axis: x.sort(axis).values),
    Way("the mean over `{axis}` stands for all in `{name}`.", _everywhere(lambda x: x.mean(0))),
    Way("`{name}` goes through a softmax along `{axis}` first.", lambda x, axis: x.softmax(axis)),
)
"""Changes of a tensor along an axis."""

ANY_AND_ALL: tuple[Way, ...] = (
    Way("`{name}` is True along `{axis}` where any is.", _everywhere(lambda x: x.any(0))),
    Way("`{name}` is True along `{axis}` where all are.", _everywhere(lambda x: x.all(0))),
)
"""More changes of a mask along an axis."""


def _changes(name: str, annotation: Any, argument: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the changes of an argument, each with its sentence."""
    for way in _ways(argument):
        yield said(way.says, name=name), way.how
    if isinstance(argument, Tensor) and argument.dim():
        along = ALONG + ANY_AND_ALL if argument.dtype == torch.bool else ALONG
        for i, axis in enumerate(axes(name, annotation, argument)):
            for way in along:
                yield said(way.says, name=name, axis=axis), partial(way.how, axis=i)
        for way in TENSORS if argument.dim() > 1 else ():
            yield said(way.says, name=name), way.how
    if isinstance(argument, dict) and all(isinstance(x, Tensor) for x in argument.values()):
        yield from _of_weights(argument)


def _of_weights(weights: Mapping[str, Tensor]) -> Iterator[tuple[str, Any]]:
    """Iterate over changes of a layer's weights: one is ignored, or used for another."""
    for name in weights:
        for way in FORGOTTEN:
            yield said(way.says, name=name), lambda x, k=name, of=way.how: x | {k: of(x[k])}
    for one, other in itertools.permutations(weights, 2):
        if weights[one].shape == weights[other].shape:
            yield _stands_for(other, one), lambda x, k=one, o=other: x | {k: x[o]}


def _stands_for(other: str, name: str) -> str:
    return said("`{other}` is also used for `{name}`.", other=other, name=name)


def _ways(argument: Any) -> tuple[Way, ...]:
    """Return the changes for an argument of this kind."""
    if isinstance(argument, Tensor):
        kind = TRUTHS if argument.dtype == torch.bool else IDS if argument.dim() > 1 else WHOLE
        return (FLOATS if argument.is_floating_point() else kind) if argument.dim() else ()
    if isinstance(argument, bool | int):
        return FLAGS if isinstance(argument, bool) else WHOLE
    if isinstance(argument, float):
        return REAL
    return LISTS if isinstance(argument, list | str | tuple) else ()


def other_cases(
    known: Mapping[str, Any], cases: Sequence[Case]
) -> Iterator[tuple[str, Callable[[], Iterator[Case]]]]:
    """Pair sentences with functions that make the cases with one argument changed."""
    names = list(known)
    for place, name in enumerate(names):
        for sentence, change in _changes(name, known[name], cases[0][place]):
            yield sentence, partial(_changed, cases, place, change)
    for (place, name), (other, taken) in itertools.permutations(enumerate(names), 2):
        x, y = cases[0][place], cases[0][other]
        if type(x) is type(y) and not callable(x):
            yield _stands_for(taken, name), partial(_changed, cases, place, copied, other)


def _changed(
    cases: Sequence[Case], place: int, change: Callable[[Any], Any], of: int | None = None
) -> Iterator[Case]:
    """Make the cases with one argument changed, or replaced by a function of another."""
    for case in cases:
        given = list(copied(case))
        with suppress(Exception):  # a change that makes no sense here changes nothing
            given[place] = change(given[place if of is None else of])
        yield tuple(given)
