"""Draw the pictures of the notebooks with numbers that are a little different: they look the same.

    PYTHONPATH=tests .venv/bin/python tools/jitter.py book/05_self_attention.ipynb

Processors round differently, so no picture may depend on a last digit. Before a cell that draws is
run, ten copies of the process run it, in each of which every float that is given to matplotlib is
larger or smaller by a relative 1e-7. Each picture is compared with the stored one.
"""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from nbformat import NotebookNode

from forked_kernels import BACKEND, CONTEXT
from same_output import SVG
from same_picture import difference

SEEDS, RELATIVE = 10, 1e-7
COLOUR = "color"  # a colour that is given as such may not be above 1
NOT_DATA = f"draw|savefig|show|.*{COLOUR}"
"""The names of the methods of matplotlib that are given no data."""


def changed(value: Any, random: np.random.Generator) -> Any:
    """Return a value with every float in it a little larger or smaller."""
    if type(value) in (list, tuple):  # matplotlib has tuples of its own
        return type(value)([changed(item, random) for item in value])
    if type(value) is dict:
        return {key: changed(item, random) for key, item in value.items()}
    array = np.asarray(value)
    if array.dtype.kind != "f" or not (isinstance(value, float) or hasattr(value, "dtype")):
        return value
    factor = 1 + RELATIVE * random.choice([-1.0, 1.0], size=array.shape)
    if isinstance(value, float):
        return float(value * factor)
    return np.multiply(value, factor)  # a series keeps its index


def jitter_matplotlib(seed: int) -> None:
    """Change every float that is given to axes, figures and patches from now on."""
    from matplotlib import axes, figure, patches

    random, inside = np.random.default_rng(seed), False

    def jittered(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if inside:  # what matplotlib hands on to itself was changed at its door
                return method(self, *args, **kwargs)
            if not re.match(NOT_DATA, method.__name__):
                args = changed(args, random)
                kwargs = {k: v if COLOUR in k else changed(v, random) for k, v in kwargs.items()}
            inside = True
            try:
                return method(self, *args, **kwargs)
            finally:
                inside = False

        return call

    for kind in (axes.Axes, figure.Figure):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith(("_", "get")):
                setattr(kind, name, jittered(method))
    for _, kind in inspect.getmembers(patches, inspect.isclass):
        if issubclass(kind, patches.Patch) and "__init__" in vars(kind):
            kind.__init__ = jittered(kind.__init__)


def pictures(shell: Any, cell: NotebookNode) -> list[str]:
    """Run a cell and return the pictures that it shows."""
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        result = shell.run_cell(cell.source)
        result.raise_error()
    if (
        "Traceback (most recent call last)" in captured.stdout
    ):  # where IPython tells that a picture could not be drawn
        raise RuntimeError(captured.stdout.strip().splitlines()[-1])
    outputs = [output.data for output in captured.outputs]
    outputs.append(shell.display_formatter.format(result.result)[0])
    return [output[SVG] for output in outputs if SVG in output]


def compared(shell: Any, cell: NotebookNode, stored: list[str], seed: int) -> str:
    """Run a cell with other floats in a copy of this process; return how its pictures differ."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        said = "it did not end"
        try:
            jitter_matplotlib(seed)
            new = pictures(shell, cell)
            said = f"{len(new)} pictures, not {len(stored)}" if len(new) != len(stored) else ""
            said = said or "; ".join(filter(None, map(difference, stored, new)))
        except BaseException as error:
            said = repr(error)
        finally:
            os.write(writing, said.encode()[:4000])
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def jittered(path: Path) -> tuple[Path, int, list[str]]:
    """Return how many pictures a notebook has, and those that look otherwise with other floats."""
    import matplotlib
    from IPython.core.interactiveshell import InteractiveShell

    matplotlib.rcParams["backend"] = BACKEND
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    os.chdir(path.parent)
    shell = InteractiveShell.instance()
    number, faults = 0, []
    for position, cell in enumerate(cells):
        stored = [o.data[SVG] for o in cell.outputs if SVG in o.get("data", {})]
        number += len(stored)
        for seed in range(SEEDS if stored else 0):
            if said := compared(shell, cell, stored, seed):
                faults.append(f"cell {position}, seed {seed}: {said}")
        if position < len(cells) - 1:
            pictures(shell, cell)
    return path, number, faults


def drawing(paths: list[Path]) -> Iterator[Path]:
    """Iterate over the notebooks that have pictures."""
    for path in paths:
        if SVG in path.read_text(encoding="utf-8"):
            yield path.resolve()


def main(paths: list[Path]) -> int:
    """Jitter the notebooks, two at a time; return the exit status."""
    total = failed = 0
    with CONTEXT.Pool(2, maxtasksperchild=1) as pool:
        for path, number, faults in pool.imap_unordered(jittered, drawing(paths)):
            print(f"{path.name}: {number} pictures", *faults, sep="\n  ", flush=True)
            total, failed = total + number, failed + len(faults)
    print(f"{total} pictures with {SEEDS} seeds each: {failed} look otherwise")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
