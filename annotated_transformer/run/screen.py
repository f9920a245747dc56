"""The screen: progress and warnings; a broken pipe is ignored there."""

import sys
from contextlib import suppress
from typing import Any, TextIO, cast

from tqdm import tqdm

from annotated_transformer.ground.sentences import spoken


class Screen:
    """Standard error, for output that may be lost: a progress bar, a warning."""

    def write(self, text: str) -> int:
        """Write a text, if the stream is open; return how much of it was written."""
        with suppress(OSError):
            return sys.stderr.write(text)
        return 0

    def flush(self) -> None:
        """Flush the stream."""
        with suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to standard error."""
        return getattr(sys.stderr, name)


SCREEN = cast(TextIO, Screen())


def tell(sentence: str) -> None:
    """Write a sentence on the screen, above a progress bar, in the language that is chosen."""
    tqdm.write(spoken(sentence), file=SCREEN)
    SCREEN.flush()
