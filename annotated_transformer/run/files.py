"""Files: written whole or not at all, on the disk when it is said so, by one process at a time."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from annotated_transformer.errors import InputError

ON_WINDOWS = os.name == "nt"

LOCK = ".lock"
"""The file in a folder that its owner holds locked."""


class FolderTakenError(InputError):
    """There is something in the folder already, or somebody else fills it."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to; what is written there takes the place of ``path`` after the block.

    Whenever the program stops, or the power fails, the old file or the new one is there. It is
    written in a folder of its own beside it, where nothing else, and no link, is in the way: what a
    library leaves there when it is killed is gone after the next block.

    Raises:
        OSError: if it cannot be written; what was there before stays.
    """
    workshop = path.with_name(path.name + ".unfinished")
    try:
        discard(workshop)
        workshop.mkdir()
        written = workshop / path.name
        yield written
        written.chmod(0o666 & workshop.stat().st_mode)  # some libraries let nobody else read
        sync_to_disk(written)
        written.replace(path)
        sync_to_disk(path.parent)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        discard(workshop)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that, whenever the program stops, the old or the new one is there.

    Raises:
        OSError: if it cannot be written; what was there before stays.
    """
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def require_empty(folder: Path, otherwise: str = "") -> None:
    """Make sure that a folder can be filled: that it does not exist, or is empty.

    Raises:
        FolderTakenError: if it holds something, is a file, or is the current folder, which a
            new one cannot replace.
    """
    if folder.exists() and folder.samefile(os.curdir):
        raise FolderTakenError(f"{folder} is the folder that you are in: name a new one.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderTakenError(f"{folder} is not empty: choose another place{otherwise}.")


def fill_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a folder beside it, which takes its place when all is there.

    What a process left there that was killed meanwhile is thrown away.

    Raises:
        FolderTakenError: if there is something in the folder by then, or somebody else fills it.
        OSError: if it cannot be written; nothing is left of it then.
    """
    folder = Path(os.path.realpath(folder))  # `resolve` refuses links that go in a circle
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    missing = [parent for parent in folder.parents if not parent.exists()]
    try:
        lock = _claim(unfinished)
    except Timeout as error:
        raise FolderTakenError(f"{folder} is being filled by another process.") from error
    except OSError as error:
        raise not_written(folder, error) from error
    place = unfinished
    try:
        require_empty(folder)
        _empty(unfinished)
        write(unfinished)
        for path in (*unfinished.rglob("*"), unfinished):
            sync_to_disk(path)
        require_empty(folder)
        if ON_WINDOWS:  # no folder is moved in which a file is open, and none onto another
            lock.release()
            if folder.exists():
                folder.rmdir()
        # Refused by the system where the folder holds something by now.
        place = unfinished.rename(folder)
        (place / LOCK).unlink(missing_ok=ON_WINDOWS)
        sync_to_disk(folder.parent)
    except OSError as error:
        raise not_written(folder, error) from error
    finally:
        if place == unfinished:
            _empty(place)
            (place / LOCK).unlink(missing_ok=True)
        lock.release()
        with suppress(OSError):  # what was made on the way goes, unless it holds something
            for made in (unfinished, *missing):
                made.rmdir()


def _claim(folder: Path) -> FileLock:
    """Make a folder, if it is not there, and lock it.

    Only the holder of the lock deletes what is in the folder, and the lock itself: so two processes
    that come at the same moment do not take the folder from each other.

    Raises:
        Timeout: if somebody else has locked it, or has done so and gone again too often meanwhile.
        OSError: if it cannot be made.
    """
    lock = FileLock(folder / LOCK, timeout=0)
    for _ in range(100):
        if folder.is_symlink() or folder.is_file():
            with suppress(FileNotFoundError, IsADirectoryError):  # somebody was quicker
                folder.unlink()
        # What is not there any longer was just taken away, and what is there just made.
        with suppress(FileNotFoundError, FileExistsError):
            folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
            return lock
    raise Timeout(str(folder))


def _empty(folder: Path) -> None:
    """Take away all that is in a folder, but the lock."""
    for remains in folder.iterdir():
        if remains.name != LOCK:
            discard(remains)


def quoted(path: Path) -> str:
    """A path as a shell reads it back, for the commands that we propose.

    >>> print(quoted(Path("my runs/it's")))
    'my runs/it'"'"'s'
    >>> print(quoted(Path("-run")))
    ./-run
    """
    given = f".{os.sep}{path}" if str(path).startswith("-") else str(path)
    return subprocess.list2cmdline([given]) if ON_WINDOWS else shlex.quote(given)


def discard(path: Path) -> None:
    """Take away a file, a folder with all that is in it, or a link, but not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync_to_disk(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk itself."""
    if ON_WINDOWS and path.is_dir():
        return  # where a folder is no file
    number = os.open(path, os.O_RDWR if ON_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def not_written(path: Path, error: OSError) -> OSError:
    """What to say of a file or folder that could not be written: its name, and why."""
    reason: BaseException = error
    while reason.__cause__ is not None:
        reason = reason.__cause__
    return OSError(f"{path} could not be written ({reason}).")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run's folder: no other process trains it meanwhile.

    Raises:
        InputError: if somebody does.
    """
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(f"{folder} is being trained by another process.") from error
    try:
        yield
    finally:
        lock.release()
