"""The page of the benchmark: tables of its records, read when the site is built.

So the page agrees with the records, whenever they change.
"""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sources_page import table
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective, SphinxRole

Row = dict[str, str]
NAMES = {
    "contestant": _("contestant"),
    "per_second": _("a second"),
    "times_as_fast": _("times as fast"),
    "times_as_fast_cpu": _("by processor time"),
    "peak_mib": _("memory, MiB"),
    "use": _("of the card"),
    "equal": _("as ours says"),
}
"""The columns that the page shows, and their names."""

NOT_RUN = _("not run: this processor has no products in 16 bits")
SHARED = "training"
"""The record whose machine is that of the page; tables of others say theirs."""


@dataclass(frozen=True)
class Wish:
    """An aim: how many times as fast, by CPU time or wall time."""

    contest: str
    contestant: str
    beside: str
    times: float
    clock: str = "times_as_fast_cpu"


WISHES = (
    Wish("training", "ours, fast", "nn.Transformer", 1.5),
    Wish("training", "ours, fast, bfloat16", "nn.Transformer", 3.0),
    Wish("older", "ours, fast", "nn.Transformer", 1.5),
    Wish("two_threads", "ours, fast", "nn.Transformer", 2.0, "times_as_fast"),
    Wish("two_threads", "ours, fast, bfloat16", "nn.Transformer", 4.0, "times_as_fast"),
    Wish("greedy", "ours, fast", "CTranslate2", 0.8),
    Wish("greedy", "ours, fast, bfloat16", "CTranslate2", 1.0),
    Wish("beam", "ours, fast", "CTranslate2", 0.8),
    Wish("beam", "ours, fast, bfloat16", "CTranslate2", 1.0),
)


def read(folder: Path, contest: str) -> list[Row]:
    """Read the rows of a record of the benchmark."""
    with (folder / f"bench_{contest}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def with_use(rows: Sequence[Row], made: dict[str, Any]) -> list[Row]:
    """Add, for an accelerator, the share of its peak operations a second that a contestant reaches.

    CPU time means nothing there, since the CPU only launches the work.
    """
    if "operations" not in made:
        return list(rows)
    possible = made["operations"] / made["products_per_second"]  # seconds, for a turn
    return [
        {name: row[name] for name in row if name != "times_as_fast_cpu"}
        | {"use": f"{possible / float(row['seconds']):.1%}"}
        for row in rows
    ]


def shown(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns of a contest, and its rows."""
    columns = [name for name in NAMES if name in rows[0]]
    body = []
    for row in rows:
        of = str(_("{number} of {total}"))
        cells = [
            of.format(number=row[c], total=row["sentences"]) if c == "equal" else row[c]
            for c in columns
        ]
        if not row["seconds"]:
            cells[1:] = [str(NOT_RUN), *[""] * (len(cells) - 2)]
        body.append(cells)
    return [str(NAMES[name]) for name in columns], body


def machine(made: dict[str, Any]) -> str:
    """Describe what a record was made on and with, in one sentence."""
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    where = f"{made['processor']} ({made['machine'].partition(',')[0]})"
    if "accelerator" in made:
        where = _("{accelerator} beside {cpu}").format(accelerator=made["accelerator"], cpu=where)
    when = made.get("date", _("several days"))
    sentence = _("Measured on {when}, on {where}; {versions}.")
    return str(sentence.format(when=when, where=where, versions=versions))


def how_made(rows: Sequence[Row], made: dict[str, Any], shared: dict[str, Any]) -> str:
    """Describe how a record was made: what is not shared by the page."""
    rounds = max(int(row["rounds"] or 0) for row in rows)
    one = made["machine"].endswith(", one thread a run")
    threads = _("one thread") if one else _("two threads")
    sentence = _("Medians of {rounds} rounds, {threads}, load {load}.")
    told = str(sentence.format(rounds=rounds, threads=threads, load=made["load"]))
    return told if machine(made) == machine(shared) else f"{told} {machine(made)}"


def outcome(wish: Wish, rows: Sequence[Row]) -> list[str]:
    """Return an aim, the result, and whether the aim was reached."""
    row, other = (
        next(row for row in rows if row["contestant"] == name)
        for name in (wish.contestant, wish.beside)
    )
    told = [f"{wish.contest.replace('_', ' ')}: {wish.contestant}", f"{wish.times} × {wish.beside}"]
    if not row["seconds"]:
        return [*told, "", str(NOT_RUN)]
    # The record's ratios have one reference, which need not be the one that is meant here.
    found = round(float(row[wish.clock]) / float(other[wish.clock]), 2)
    return [*told, f"{found:.2f} ×", str(_("reached") if found >= wish.times else _("missed"))]


def number(folder: Path, wanted: str) -> str:
    """Return what a sentence takes from a record: `contest | contestant | column`, or `… | note`.

    Raises:
        ValueError: if there is nothing of that name.
    """
    contest, *rest = (part.strip() for part in wanted.split("|"))
    if len(rest) == 1:
        made = json.loads((folder / f"bench_{contest}.json").read_text(encoding="utf-8"))
        return str(made[rest[0]])
    for row in read(folder, contest):
        if row["contestant"] == rest[0]:
            return row[rest[1]]
    raise ValueError(f"bench_{contest} has no row of {rest[0]!r}.")


def caption(text: str) -> nodes.paragraph:
    """Write what is in the language of the page already, and no message for its catalogue."""
    return nodes.paragraph("", text, translatable=False)


class BenchNumber(SphinxRole):
    """A number of a record inside a sentence."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return it."""
        folder = Path(self.env.srcdir, "book", "records")
        contest = self.text.partition("|")[0].strip()
        for kind in ("csv", "json"):
            self.env.note_dependency(str(folder / f"bench_{contest}.{kind}"))
        return [nodes.Text(number(folder, self.text))], []


class BenchDirective(SphinxDirective):
    """Common parts: where the records are, and how a table is written."""

    def rows(self, contest: str) -> list[Row]:
        """Return the rows of a record, on which the page then depends."""
        folder = Path(self.env.srcdir, "book", "records")
        for kind in ("csv", "json"):
            self.env.note_dependency(str(folder / f"bench_{contest}.{kind}"))
        return read(folder, contest)

    def made(self, contest: str) -> dict[str, Any]:
        """Return how a record was made."""
        path = Path(self.env.srcdir, "book", "records", f"bench_{contest}.json")
        made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return made


class BenchTable(BenchDirective):
    """The table of a contest, and where it was made."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return both."""
        made = self.made(self.arguments[0])
        rows = with_use(self.rows(self.arguments[0]), made)
        names, body = shown(rows)
        widths = dict.fromkeys(names, (100 - 28) // (len(names) - 1)) | {names[0]: 28}
        cells = [[[nodes.Text(text)] for text in row] for row in body]
        about = how_made(rows, made, self.made(SHARED))
        return [table(widths, cells, "numbers"), caption(about)]


class BenchMachine(BenchDirective):
    """What the tables of the page were measured on."""

    def run(self) -> list[nodes.Node]:
        """Return the sentence."""
        return [caption(machine(self.made(SHARED)))]


class BenchWishes(BenchDirective):
    """The aims of some contests, and their results."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        contests = self.arguments[0].split()
        wishes = [wish for wish in WISHES if wish.contest in contests]
        body = [outcome(wish, self.rows(wish.contest)) for wish in wishes]
        cells = [[[nodes.Text(text)] for text in row] for row in body]
        names = [_("contest"), _("wished"), _("found"), _("so it was")]
        widths = dict(zip(map(str, names), (34, 28, 14, 24), strict=True))
        return [table(widths, cells, "numbers")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("bench-table", BenchTable)
    app.add_directive("bench-machine", BenchMachine)
    app.add_directive("bench-wishes", BenchWishes)
    app.add_role("bench", BenchNumber())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
