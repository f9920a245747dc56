"""The exceptions of the package: unusable input, and training that diverged."""

from collections.abc import Collection
from importlib import import_module
from types import ModuleType


class InputError(ValueError):
    """The caller's input is unusable; the message has the given value and the requirement."""


class DivergedError(ArithmeticError):
    """The numbers of a model are no longer finite; the message has the step, and what may help."""


def require_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a value that is not one of the choices.

    Raises:
        InputError: if it is not one of them.
    """
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} is {value!r}, it must be one of {', '.join(choices)}.")


def require_library(name: str, extra: str = "export") -> ModuleType:
    """Import an optional library, which is installed by the name of its extra.

    Raises:
        InputError: if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        library = name.partition(".")[0]
        raise InputError(
            f"{library} is not installed: pip install 'annotated-transformer[{extra}]'."
        ) from error
