"""Bench: the reader's code is judged in another process, which is stopped if it hangs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from annotated_transformer.errors import InputError
from transformer_workbook.own.judging import Finding, judged, loaded, subjects_of
from transformer_workbook.own.loading import file_of, stand_in
from transformer_workbook.own.placing import placed

PATIENCE = 60.0
"""After so many seconds without a word the other process is stopped."""

PROGRAM = "import sys; from transformer_workbook.own.bench import serve; serve(sys.argv[1:])"


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
        if (
            left and loaded is not None
        ):  # the process has ended too early, at the first that is left
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
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), json.dumps(left)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
        encoding="utf-8",
    )
    lines: Queue[str] = Queue()

    def listen() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put("")

    listener = Thread(target=listen, daemon=True)
    listener.start()
    try:
        if not _next(lines, 10 * PATIENCE):
            raise InputError("the process that checks could not be started: is memory short?")
        while line := _next(lines, patience):
            told = json.loads(line)
            yield Finding(**told) if isinstance(told, dict) else told
    finally:
        process.kill()
        process.wait()
        listener.join()
        if process.stdout:
            process.stdout.close()


def _next(lines: "Queue[str]", patience: float) -> str:
    try:
        return lines.get(timeout=patience)
    except Empty:
        return ""


def serve(arguments: list[str]) -> None:
    """Judge what is named after the folder, and print what is found, as soon as it is."""
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the reader's code prints goes nowhere

    def tell(entry: Any) -> None:
        print(json.dumps(entry), file=told, flush=True)

    # Absolute: the reader's code may change where this process stands.
    folder, subjects = Path(arguments[0]).resolve(), json.loads(arguments[1])
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
