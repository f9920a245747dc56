"""Sentences: what a reader is told stands in the code as whole literals, which can be listed.

``pybabel extract -k said -k to_say -k Way`` lists them. A place in braces holds a value, a name or
another whole sentence, never a piece of grammar. Nothing is looked up by a sentence.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import reduce
from typing import Any, NamedTuple


class Way(NamedTuple):
    """A row of a table: what to say, and a change or a condition by which it is found out."""

    says: str
    how: Callable[..., Any]
    values: Mapping[str, object] = {}
    """What stands in the places of the sentence."""


def said(sentence: str, /, **values: object) -> str:
    """A sentence with its values in its places.

    >>> said("this is `{name}`, as it was given.", name="mask")
    'this is `mask`, as it was given.'
    """
    return sentence.format(**values)


def to_say(sentence: str, /) -> str:
    """A sentence that is said later, when the values in its places are known."""
    return sentence


def first_said(ways: Iterable[Way], fits: Callable[[Callable[..., Any]], bool]) -> str:
    """What the first way says that fits, or nothing."""
    for says, how, values in ways:
        with suppress(Exception):  # it may make no sense for results or arguments of this kind
            if fits(how):
                return said(says, **values)
    return ""


def either(values: Iterable[str]) -> str:
    """Values of which one will do."""
    return reduce(lambda one, other: said("{one} or {other}", one=one, other=other), values)
