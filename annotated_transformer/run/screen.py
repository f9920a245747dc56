"""The screen: what is shown beside the work; a broken pipe is ignored there."""

import sys
from contextlib import suppress
from typing import Any, TextIO, cast


class Screen:
    """Standard error, for what may be lost: a bar, a warning."""

    def write(self, text: str) -> int:
        """Write a text, if anybody reads it; how much of it was written."""
        with suppress(OSError):
            return sys.stderr.write(text)
        return 0

    def flush(self) -> None:
        """Write what was held back."""
        with suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        """All else is that of standard error."""
        return getattr(sys.stderr, name)


SCREEN = cast(TextIO, Screen())
