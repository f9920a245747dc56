"""How the output of a cell is compared with the stored one: by what it shows.

nbval runs the cells and compares every output to the letter. `ComparedCell` is its cell with three
exceptions, because processors round differently: pictures are compared as in `same_picture`; in a
cell with the tag `last-digit` the last digit that is printed of a fraction or a percentage may be
one more or less; and a cell with the tag `live` shows what a model has learned on the page, whose
output must be of the same kind, and as many lines.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from nbformat import NotebookNode
from nbval.plugin import IPyNbCell

import same_picture

SVG, TAG, LIVE = "image/svg+xml", "last-digit", "live"
FRACTION = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+(?=\s?%)")


def same_to_the_last_digit(stored: str, new: str) -> bool:
    """Whether two texts differ at most by a unit in the last digit of fractions and percentages."""
    if FRACTION.sub("", stored) != FRACTION.sub("", new):
        return False
    for a, b in zip(FRACTION.findall(stored), FRACTION.findall(new), strict=True):
        before, now = Decimal(a), Decimal(b)
        unit = Decimal((0, (1,), int(before.as_tuple().exponent)))
        if before.as_tuple().exponent != now.as_tuple().exponent or abs(before - now) > unit:
            return False
    return True


class ComparedCell(IPyNbCell):
    """A cell whose outputs are compared by what they show."""

    def alike(self, kind: str, stored: Any, new: Any) -> str:
        """Return in what two outputs of a kind differ, or nothing."""
        tags = self.cell.metadata.get("tags", [])
        if LIVE in tags:
            lines = [str(text).count("\n") for text in (stored, new)]
            return (
                ""
                if kind == SVG or lines[0] == lines[1]
                else f"it has {lines[1]} line breaks, {lines[0]} are stored"
            )
        marked = TAG in tags
        same = same_to_the_last_digit if marked else str.__eq__
        if kind == SVG:
            return same_picture.difference(stored, new, same)
        texts = isinstance(stored, str) and isinstance(new, str)
        return "" if stored == new or (texts and same(stored, new)) else "it is another text"

    def compare_outputs(
        self,
        test: Sequence[NotebookNode],
        ref: Sequence[NotebookNode],
        skip_compare: Sequence[str] | None = None,
    ) -> bool:
        """Compare as nbval does, after what shows the same is made equal to the letter."""
        for new, stored in zip(test, ref, strict=False):
            for parts, known in ((new, stored), (new.get("data", {}), stored.get("data", {}))):
                for kind in parts.keys() & known.keys() - {"data"}:
                    if not self.alike(kind, known[kind], parts[kind]):
                        parts[kind] = known[kind]
        return super().compare_outputs(test, ref, skip_compare)

    def format_output_compare(self, key: str, left: Any, right: Any) -> None:
        """Tell which element of a picture differs; of a text, what nbval tells."""
        if key == SVG:
            self.comparison_traceback.append(f"the picture: {self.alike(key, left, right)}")
        else:
            super().format_output_compare(key, left, right)
