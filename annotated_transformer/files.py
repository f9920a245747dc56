"""Files: written whole or not at all, and by one process at a time."""

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from annotated_transformer.errors import InputError


class FolderTakenError(InputError):
    """There is something in the folder already."""


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that, whenever the program stops, the old or the new one is there."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def require_empty(folder: Path, otherwise: str = "") -> None:
    """Make sure that a folder can be filled: that it does not exist, or is empty.

    Raises:
        FolderTakenError: if it holds something, or is a file.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderTakenError(f"{folder} is not empty: choose another place{otherwise}.")


def fill_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a folder beside it, which takes its place when all is there.

    Raises:
        FolderTakenError: if there is something in the folder by then.
    """
    folder = folder.resolve()
    unfinished = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    try:
        unfinished.mkdir(parents=True)
        write(unfinished)
        try:
            unfinished.rename(folder)  # refused by the system where the folder holds something
        except OSError:
            require_empty(folder)
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else trains the run in this folder while the block is run.

    Raises:
        InputError: if somebody does.
    """
    lock = FileLock(folder / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(f"{folder} is being trained by another process.") from error
    try:
        yield
    finally:
        lock.release()
