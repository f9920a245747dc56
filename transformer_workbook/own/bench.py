"""Bench: the reader's code is judged in another process, which is stopped if it hangs."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any
from uuid import uuid4

from annotated_transformer.errors import InputError
from transformer_workbook.own.judging import Finding, judged, loaded, subjects_of
from transformer_workbook.own.loading import file_of, stand_in
from transformer_workbook.own.placing import placed

PATIENCE = 60.0
"""After so many seconds without a word the other process is stopped."""

PROGRAM = "import sys; from transformer_workbook.own.bench import serve; serve(sys.argv[1:])"

END = False
"""The last word of the other process."""

LONGEST = 10**6
"""Bytes of a line that the other process says: what has more is none of ours."""


def findings(folder: Path, modules: Sequence[str], patience: float = PATIENCE) -> list[Finding]:
    """What is said of every subject of these modules, in their order.

    Whatever the reader's code does, it does it in another process: it may end that process, print
    what it likes, or compute without an end.

    Raises:
        InputError: if the folder is not that of a package of one's own.
    """
    for module in modules:
        file_of(folder, module)
    left = [(module, subject) for module in modules for subject in subjects_of(module)]
    found: dict[tuple[str, str], Finding] = {}
    while left:
        loaded: str | None = ""
        for told in _told(folder, left, patience):
            if isinstance(told, Finding):
                found[told.module, told.subject] = told  # once more where its place was found
            else:
                loaded = told
        left = [pair for pair in left if pair not in found]
        if left and loaded is not None:  # the process ended too early, at the first that is left
            hung, first = left[0]
            place = "" if hung == loaded else f"{hung}.py"
            for pair in [pair for pair in left if pair[0] == hung]:
                if place or pair[1] == first:
                    found[pair] = Finding(*pair, "wrong", STOPPED, place=place)
            left = [pair for pair in left if pair not in found]
    return list(found.values())


STOPPED = "the check ended here: this code does not come to an end, or ends the whole process."


def _told(
    folder: Path, left: list[tuple[str, str]], patience: float
) -> Iterator[Finding | str | None]:
    """What a process says until it ends, or says nothing for too long.

    A finding; the name of a module that has been loaded; or None when it is judged.
    """
    # A folder of the reader's is the first place where Python looks for modules with -c: not here.
    environment = os.environ | {"PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    mark = uuid4().hex  # the reader's code may write anything to any descriptor
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), json.dumps(left), mark],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        bufsize=0,
        start_new_session=True,
    )
    lines: Queue[Any] = Queue()
    # Not waited for: a process that the reader's code has begun may keep the pipe for ever.
    Thread(target=_listen, args=(process.stdout, mark.encode(), lines), daemon=True).start()
    try:
        if _next(lines, 10 * PATIENCE) is END:
            raise InputError("the process that checks could not be started: is memory short?")
        while (told := _next(lines, patience)) is not END:
            yield Finding(**told) if isinstance(told, dict) else told
    finally:
        if hasattr(os, "killpg"):
            with suppress(PermissionError):  # macOS says so where all of them have ended
                os.killpg(process.pid, signal.SIGKILL)  # with all that it has begun
        process.kill()
        process.wait()


def _listen(pipe: Any, mark: bytes, lines: "Queue[Any]") -> None:
    """Hand on what the other process says, and `END` when it says no more."""
    with pipe:
        rest = b""
        while got := pipe.read(LONGEST):
            *whole, rest = (rest + got).split(b"\n")
            for line in whole:
                with suppress(ValueError):  # a long one, into which another thread has written
                    if line.startswith(mark):
                        lines.put(json.loads(line.removeprefix(mark)))
            rest = rest[:LONGEST]
    lines.put(END)


def _next(lines: "Queue[Any]", patience: float) -> Any:
    try:
        return lines.get(timeout=patience)
    except Empty:
        return END


def serve(arguments: list[str]) -> None:
    """Judge what is named after the folder, and print what is found, as soon as it is."""
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the reader's code prints goes nowhere

    # Absolute: the reader's code may change where this process stands.
    folder, subjects, mark = Path(arguments[0]).resolve(), json.loads(arguments[1]), arguments[2]

    def tell(entry: Any) -> None:
        print(f"\n{mark}{json.dumps(entry)}", file=told, flush=True)

    stand_in(folder)
    tell("")
    for module, pairs in groupby(subjects, key=itemgetter(0)):
        theirs = loaded(folder, module)
        tell(module)
        found = []
        for _, subject in pairs:
            found.append(judged(theirs, module, subject))
            tell(asdict(found[-1]))
        tell(None)
        for finding in placed(folder, module, found):
            tell(asdict(finding))
        stand_in(folder)
    tell(END)
