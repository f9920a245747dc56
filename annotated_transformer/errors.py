"""The exceptions of the package: input that it cannot work with, and training that came apart."""

from collections.abc import Collection


class InputError(ValueError):
    """The caller's input is unusable; the message says what was given and what is required."""


class DivergedError(ArithmeticError):
    """The numbers of a model are no longer finite; the message says where, and what may help."""


def require_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Refuse a word that is none of the choices.

    Raises:
        InputError: if it is none of them.
    """
    if value not in choices:
        raise InputError(f"{name} is {value!r}, it must be one of {', '.join(choices)}.")
