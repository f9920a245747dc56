"""Kill a training at random moments, again and again: is anything lost, or left over?

Every step is validated and saved, so that most signals interrupt a write. Some trainings meet a
limit to the size of files, as on a full disk, some a second process, some a link in their way. Each
run continues to its end, which must be that of an undisturbed training, bit for bit.
"""

import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from annotated_transformer.corpora import Corpus
from annotated_transformer.ground.errors import InputError
from annotated_transformer.run import Recipe, Run, train
from annotated_transformer.run.checkpoint import load_checkpoint
from annotated_transformer.run.encoded import CACHE_VARIABLE

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PAIRS = [(f"{a} {b} {c}", f"{c} {b} {a}") for a in "abcd" for b in "efgh" for c in "ijkl"]
CORPUS = Corpus("letters", ("a", "b"), {"train": PAIRS, "val": PAIRS[::8]})
RECIPE = Recipe(
    "luong", "letters", steps=60, batch_tokens=60, validate_every=1,
    sizes={"d_model": 16, "hidden_dim": 16, "dropout": 0.2},
)  # fmt: skip


def work(folder: Path) -> None:
    """Start the run, or resume it, to its end."""
    held = (folder / "recipe.json").exists()
    train(Run.open(folder) if held else Run.create(folder, RECIPE, CORPUS), CORPUS)


def begun(job: Callable[[], None]) -> int:
    """Start a job in a separate process, silently; its exit code is 2 if it is refused."""
    if child := os.fork():
        return child
    code = 1
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 2)
        job()
        code = 0
    except (InputError, OSError):
        code = 2
    finally:
        os._exit(code)


def on_a_full_disk(folder: Path) -> None:
    """Work with a file size limit below that of some of the files that it writes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = random.choice([100, 1000, 10_000, 30_000])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    work(folder)


def disturb(folder: Path, foreign: Path, counts: Counter[str]) -> bool:
    """Let the run continue for a moment, and disturb it; tell whether it came to its end."""
    match random.randrange(10):
        case 0:
            counts["full disk"] += 1
            job = begun(lambda: on_a_full_disk(folder))
            return os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]) == 0
        case 1 if folder.exists():
            link = folder / f"{random.choice(['checkpoint', 'model'])}.safetensors.unfinished"
            if not link.exists():
                counts["link in the way"] += 1
                link.symlink_to(foreign)
    job = begun(lambda: work(folder))
    time.sleep(random.uniform(0, 0.4))
    if random.random() < 0.1:
        counts["second process"] += 1
        os.waitpid(begun(lambda: work(folder)), 0)
    name = random.choice(SIGNALS)
    os.kill(job, name)
    code = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
    counts[name.name] += 1
    return code == 0 and load_checkpoint(folder / "checkpoint.safetensors")[1]["steps"] == 60


def end_of(folder: Path) -> tuple[object, ...]:
    """Return what must be the same at the end: all tensors, the progress, the curve, the files."""
    parts: list[object] = [sorted(path.name for path in folder.rglob("*"))]
    for name in ("checkpoint", "model"):
        tensors, progress = load_checkpoint(folder / f"{name}.safetensors")
        parts += [{n: t.numpy().tobytes() for n, t in tensors.items()}, progress | {"seconds": 0}]
    rows = (folder / "learning_curve.csv").read_text().splitlines()
    return *parts, [row.split(",")[:1] + row.split(",")[2:] for row in rows]


def main() -> None:
    """Disturb runs until there were enough signals, and print the result."""
    torch.set_num_threads(1)
    counts: Counter[str] = Counter()
    with TemporaryDirectory() as name:
        os.environ[CACHE_VARIABLE] = f"{name}/cache"
        (runs := Path(name, "runs")).mkdir()
        (foreign := Path(name, "foreign")).write_text("somebody else's")
        os.waitpid(begun(lambda: work(Path(name, "straight"))), 0)
        wanted, number = end_of(Path(name, "straight")), 0
        while sum(counts[each.name] for each in {*SIGNALS}) < KILLS:
            folder = runs / str(number := number + 1)
            while not disturb(folder, foreign, counts):
                pass
            os.waitpid(begun(lambda folder=folder: work(folder)), 0)  # type: ignore[misc]
            if end_of(folder) != wanted:
                sys.exit(f"run {number} did not end as the undisturbed one")
        left = sorted(path.name for path in runs.iterdir() if not path.name.isdecimal())
        if left or foreign.read_text() != "somebody else's":
            sys.exit(f"left over: {left}; the foreign file holds {foreign.read_text()!r}")
    told = ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))
    print(f"{number} runs, all resumed bit for bit, no file left over: {told}")


if __name__ == "__main__":
    main()
