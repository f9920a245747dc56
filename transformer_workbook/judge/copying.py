"""Copying: deep copies of arguments, quickly where they are plain tensors, numbers or text."""

from copy import deepcopy
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")

CONSTANT = frozenset({bool, int, float, str, bytes, type(None)})
"""What cannot be changed and need not be copied."""


def copied(value: T, known: dict[int, Any] | None = None) -> T:
    """A deep copy, in which what was the same object twice is so again.

    ``known`` says what has a copy already, by its ``id``.

    ``copy.deepcopy`` takes some ten times as long for a tensor, and is asked for all others.

    >>> row = torch.zeros(2)
    >>> first, second = copied((row, row))
    >>> first is second, first is row
    (True, False)
    """
    return _copied(value, {} if known is None else known)


def _copied(value: Any, known: dict[int, Any]) -> Any:
    kind = type(value)
    if kind in CONSTANT:
        return value
    if id(value) in known:
        return known[id(value)]
    if kind is tuple:
        known[id(value)] = tuple(_copied(entry, known) for entry in value)
    elif kind is list:
        entries: list[Any] = []
        known[id(value)] = entries
        entries.extend(_copied(entry, known) for entry in value)
    elif kind is Tensor and _is_plain(value):
        known[id(value)] = value.clone()
    else:
        return deepcopy(value, known)
    return known[id(value)]


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is nothing but its numbers, one after the other."""
    return (
        tensor.layout is torch.strided
        and not tensor.requires_grad
        and tensor.is_contiguous()
        and tensor.untyped_storage().nbytes() == tensor.nbytes
        and not tensor.__dict__
    )
