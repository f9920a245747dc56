"""Bench: the reader's code is judged in another process, which is stopped if it hangs."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any
from uuid import uuid4

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import StrPath, require_path
from transformer_workbook.judge.faults import FAULT, trace_of
from transformer_workbook.judge.sentences import said
from transformer_workbook.own.judgement import Finding, judged, loaded, subjects_of
from transformer_workbook.own.loader import file_of, stand_in
from transformer_workbook.own.localisation import placed

PATIENCE = 60.0
"""Seconds without output after which the other process is stopped."""

PROGRAM = "import sys; from transformer_workbook.own.bench import serve; serve(sys.argv[1:])"

END = False
"""Marks the end of the other process's output."""

LONGEST = 10**6
"""Bytes of a line from the other process: a longer one is not ours."""


def findings(folder: StrPath, modules: Sequence[str], patience: float = PATIENCE) -> list[Finding]:
    """Judge every subject of these modules, in their order.

    The reader's code runs in another process: it may end that process, print
    anything, or compute without end.

    Raises:
        InputError: if the folder is not that of a reader's package.
    """
    folder = require_path("folder", folder)
    for module in modules:
        file_of(folder, module)
    left = [(module, subject) for module in modules for subject in subjects_of(module)]
    found: dict[tuple[str, str], Finding] = {}
    while left:
        loaded: str | None = ""
        for told in _told(folder, left, patience):
            if isinstance(told, Finding):
                found[told.module, told.subject] = told  # again when its place was found
            else:
                loaded = told
        left = [pair for pair in left if pair not in found]
        if left and loaded is not None:  # the process ended too early, at the first one left
            hung, first = left[0]
            place = "" if hung == loaded else f"{hung}.py"
            for pair in [pair for pair in left if pair[0] == hung]:
                if place or pair[1] == first:
                    found[pair] = Finding(*pair, "wrong", STOPPED, place=place)
            left = [pair for pair in left if pair not in found]
    return list(found.values())


STOPPED = said("the check ended here: this code does not finish, or ends the whole process.")


def _told(
    folder: Path, left: list[tuple[str, str]], patience: float
) -> Iterator[Finding | str | None]:
    """Iterate over the entries of a process until it ends, or is silent for too long.

    An entry is a finding; the name of a module that has been loaded; or None when it is judged.
    """
    # With -c, Python looks for modules in the current folder first: not in the reader's here.
    environment = os.environ | {"PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    mark = uuid4().hex  # the reader's code may write anything to any descriptor
    process: Any = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), json.dumps(left), mark],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        bufsize=0,
        start_new_session=True,
    )
    lines: Queue[Any] = Queue()
    # Not waited for: a process that the reader's code has started may keep the pipe open.
    Thread(target=_listen, args=(process.stdout, mark.encode(), lines), daemon=True).start()
    begun = False
    try:
        begun = _next(lines, 10 * PATIENCE) is not END
        while begun and (told := _next(lines, patience)) is not END:
            yield Finding(**told) if isinstance(told, dict) else told
    finally:
        if sys.platform != "win32":
            with suppress(PermissionError):  # raised by macOS where all of them have ended
                os.killpg(process.pid, signal.SIGKILL)  # with all processes that it started
        process.kill()
        process.wait()
        with process.stderr as pipe:  # only ours have it
            errors = pipe.read().decode(errors="replace")
    if not begun:
        raise _not_started(errors)


def _not_started(errors: str) -> Exception:
    """Make the exception for a process that ended before it had any code of the reader's."""
    if "Traceback" in errors:
        return RuntimeError(f"{FAULT}\n{errors}")
    return InputError("the checking process could not be started: is memory short?")


def _listen(pipe: Any, mark: bytes, lines: "Queue[Any]") -> None:
    """Forward the output of the other process, and `END` when it is closed."""
    with pipe:
        rest = b""
        while got := pipe.read(LONGEST):
            *whole, rest = (rest + got).split(b"\n")
            for line in whole:
                with suppress(ValueError):  # a line into which another thread has written
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
    """Judge the modules named after the folder, and print each finding at once."""
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")

    # Absolute: the reader's code may change the current folder.
    folder, subjects, mark = Path(arguments[0]).resolve(), json.loads(arguments[1]), arguments[2]

    def tell(entry: Any) -> None:
        print(f"\n{mark}{json.dumps(entry)}", file=told, flush=True)

    stand_in(folder)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):  # of the reader's code
        os.dup2(nowhere, output)
    tell("")
    for module, pairs in groupby(subjects, key=itemgetter(0)):
        theirs = loaded(folder, module)
        tell(module)
        found = []
        for _, subject in pairs:
            found.append(judged(theirs, module, subject))
            tell(asdict(found[-1]))
        tell(None)
        try:
            for finding in placed(folder, module, found):
                tell(asdict(finding))
        except Exception as error:  # what is wrong remains so, without a place
            wrong = next(finding for finding in found if finding.state == "wrong")
            tell(asdict(replace(wrong, trace=trace_of(error))))
        stand_in(folder)
    tell(END)
