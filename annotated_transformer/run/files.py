"""Files: written whole or not at all, flushed to the disk, by one process at a time."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import StrPath, require_path

ON_WINDOWS = os.name == "nt"

LOCK = ".lock"
"""The file in a folder that its owner locks."""


class FolderTakenError(InputError):
    """The folder is not empty, or another process is filling it."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; what is written there replaces ``path`` after the block.

    Whenever the program stops, or the power fails, the old file or the new one exists. It is
    written in a temporary folder beside it, where no other file or link can interfere. What a
    library leaves there when it is killed is removed after the next block.

    Raises:
        OSError: if it cannot be written; the previous file stays.
    """
    workshop = path.with_name(path.name + ".unfinished")
    try:
        discard(workshop)
        workshop.mkdir()
        written = workshop / path.name
        yield written
        written.chmod(0o666 & workshop.stat().st_mode)  # some libraries make files private
        sync_to_disk(written)
        written.replace(path)
        sync_to_disk(path.parent)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        discard(workshop)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that, whenever the program stops, the old or the new one exists.

    Raises:
        OSError: if it cannot be written; the previous file stays.
    """
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def require_empty(folder: StrPath, otherwise: str = "") -> None:
    """Refuse a folder that exists and is not empty.

    Raises:
        FolderTakenError: if it contains something, is a file, or is the current folder, which a
            new one cannot replace.
    """
    folder = require_path("folder", folder)
    if folder.exists() and folder.samefile(os.curdir):
        raise FolderTakenError(f"{folder} is the current folder: name a new one.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderTakenError(f"{folder} is not empty: choose another place{otherwise}.")


def fill_folder(folder: StrPath, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a temporary folder, which replaces ``folder`` when it is complete.

    What a process left there that was killed meanwhile is deleted.

    Raises:
        FolderTakenError: if the folder is not empty by then, or another process fills it.
        OSError: if it cannot be written; nothing is left then.
    """
    folder = Path(os.path.realpath(folder))  # `resolve` refuses circular links
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
        if ON_WINDOWS:  # there a folder with an open file, or onto another, cannot be moved
            lock.release()
            if folder.exists():
                folder.rmdir()
        # The system refuses this if the folder is not empty any more.
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
        with suppress(OSError):  # parents made for it are removed, unless they contain something
            for made in (unfinished, *missing):
                made.rmdir()


def _claim(folder: Path) -> FileLock:
    """Make a folder, if it is not there, and lock it.

    Only the holder of the lock deletes the contents of the folder, and the lock itself: so two
    processes that arrive at the same moment do not take the folder from each other.

    Raises:
        Timeout: if another process has locked it, or locked and released it too often meanwhile.
        OSError: if it cannot be made.
    """
    lock = FileLock(folder / LOCK, timeout=0)
    for _ in range(100):
        if folder.is_symlink() or folder.is_file():
            with suppress(FileNotFoundError, IsADirectoryError):  # another process was first
                folder.unlink()
        # A missing folder was just removed, and an existing one just made.
        problem: OSError | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileNotFoundError, FileExistsError) as error:
            problem = error  # or it is a place where nothing can be made, such as /proc
            continue
        with suppress(FileNotFoundError):
            lock.acquire()
            return lock
    raise problem or Timeout(str(folder))


def _empty(folder: Path) -> None:
    """Delete everything in a folder except the lock."""
    for remains in folder.iterdir():
        if remains.name != LOCK:
            discard(remains)


def quoted(path: Path) -> str:
    """Quote a path for a shell, for the commands that we propose.

    >>> print(quoted(Path("my runs/it's")))
    'my runs/it'"'"'s'
    >>> print(quoted(Path("-run")))
    ./-run
    """
    given = f".{os.sep}{path}" if str(path).startswith("-") else str(path)
    return subprocess.list2cmdline([given]) if ON_WINDOWS else shlex.quote(given)


def discard(path: Path) -> None:
    """Delete a file, a folder with its contents, or a link, but not the target of the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync_to_disk(path: Path) -> None:
    """Wait until a file, or the listing of a folder, is on the disk."""
    if ON_WINDOWS and path.is_dir():
        return  # where folders cannot be opened as files
    number = os.open(path, os.O_RDWR if ON_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def not_written(path: Path, error: OSError) -> OSError:
    """Make the error for a file or folder that could not be written: its name, and why."""
    reason: BaseException = error
    while reason.__cause__ is not None:
        reason = reason.__cause__
    return OSError(f"{path} could not be written ({reason}).")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a run's folder, so that no other process trains it meanwhile.

    Raises:
        InputError: if another process has locked it.
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
