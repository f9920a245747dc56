"""The one exception for input that the package cannot work with."""


class InputError(ValueError):
    """The caller's input is unusable; the message says what was given and what is required."""


def require_sizes(config: object, *names: str) -> None:
    """Refuse a configuration in which one of the named sizes is below 1.

    Raises:
        InputError: if there is one.
    """
    for name in names:
        if getattr(config, name) < 1:
            raise InputError(f"{name} is {getattr(config, name)}, it must be at least 1.")


def require_dropout(dropout: float) -> None:
    """Refuse a probability that would drop everything, or that is none.

    Raises:
        InputError: if the dropout is outside [0, 1).
    """
    if not 0 <= dropout < 1:
        raise InputError(f"dropout is {dropout}, it must be at least 0 and below 1.")
