"""The records of the benchmark: ours beside others, in time and in memory."""

import os
from datetime import date
from pathlib import Path

import torch

from bench.rounds import race, summary
from bench.task import environment, load_contest, suits
from records.tables import Row, Tables, here, read

ROUNDS = 5


def processor(variables: dict[str, str]) -> str:
    """Return the CPU, and what PyTorch uses of it under these variables.

    A virtual machine calls CPUs of several generations by one name: the family tells them apart.
    """
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(":") for line in lines)
    told = {key.strip(): value.strip() for key, _, value in pairs}
    name = told.get("model name", "unknown")
    if "cpu family" in told:
        name += f" (family {told['cpu family']}, model {told['model']})"
    capability = torch.backends.cpu.get_cpu_capability()
    return f"{name}, {variables.get('ATEN_CPU_CAPABILITY', capability).upper()}"


def where(noted: Row, variables: dict[str, str]) -> Row:
    """Describe the machine and the versions of a record of the benchmark."""
    load = round(os.getloadavg()[1], 1)  # of the last five minutes
    today = date.today().isoformat()
    return {"date": today, "processor": processor(variables), "load": load} | noted


def measure(tables: Tables, contest: str, threads: int) -> None:
    """Let all contestants take turns, if a row is missing: times of two days are not comparable.

    A contestant that needs another machine has a row without numbers.
    """
    module, name = load_contest(contest), f"bench_{contest}"
    contestants = list(module.CONTESTANTS)
    if tables.check:
        tables.extend(name, summary, [(each,) for each in contestants], ["contestant"])
        return
    if [row["contestant"] for row in read(tables.path(name))] == contestants:
        return
    rows, noted = race(contest, list(filter(suits, contestants)), threads, ROUNDS)
    measured = {row["contestant"]: row for row in rows}
    nothing = dict.fromkeys(rows[0], "")
    table = [measured.get(each, nothing | {"contestant": each}) for each in contestants]
    tables.write(name, table, threads)
    tables.describe(name, here(tables.command, threads) | where(noted, environment(module)))


def make_training(tables: Tables) -> None:
    """Steps of training, ours and those of others, timed in rounds on the same batches."""
    measure(tables, "training", threads=1)


def make_two_threads(tables: Tables) -> None:
    """The same steps with two threads."""
    measure(tables, "two_threads", threads=2)


def make_older(tables: Tables) -> None:
    """The same steps as on an older CPU, whose widest instructions are AVX2."""
    measure(tables, "older", threads=1)


def make_levers(tables: Tables) -> None:
    """Steps of fast training without one of its optimisations, beside those with all of them."""
    measure(tables, "levers", threads=1)


def make_levers_two_threads(tables: Tables) -> None:
    """Steps without one of the optimisations, with two threads."""
    measure(tables, "levers_two_threads", threads=2)


def make_accelerator(tables: Tables) -> None:
    """Steps of a model as large as the paper's, in 16 bits, on a GPU."""
    measure(tables, "accelerator", threads=1)


def make_greedy(tables: Tables) -> None:
    """Greedy search by the published model: ours and other engines, with the same weights."""
    measure(tables, "greedy", threads=1)


def make_beam(tables: Tables) -> None:
    """Beam search with a beam of five by the published model: ours and other engines."""
    measure(tables, "beam", threads=1)
