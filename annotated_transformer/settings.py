"""Settings: dataclasses whose values are checked, with one sentence for what is wrong."""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from functools import cache
from reprlib import Repr
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import AfterValidator, Field, GetPydanticSchema, TypeAdapter, ValidationError

from annotated_transformer.errors import InputError

Settings = TypeVar("Settings")

BRIEF = Repr()
"""Shows a value as Python writes it; of a long or deep one, what tells it from others."""
BRIEF.maxstring = BRIEF.maxlong = BRIEF.maxother = 100

Size = Annotated[int, Field(ge=1, le=10**9)]
"""How many there are of something that there must be."""

VocabularySize = Annotated[Size, Field(ge=4)]
"""How many tokens a vocabulary has: the special tokens are always there."""

Share = Annotated[float, Field(ge=0, lt=1)]
"""A part of a whole, less than all of it."""


KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "a text",
    "object": "settings by name",
    "null": "null",
}
BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}
"""What the words of JSON Schema mean."""


def one_of(names: Collection[str]) -> GetPydanticSchema:
    """The requirement that a word is one of these, whichever they are when it is checked."""

    def known(word: str) -> str:
        if word not in names:
            raise ValueError
        return word

    return GetPydanticSchema(
        lambda kind, handler: handler(Annotated[kind, AfterValidator(known)]),
        lambda schema, handler: {"enum": [*names]},
    )


def check_value(kind: type, name: str, value: Any) -> Any:
    """A value for a setting of a dataclass: a whole number becomes a float where one is wanted.

    Raises:
        InputError: if its type or its range is wrong.
    """
    try:
        return _adapters(kind)[name].validate_python(value, strict=True)
    except ValidationError as error:
        wanted = requirement(_adapters(kind)[name].json_schema())
        raise InputError(f"{name} is {BRIEF.repr(value)}, it must be {wanted}.") from error


def requirement(schema: Mapping[str, Any]) -> str:
    """What a JSON Schema asks for: all of it, whichever part of it was not met.

    >>> requirement({"type": "integer", "minimum": 1, "maximum": 1000})
    'a whole number, at least 1 and at most 1,000'
    >>> requirement({"type": "number", "minimum": 0.0, "exclusiveMaximum": 1.0})
    'a number, at least 0 and below 1'
    """
    if "anyOf" in schema:
        return ", or ".join(map(requirement, schema["anyOf"]))
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema["type"] == "array":
        return f"a list, of which each is {requirement(schema['items'])}"
    bounds = [
        f"{words} {schema[bound]:,}".removesuffix(".0")  # some versions say 1.0 where others say 1
        for bound, words in BOUNDS.items()
        if bound in schema
    ]
    return KINDS[schema["type"]] + (", " if bounds else "") + " and ".join(bounds)


def check_settings(settings: object) -> None:
    """Refuse a dataclass that has a value which its setting cannot have.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Cake:
    ...     layers: Size
    >>> check_settings(Cake(layers=0))
    Traceback (most recent call last):
    annotated_transformer.errors.InputError: layers is 0, it must be a whole number, at least 1 \
and at most 1,000,000,000.

    Raises:
        InputError: if there is one.
    """
    for field in fields(settings):  # type: ignore[arg-type]
        check_value(type(settings), field.name, getattr(settings, field.name))


def require_known(
    settings: object, reader: str, known: Mapping[str, Collection[Any] | None]
) -> None:
    """Refuse settings that another program cannot express; ``reader`` is its name.

    ``known`` lists what it can express: a setting with the values that it can have, or ``None`` for
    any. Whatever it does not list must have its default.

    Raises:
        InputError: if there is one.
    """
    for field in fields(settings):  # type: ignore[arg-type]
        value, made = getattr(settings, field.name), field.default_factory
        default = field.default if made is MISSING else made()
        allowed = known.get(field.name, (default,))
        if allowed is not None and value not in allowed:
            # Where another value may be None, that stands for one of the others.
            wanted = " or ".join(repr(one) for one in allowed if one is not None) or "None"
            raise InputError(f"{field.name} is {value!r}, {reader} can only have {wanted}.")


def build(kind: type[Settings], given: Mapping[str, Any]) -> Settings:
    """A dataclass from settings by name that come from outside.

    Raises:
        InputError: if there is no setting of that name, or it cannot have that value.
    """
    made: Any = kind
    names = _adapters(made)
    for name in given:
        if name not in names:
            raise InputError(unknown(name, names))
    for field in fields(made):
        if field.default is field.default_factory is MISSING and field.name not in given:
            raise InputError(f"{field.name} is not set, it must be.")
    return made(**{name: check_value(kind, name, value) for name, value in given.items()})


def unknown(name: str, names: Collection[str]) -> str:
    """What to say of a setting that there is not: the name that was perhaps meant, or all names.

    >>> unknown("d_modle", ["steps", "d_model"])
    "there is no setting 'd_modle': did you mean d_model?"
    >>> unknown("wide", ["steps", "d_model"])
    "there is no setting 'wide', there are steps, d_model."
    """
    said = f"there is no setting {BRIEF.repr(name)}"
    if near := get_close_matches(name.lower(), names, n=1):
        return f"{said}: did you mean {near[0]}?"
    return f"{said}, there are {', '.join(names)}."


@cache
def _adapters(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(kind)}
