"""What is finished stays as it was: a new choice in the package changes no figure of a record."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def drawn(*arguments: str) -> dict[str, list[str]]:
    """What the figures show, in a process whose tables of choices nobody else sees."""
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    result = subprocess.run(
        [sys.executable, HERE / "drawn_from_records.py", *arguments],
        env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    figures: dict[str, list[str]] = json.loads(result.stdout)
    return figures


@pytest.mark.slow
def test_with_a_choice_more_in_every_table_the_figures_of_records_are_the_same() -> None:
    before = drawn()
    assert len(before) > 20
    assert all(before.values())
    assert drawn("longer") == before
