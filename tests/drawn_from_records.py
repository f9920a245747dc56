"""Draw every figure that reads a record, and print what it shows; a test runs this in a process.

With the argument ``longer``, the package has one choice more in every table.
"""

import ast
import io
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

import longer_tables

FOLDER = Path(__file__).resolve().parent.parent / "transformer_workbook" / "chapters"
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "bahdanau.exactly_right": ([0.5] * 5,),
    "family.differences": ("bahdanau", "luong", "transformer"),
    "how_it_scales.runs": (lambda size, tokens: 1 + 0 * tokens, (1.0, 2.0)),
    "rotary_positions.loss_by_length": ({"a": ("rotary", "plain")},),
}
NO_FIGURES = {"positional_encoding.seeds_and_sentences", "training.six_trainings"}
"""What draws nothing: one puts numbers into the text, one trains."""


def readers() -> Iterator[tuple[str, str]]:
    """Yield module and name of the functions that read a record, themselves or by a helper."""
    for path in sorted(FOLDER.glob("*/figures.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        texts = {node.name: ast.unparse(node) for node in body if isinstance(node, ast.FunctionDef)}
        helpers = [f"{name}(" for name, text in texts.items() if "records/" in text]
        for name, text in texts.items():
            if name[0] != "_" and any(part in text for part in ("records/", *helpers)):
                yield path.parent.name, name


def shown(module: str, name: str) -> list[str]:
    """Return the pictures that a function draws, and the table that it returns."""
    plt.close("all")
    made = getattr(import_module(f"transformer_workbook.chapters.{module}.figures"), name)
    table = made(*ARGUMENTS.get(f"{module}.{name}", ()))
    pictures = []
    for number in plt.get_fignums():
        picture = io.StringIO()
        plt.figure(number).savefig(picture, format="svg", metadata={"Date": None})
        pictures.append(picture.getvalue())
    return [*pictures, *([table.data] if table is not None else [])]


if __name__ == "__main__":
    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "the same"
    if sys.argv[1:] == ["longer"]:
        longer_tables.lengthen()
    names = [pair for pair in readers() if ".".join(pair) not in NO_FIGURES]
    print(json.dumps({".".join(pair): shown(*pair) for pair in names}))
