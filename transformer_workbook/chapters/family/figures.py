"""The page "One difference at a time": the models of the course as a tree, and its edges."""

import tomllib
from inspect import getsource
from pydoc import locate
from textwrap import dedent
from typing import Any

from annotated_transformer.ground.errors import InputError
from transformer_workbook.notebook import COLOURS, table
from transformer_workbook.notebook.comparisons import comparisons
from transformer_workbook.notebook.listing import compact
from transformer_workbook.places import course_file


def tree() -> None:
    """Draw every model under the one that it comes from; edges have the numbers of their rows."""
    import matplotlib.pyplot as plt

    family = _family()
    models = {name: (m["column"], m["year"]) for name, m in family["models"].items()}
    edges: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(family["differences"], start=1):
        edges.setdefault((row["from"], row["to"]), []).append(number)
    _, ax = plt.subplots(figsize=(5.6, 7.6))
    for (before, after), numbers in edges.items():
        start, end = models[before], models[after]
        ax.plot(*zip(start, end, strict=True), color="grey", linewidth=1.5, zorder=1)
        said = f"{numbers[0]}–{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
        middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        circle = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "grey"}
        ax.annotate(said, middle, ha="center", va="center", fontsize=10, bbox=circle)
    for name, place in models.items():
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": COLOURS[0]}
        words = family["models"][name]["says"]
        ax.annotate(words, place, ha="center", va="center", fontsize=11, bbox=box | {"lw": 2})
    ax.set(xlim=(-0.55, 3.55), ylim=(2026, 2013.4), xticks=[])
    ax.set_yticks(range(2014, 2027, 2))
    ax.spines["bottom"].set_visible(False)
    plt.show()


def models() -> Any:
    """Show every model of the tree, and what it is in the package.

    Raises:
        InputError: if the package has no code of that name.
    """
    rows = [
        {
            "model": row["says"].replace("\n", " "),
            "published": int(row["year"]),
            "in the package": row["made"],
        }
        for row in _family()["models"].values()
        if _found(row["made"])
    ]
    return table(rows)


def differences(*ends: str) -> Any:
    """Show the edges that lead to these models: code, who computes the same, what was measured.

    Raises:
        InputError: if the package has no code of that name.
    """
    from myst_nb import glue

    known, rows = comparisons(), []
    for number, row in enumerate(_family()["differences"], start=1):
        if row["to"] not in ends:
            continue
        measured, effect = "", ""
        if "effect" in row:
            name, after, before = row["effect"]
            comparison = known[name]
            measured = comparison.measure
            effect = f"{comparison.difference(after, before):.{comparison.decimals}f}"
            if "said" in row:
                glue(f"family-{row['said']}", effect, display=False)
        lines = sum(map(_lines, row.get("code", [])))
        rows.append(
            {
                "": number,
                "what is different": row["says"],
                "lines": lines or row.get("built", "a setting"),
                "the same as": row["checked"],
                "difference": effect,
                "of what": measured,
            }
        )
    return table(rows)


def _family() -> dict[str, Any]:
    return tomllib.loads(course_file("records/family.toml").read_text("utf-8"))


def _found(name: str) -> Any:
    """Import what has this name in the package."""
    found = locate(f"annotated_transformer.{name}")
    if found is None:
        raise InputError(f"{name!r} is not in the package: it must be module.name.")
    return found


def _lines(name: str) -> int:
    """Count the lines of code of a class or function, without docstrings and blank lines."""
    source = compact(dedent(getsource(_found(name))))
    return sum(bool(line.strip()) for line in source.splitlines())
