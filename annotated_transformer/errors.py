"""The one exception for input that the package cannot work with."""


class InputError(ValueError):
    """The caller's input is unusable; the message says what was given and what is required."""
