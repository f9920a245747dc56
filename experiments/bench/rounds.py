"""Rounds: contestants in separate processes, each doing the same work once in every round."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from annotated_transformer.ground.errors import InputError
from bench.task import ROOT, environment, load_contest

PYTHON = "BENCH_PYTHON"
"""The environment variable with the Python in which the contestants' libraries are."""

Row = dict[str, Any]


class Worker:
    """The process of one contestant."""

    def __init__(
        self, contest: str, name: str, folder: Path, threads: int, variables: dict[str, str]
    ) -> None:
        paths = os.pathsep.join(str(ROOT / part) for part in ("", "experiments", "tests"))
        self.name = name
        self.process = subprocess.Popen(
            [
                *(os.environ.get(PYTHON, sys.executable), "-m", "bench.worker"),
                *(contest, name, str(folder), str(threads)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": str(threads)} | variables,
        )

    def heard(self) -> Row:
        """Return the next message of the process.

        Raises:
            InputError: if it has ended instead.
        """
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise InputError(
                f"the contestant {self.name} ended with status {self.process.wait()}: "
                "its last lines are above."
            )
        said: Row = json.loads(line)
        return said

    def turn(self, number: int) -> Row:
        """Let it work for a turn, and return how long it took."""
        assert self.process.stdin is not None
        print(number, file=self.process.stdin, flush=True)
        return self.heard()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        """End the process: without input it has no more turns."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def race(
    contest: str, names: Sequence[str], threads: int, rounds: int, skip: int = 1
) -> tuple[list[Row], Row]:
    """Return a row for each contestant, the versions of their libraries, and further notes.

    The first ``skip`` rounds are left out. Ratios are medians over rounds of how many times slower
    the reference of a contestant was, in the same round.

    Raises:
        InputError: if a contestant does other work than the others, or cannot do it.
    """
    module = load_contest(contest)
    versions: dict[str, str] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        noted = module.prepare(folder) or {}
        workers, answers = [], {}
        for name in names:
            worker = stack.enter_context(
                Worker(contest, name, folder, threads, environment(module))
            )
            ready = worker.heard()
            workers.append(worker)
            answers[name] = ready["answer"]
            versions |= ready["versions"]
        judged = module.judge(answers)
        turns = [[worker.turn(i) for worker in workers] for i in range(rounds + skip)][skip:]
    taken = dict(zip(names, zip(*turns, strict=True), strict=True))
    rows = [summary(name, own, taken[module.reference(name)]) for name, own in taken.items()]
    return [row | judged.get(row["contestant"], {}) for row in rows], {"versions": versions} | noted


def summary(name: str, own: Sequence[Row], others: Sequence[Row]) -> Row:
    """Summarise a contestant by medians, also relative to another in the same rounds."""

    def ratio(key: str) -> float:
        return statistics.median(
            other[key] / mine[key] for other, mine in zip(others, own, strict=True)
        )

    def median(key: str) -> float:
        return statistics.median(mine[key] for mine in own)

    return {
        "contestant": name,
        "seconds": round(median("wall"), 3),
        "cpu_seconds": round(median("cpu"), 3),
        "per_second": round(sum(mine["units"] for mine in own) / sum(mine["wall"] for mine in own)),
        "times_as_fast": round(ratio("wall"), 2),
        "times_as_fast_cpu": round(ratio("cpu"), 2),
        "peak_mib": max(mine["peak"] for mine in own),
        "rounds": len(own),
    }
