"""What every notebook that pytest runs starts from, also one that is named on the command line."""

import os
from pathlib import Path

import pytest
from nbval.plugin import IPyNbCell

import comparing_pages
import fetch_weights
from annotated_transformer.ground.sentences import ENGLISH, LANGUAGE_VARIABLE
from forked_kernels import use_forked_kernels
from same_output import ComparedCell

# The notebooks run in processes of their own, which pytest's `pythonpath` does not reach.
os.environ["PYTHONPATH"] = str(Path(__file__).parent)

# Their outputs, and what the command line says, are compared in English, whatever the locale.
os.environ[LANGUAGE_VARIABLE] = ENGLISH

use_forked_kernels()

MISSING = not (fetch_weights.FOLDER.is_dir() or os.environ.get("CI"))
UNREAD = comparing_pages.of_the_published_model() if MISSING else set()
"""The notebooks whose stored outputs are those of a model that is not here; in CI they fail."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let nbval's cells compare by what an output shows, and skip what cannot be compared here."""
    if type(item) is IPyNbCell:
        item.__class__ = ComparedCell
        if item.path in UNREAD:
            item.add_marker(pytest.mark.skip(fetch_weights.MISSING))
