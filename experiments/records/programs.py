"""Two processes with one thread each, timed beside one with two threads: training, translating."""

import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from annotated_transformer.ground.errors import InputError
from bench.worker import versions
from records import captions
from records.bench import ROUNDS, where
from records.tables import ROOT, Row, Tables, here, read

STEPS, BATCH_TOKENS = 30, 2048
"""Of a training; and the tokens of a step, however many processes share it."""
COPIES = 4
"""How often the test sentences are repeated in the text that is translated."""
ONE, TWO = "one process, two threads", "two processes, one thread each"


def train_once(processes: int, folder: Path) -> tuple[float, int]:
    """Train for some steps with two threads in total; return the seconds and the steps.

    The time before the first step is not counted.
    """
    out = folder / f"run-{time.monotonic_ns()}"
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    settings = {
        "batch_tokens": BATCH_TOKENS // 2,
        "accumulate": 2,
        "validate_every": STEPS,
        "warmup": STEPS // 2,
    }
    _run(
        [*(launcher if processes > 1 else []), "-m", "annotated_transformer", "train"]
        + ["--corpus", "multi30k", "--steps", str(STEPS), "--out", str(out)]
        + [part for name, value in settings.items() for part in ("--set", f"{name}={value}")],
        threads=2 // processes,
    )
    with (out / "learning_curve.csv").open(newline="", encoding="utf-8") as file:
        *_, last = csv.DictReader(file)
    return float(last["seconds"]), int(last["step"])


def translate_once(workers: int, folder: Path) -> tuple[float, int]:
    """Translate a text with two threads in total; return the program's seconds and the lines."""
    sources = [src for src, _ in captions.corpus().split(captions.TEST)] * COPIES
    text = folder / "text.de"
    text.write_text("\n".join(sources) + "\n", encoding="utf-8")
    start = time.perf_counter()
    command = ["-m", "annotated_transformer", "translate", str(captions.CHECKPOINT)]
    _run([*command, "--workers", str(workers)], threads=2 // workers, text=text)
    return time.perf_counter() - start, len(sources)


def _run(command: Sequence[str], threads: int, text: Path | None = None) -> None:
    with (text or Path("/dev/null")).open(encoding="utf-8") as source:
        done = subprocess.run(
            [sys.executable, *command],
            stdin=source,
            capture_output=True,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": str(threads)},
            cwd=ROOT,
            check=False,
        )
    if done.returncode:
        raise InputError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")


def compare(tables: Tables, name: str, once: Callable[[int, Path], tuple[float, int]]) -> None:
    """Let both take turns in rounds; record medians, and the ratio within a round."""
    if tables.check:
        tables.extend(name, once, [(ONE,), (TWO,)], ["contestant"])
        return
    if [row["contestant"] for row in read(tables.path(name))] == [ONE, TWO]:
        return
    with tempfile.TemporaryDirectory() as folder:
        turns = [[once(number, Path(folder)) for number in (1, 2)] for _ in range(ROUNDS)]
    first, second = zip(*turns, strict=True)
    rows = [_summary(ONE, first, first), _summary(TWO, second, first)]
    tables.write(name, rows, threads=2)
    tables.describe(name, here(tables.command, 2) | where({"versions": versions()}, {}))


def _summary(who: str, own: Sequence[tuple[float, int]], first: Sequence[tuple[float, int]]) -> Row:
    ratio = statistics.median(a / b for (a, _), (b, _) in zip(first, own, strict=True))
    return {
        "contestant": who,
        "seconds": round(statistics.median(seconds for seconds, _ in own), 2),
        "per_second": round(sum(n for _, n in own) / sum(s for s, _ in own), 2),
        "times_as_fast": round(ratio, 2),
        "rounds": len(own),
    }


def make_processes(tables: Tables) -> None:
    """Steps of training in one process with two threads, and in two that share every step."""
    compare(tables, "bench_processes", train_once)


def make_workers(tables: Tables) -> None:
    """A text translated by one process with two threads, and by two with one each."""
    compare(tables, "bench_workers", translate_once)
