"""Break the package in every small way, and count how many mutants its tests kill: `make mutants`.

    .venv/bin/python tools/mutate_package.py              every module of the list, and the totals
    .venv/bin/python tools/mutate_package.py masking      … one of them

The mutations are those of Cosmic Ray. Every mutant is in a copy of the package, and the
module's own tests run on it until one fails, without the slow ones. A mutant that no test
kills is listed in tests/surviving_mutants.csv with the reason. The program ends with status
1 if fewer than nine of ten mutants are killed, or one survives that is not in the list.
"""

import ast
import contextlib
import csv
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
SURVIVING = ROOT / "tests" / "surviving_mutants.csv"
SECONDS, PROCESSES, WANTED = 120, 2, 0.9
"""Seconds for the tests of a mutant; mutants at a time; the share that must be killed."""

TESTS = {
    "soft_lookup": ("soft_lookup", "properties"),
    "attention": ("attention", "soft_lookup", "properties"),
    "multi_head_attention": ("multi_head_attention", "capture"),
    "masking": ("masking", "transformer", "properties"),
    "positional_encoding": ("positional_encoding", "transformer", "properties"),
    "layers": ("layers", "transformer"),
    "transformer": ("transformer", "layers"),
    "decoding": ("decoding", "properties"),
    "loss": ("loss", "training", "properties"),
    "training": ("schedule", "averaging", "training", "loss"),
}
"""For each module, the tests that may kill its mutants, the quickest first."""

# Imported once by the process from which all others are forked.
PRELOADED = ["torch", "pytest", "hypothesis", "jaxtyping", "beartype", "playwright.sync_api"]


@dataclass(frozen=True)
class Mutant:
    """A module with one mutation."""

    module: str
    change: str  # the lines that are not in the module
    code: str


def without_types(code: str) -> str:
    """Return the code without annotations and docstrings."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef():
                node.returns = None
            case ast.arg():
                node.annotation = None
            case ast.AnnAssign():
                node.annotation = ast.Constant(None)
            case ast.Expr(value=ast.Constant()):
                node.value = ast.Constant(None)
    return ast.unparse(tree)


def mutants(module: str) -> Iterator[Mutant]:
    """Iterate over the mutants of a module that differ in code that runs."""
    # Not above: the processes that run tests read this file and must not have the package yet.
    from mutate_exercises import mutants_by_cosmic_ray, tidy

    path = ROOT / "annotated_transformer" / f"{module}.py"
    source = ast.unparse(ast.parse(path.read_text(encoding="utf-8")))
    known, plain = source.splitlines(), without_types(source)
    for code in dict.fromkeys(filter(None, map(tidy, mutants_by_cosmic_ray(source)))):
        if without_types(code) != plain:
            changed = [line.strip() for line in code.splitlines() if line not in known]
            yield Mutant(module, "; ".join(changed) or "a line is gone", code)


def survives(mutant: Mutant) -> bool:
    """Run the tests on a mutant in this process, which cannot be used afterwards."""
    import pytest

    if "annotated_transformer" in sys.modules:
        raise RuntimeError("the package is imported already: its mutant would not run")

    def too_long(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"the tests took longer than {SECONDS} seconds")

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for part in ("tests", "tools", "book", "checkpoints", "pyproject.toml", "_config.yml"):
            (place / part).symlink_to(ROOT / part)
        package = place / "annotated_transformer"
        shutil.copytree(ROOT / "annotated_transformer", package)
        (package / f"{mutant.module}.py").write_text(mutant.code, encoding="utf-8")
        os.chdir(place)
        tests = [f"tests/test_{name}.py" for name in TESTS[mutant.module]]
        doctests = f"annotated_transformer/{mutant.module}.py"
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(SECONDS)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:nbval", "-m", "not slow"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what was preloaded
        with (
            Path(os.devnull).open("w", encoding="utf-8") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            status = pytest.main([*options, doctests, *tests])
        signal.alarm(0)
        if status in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR):
            # What conftest.py cannot import is dead before the first test.
            imported = [sys.executable, "-c", f"import annotated_transformer.{mutant.module}"]
            if subprocess.run(imported, check=False, capture_output=True).returncode == 0:
                raise RuntimeError(f"{mutant.module}: pytest ended with {status!r}")
        os.chdir(ROOT)
    return status == pytest.ExitCode.OK


def main(names: Sequence[str]) -> int:
    """Break the modules, print the survivors and the totals; return the exit status."""
    with SURVIVING.open(newline="", encoding="utf-8") as file:
        listed = {(row["module"], row["change"]) for row in csv.DictReader(file)}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    made = dead = 0
    new = []
    with context.Pool(PROCESSES, maxtasksperchild=1) as pool:
        for name in names or TESTS:
            whole = (ROOT / "annotated_transformer" / f"{name}.py").read_text(encoding="utf-8")
            if not pool.apply(survives, (Mutant(name, "", whole),)):
                raise RuntimeError(f"the tests of {name} fail without any change")
            all_of = list(mutants(name))
            alive = [m for m, s in zip(all_of, pool.imap(survives, all_of), strict=True) if s]
            made, dead = made + len(all_of), dead + len(all_of) - len(alive)
            print(f"{name}: {len(all_of) - len(alive)} of {len(all_of)} killed", flush=True)
            for mutant in alive:
                known = (name, mutant.change) in listed
                new += [] if known else [mutant]
                print(f"  survives{'' if known else ', not listed'}: {mutant.change}", flush=True)
    print(f"{dead} of {made} killed ({dead / made:.1%}), {len(new)} survive that are not listed")
    return int(bool(new) or dead < WANTED * made)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
