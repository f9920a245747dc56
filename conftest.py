"""What every notebook that pytest runs starts from, also one that is named on the command line."""

import os
from pathlib import Path

import pytest
from nbval.plugin import IPyNbCell

from forked_kernels import use_forked_kernels
from same_output import ComparedCell

# The notebooks run in processes of their own, which pytest's `pythonpath` does not reach.
os.environ["PYTHONPATH"] = str(Path(__file__).parent)

use_forked_kernels()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let nbval's cells compare by what an output shows: nbval has no setting for it."""
    if type(item) is IPyNbCell:
        item.__class__ = ComparedCell
