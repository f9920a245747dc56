"""Settings: dataclasses whose values are checked, with one sentence for each error."""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from functools import cache
from reprlib import Repr
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import AfterValidator, Field, GetPydanticSchema, TypeAdapter, ValidationError

from annotated_transformer.ground.errors import InputError

Settings = TypeVar("Settings")

BRIEF = Repr()
"""Shows a value as Python writes it, shortened if it is long or deep."""
BRIEF.maxstring = BRIEF.maxlong = BRIEF.maxother = 100

Size = Annotated[int, Field(ge=1, le=10**9)]
"""A number of things of which there is at least one."""

VocabularySize = Annotated[Size, Field(ge=4)]
"""The size of a vocabulary, special tokens included."""

Share = Annotated[float, Field(ge=0, lt=1)]
"""A fraction of at least 0 and below 1."""


KINDS = {
    "integer": "an integer",
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
"""The words of JSON Schema, as the messages say them."""


def one_of(names: Collection[str]) -> GetPydanticSchema:
    """Require one of these names, whichever exist at the time of the check."""

    def known(word: str) -> str:
        if word not in names:
            raise ValueError
        return word

    return GetPydanticSchema(
        lambda kind, handler: handler(Annotated[kind, AfterValidator(known)]),
        lambda schema, handler: {"enum": [*names]},
    )


def check_value(kind: type, name: str, value: Any) -> Any:
    """Return a value for a setting of a dataclass; an integer becomes a float where one is needed.

    Raises:
        InputError: if its type or its range is wrong.
    """
    try:
        return _adapters(kind)[name].validate_python(value, strict=True)
    except ValidationError as error:
        wanted = requirement(_adapters(kind)[name].json_schema())
        raise InputError(f"{name} is {BRIEF.repr(value)}, it must be {wanted}.") from error


def requirement(schema: Mapping[str, Any]) -> str:
    """Describe what a JSON Schema requires: all of it, not only the part that failed.

    >>> requirement({"type": "integer", "minimum": 1, "maximum": 1000})
    'an integer, at least 1 and at most 1,000'
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
        f"{words} {schema[bound]:,}".removesuffix(".0")  # versions differ: 1.0 or 1
        for bound, words in BOUNDS.items()
        if bound in schema
    ]
    return KINDS[schema["type"]] + (", " if bounds else "") + " and ".join(bounds)


def check_settings(settings: object) -> None:
    """Refuse a dataclass with an invalid value.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Cake:
    ...     layers: Size
    >>> check_settings(Cake(layers=0))
    Traceback (most recent call last):
    annotated_transformer.ground.errors.InputError: layers is 0, it must be an integer, at least 1 \
and at most 1,000,000,000.

    Raises:
        InputError: if there is one.
    """
    for field in fields(settings):  # type: ignore[arg-type]
        check_value(type(settings), field.name, getattr(settings, field.name))


def default_of(field: Any) -> Any:
    """Return the default of a field of a dataclass."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def require_known(
    settings: object, reader: str, known: Mapping[str, Collection[Any] | None]
) -> None:
    """Refuse settings that another program, named by ``reader``, cannot express.

    ``known`` has the settings that it can express, with the allowed values, or ``None`` for
    any value. A setting that is not listed must have its default.

    Raises:
        InputError: if there is one.
    """
    for field in fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        allowed = known.get(field.name, (default_of(field),))
        if allowed is not None and value not in allowed:
            # Where None is also allowed, it stands for one of the other values.
            wanted = " or ".join(repr(one) for one in allowed if one is not None) or "None"
            raise InputError(f"{field.name} is {value!r}, {reader} can only have {wanted}.")


def build(kind: type[Settings], given: Mapping[str, Any]) -> Settings:
    """Build a dataclass from settings by name that come from outside.

    Raises:
        InputError: if there is no setting of that name, or it does not allow that value.
    """
    made: Any = kind
    names = _adapters(made)
    for name in given:
        if name not in names:
            raise InputError(unknown(name, names))
    for field in fields(made):
        if field.default is field.default_factory is MISSING and field.name not in given:
            raise InputError(f"{field.name} is missing, it must be set.")
    return made(**{name: check_value(kind, name, value) for name, value in given.items()})


def unknown(name: str, names: Collection[str]) -> str:
    """Make the message for an unknown setting: the name that was perhaps meant, or all names.

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
