"""Train on more text than fits into memory: measure the time to start, and the memory.

    .venv/bin/python tools/many_pairs.py FOLDER                 five million pairs: `make scale`
    .venv/bin/python tools/many_pairs.py FOLDER --pairs 100000

Writes sentence pairs of made-up words into the folder, if they are not there: 5 to 80 words a side,
distributed by Zipf's law over more than a million types. Then trains a model for three
steps, twice. The first time the text must be encoded, the second time it already is.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

TYPES = 3_000_000  # number of words; of five million pairs about half of them occur
EXPONENT = 1.07
SHORTEST, LONGEST = 5, 80
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
CHUNK = 50_000


def words() -> list[str]:
    """Return different words: the frequent ones short, the rare ones long."""
    return [
        "".join(LETTERS[[number // 26**i % 26 for i in range(5 if number > 26**3 else 3)]])
        for number in range(TYPES)
    ]


def write_corpus(folder: Path, pairs: int) -> None:
    """Write train and validation text, one language the other's in reverse."""
    folder.mkdir(parents=True, exist_ok=True)
    random, vocabulary = np.random.default_rng(0), words()
    weights = np.arange(1, TYPES + 1) ** -EXPONENT
    chances = np.cumsum(weights / weights.sum())
    for split, number in (("val", 1000), ("train", pairs)):
        with (folder / f"{split}.aa").open("w") as src, (folder / f"{split}.bb").open("w") as tgt:
            for start in range(0, number, CHUNK):
                lengths = random.integers(SHORTEST, LONGEST + 1, min(CHUNK, number - start))
                drawn = np.searchsorted(chances, random.random(lengths.sum())).tolist()
                end = 0
                for length in lengths.tolist():
                    sentence = [vocabulary[i] for i in drawn[end : end + length]]
                    end += length
                    src.write(" ".join(sentence) + "\n")
                    tgt.write(" ".join(reversed(sentence)) + "\n")


def begin(folder: Path, run: Path) -> tuple[float, float]:
    """Train for three steps in a separate process; return the seconds and the peak in GB."""
    command = [
        sys.executable, "-m", "annotated_transformer", "train", "--corpus", str(folder),
        "--steps", "3", "--set", "validate_every=3", "--out", str(run),
    ]  # fmt: skip
    cache = {"ANNOTATED_TRANSFORMER_CACHE": str(folder / "cache")}
    start = time.monotonic()
    process = subprocess.Popen(command, env=os.environ | cache)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"the training ended with status {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - start, usage.ru_maxrss / 1024**2


def main() -> None:
    """Write the text, train twice, and print the times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=5_000_000)
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    if not (folder / "train.bb").exists():
        write_corpus(folder, arguments.pairs)
    for name in ("first", "second"):
        seconds, peak = begin(folder, folder / "runs" / f"{name}-{os.getpid()}")
        print(f"{name} start: {seconds:.0f} s, {peak:.2f} GB at the peak", flush=True)


if __name__ == "__main__":
    main()
