"""Screens on which a program writes while it works."""

from typing import Any


class BrokenScreen:
    """A terminal that nobody reads any longer."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> Any:
        raise BrokenPipeError(32, "Broken pipe")

    def flush(self) -> None:
        raise BrokenPipeError(32, "Broken pipe")
