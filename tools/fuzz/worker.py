"""One reader, one process: mutate, read, and report the first fault."""

import argparse
import json
import logging
import resource
import shutil
import signal
import time
import traceback
import warnings
from pathlib import Path
from random import Random

from annotated_transformer.ground.errors import InputError
from fuzz.readers import READERS, Reader, write_all

PATIENCE = 10
"""Seconds within which a broken file must be refused."""
MEMORY = 6 * 2**30


class Endless(BaseException):
    """A reader takes too long."""


def give_up(*_: object) -> None:
    """Raise an exception if the reader takes too long."""
    raise Endless(f"more than {PATIENCE} seconds")


def fault(reader: Reader, folder: Path) -> str:
    """Read a broken file; return what went wrong, or nothing."""
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        reader.read(folder)
    except InputError as error:
        return "" if "\n" not in str(error).strip() else f"more than a line: {error}"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is: Rust's panics have no other base class
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
        return f"{type(error).__name__}: {str(error)[:200]} ({place})"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ""


def search(name: str, folder: Path, seconds: float, seed: int) -> dict[str, object]:
    """Try mutants for that many seconds; return how many there were, and the first fault."""
    reader, random, number = READERS[name], Random(seed), 0
    right, broken = folder / "right", folder / "broken"
    right.mkdir()
    write_all(right)
    shutil.copytree(right, broken)
    content = (right / reader.file).read_bytes()
    assert not (said := fault(reader, broken)), f"the file that is right: {said}"
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        number += 1
        mutant = random.choice(reader.mutations)(content, random)
        for _ in range(random.randrange(reader.most)):
            mutant = reader.mutations[0](mutant, random)
        (broken / reader.file).write_bytes(mutant)
        if said := fault(reader, broken):
            return {"tried": number, "fault": said, "file": str(broken / reader.file)}
        if any(path.is_dir() for path in broken.glob("**/*.unfinished")):
            return {"tried": number, "fault": "a file is left over", "file": str(broken)}
    return {"tried": number, "fault": ""}


def main() -> None:
    """Print the result as a line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("reader")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, give_up)
    print(json.dumps(search(asked.reader, asked.folder, asked.seconds, asked.seed)))


if __name__ == "__main__":
    main()
