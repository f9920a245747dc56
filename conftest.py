"""What every notebook that pytest runs starts from, also one that is named on the command line.

Which of them were compared is noted here: the hooks of a folder hear of its own tests alone.
"""

import os
from collections import Counter
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


BEFORE = pytest.StashKey[dict[Path, str]]()
PASSED: Counter[Path] = Counter()
"""How many cells of a notebook were compared, and passed."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a cell that was like its stored output."""
    path = Path(__file__).parent / report.nodeid.partition("::")[0]
    if path.suffix == ".ipynb" and report.when == "call" and report.passed:
        PASSED[path] += 1


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember what the notebooks compute with before they are compared."""
    if session.config.getoption("nbval", False) and not hasattr(session.config, "workerinput"):
        session.config.stash[BEFORE] = comparing_pages.digests()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write down which notebooks were compared from the first cell to the last, and passed."""
    ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    if ended and BEFORE in session.config.stash:
        pages = [p for p in comparing_pages.notebooks() if PASSED[p] == comparing_pages.cells(p)]
        if pages:
            comparing_pages.write(pages, session.config.stash[BEFORE])
