"""The process of one contestant: it answers lines of JSON on its input with lines on its output.

python -m bench.worker CONTEST CONTESTANT FOLDER THREADS
"""

import json
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from bench.task import load_contest

PEERS = ("torch", "transformers", "ctranslate2")


def versions() -> dict[str, str]:
    """Return the versions of the libraries of this process."""
    found = {"python": platform.python_version()}
    for name in PEERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def peak() -> int:
    """Return the peak memory of this process in MiB: of its tensors on a GPU, if it uses one.

    On the CPU, Linux reports it for each process.
    """
    if torch.cuda.is_initialized():
        return torch.cuda.max_memory_allocated() // 2**20
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) // 1024


def main(contest: str, name: str, folder: str, threads: str) -> None:
    """Make the contestant, give its answer, and then work whenever a turn comes."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries is not an answer

    def say(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=out, flush=True)

    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    contestant = load_contest(contest).CONTESTANTS[name](Path(folder))
    say({"answer": contestant.answer(), "versions": versions()})
    for line in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        units = contestant.work(json.loads(line))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        say({"wall": wall, "cpu": cpu, "units": units, "peak": peak()})


if __name__ == "__main__":
    main(*sys.argv[1:])
