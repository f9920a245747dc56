"""Sentences: what a reader is told stands in the code as whole literals, which can be listed.

``pybabel extract -k said -k Way -k Sign`` lists them. A place in braces holds a value, a name or
another whole sentence, never a piece of grammar. Nothing is looked up by a sentence.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, NamedTuple


class Way(NamedTuple):
    """A row of a table: what to say of something that comes from another by a change."""

    says: str
    change: Callable[..., Any]


class Sign(NamedTuple):
    """A row of a table: what to say where something holds."""

    says: str
    holds: Callable[..., Any]


def said(sentence: str, /, **values: object) -> str:
    """A sentence with its values in its places.

    >>> said("this is `{argument}`, as it was given.", argument="mask")
    'this is `mask`, as it was given.'
    """
    return sentence.format(**values)


def to_say(sentence: str, /) -> str:
    """A sentence that is said later, when the values in its places are known."""
    return sentence


def either(values: Iterable[str]) -> str:
    """Values of which one will do.

    >>> either(["'dot'", "'general'"])
    "'dot' or 'general'"
    """
    return reduce(lambda one, other: said("{one} or {other}", one=one, other=other), values)
