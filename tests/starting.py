"""What every test starts from, also one of an experiment: one thread, a fixed seed."""

import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from jaxtyping import config

import fetch_weights

__all__ = [
    "_one_toy_corpus",
    "_seed",
    "as_readers_do",
    "minilm",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
]
"""What a conftest takes from here."""

NO_BROWSER = "there is no browser"

# Every program that a test starts has one thread, as the test itself.
os.environ["OMP_NUM_THREADS"] = "1"

# A shell that starts a program in the background lets it ignore Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What is encoded once for all runs is encoded once for all tests, and gone afterwards.
CACHE = TemporaryDirectory()
os.environ["ANNOTATED_TRANSFORMER_CACHE"] = CACHE.name
# IPython warns where a home cannot be written to, and a warning is a failure here.
os.environ["IPYTHONDIR"] = CACHE.name


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Every test has one thread: two run at a time on machines with two cores.

    CTranslate2 changes the number for PyTorch too, for all that comes after it.
    """
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Every test draws the same random numbers, alone or after others."""
    torch.manual_seed(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What is skipped for want of something is told in one line: as if it stood in one place."""
    report = yield
    if (
        report.skipped
        and isinstance(report.longrepr, tuple)
        and any(said in report.longrepr[2] for said in (NO_BROWSER, fetch_weights.MISSING))
    ):
        report.longrepr = (__file__, 0, report.longrepr[2])
    return report


@contextmanager
def unchecked() -> Iterator[None]:
    """Nothing in here has its shapes and types checked."""
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)


@pytest.fixture(autouse=True, scope="session")
def _one_toy_corpus() -> Iterator[None]:
    """The toy corpus that models are trained on is drawn once, and unchecked: two million calls."""
    from annotated_transformer import corpora

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "toy_corpus", cache(unchecked()(corpora.toy_corpus)))
        yield


@pytest.fixture
def as_readers_do() -> Iterator[None]:
    """Call the package as its readers do: without the checks that only the tests switch on."""
    with unchecked():
        yield


@pytest.fixture(scope="session")
def minilm() -> Path:
    """A published model's folder. Where there is none, its tests are skipped; in CI they fail."""
    if not fetch_weights.FOLDER.is_dir():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(fetch_weights.MISSING)
    return fetch_weights.MINILM.verify(fetch_weights.FOLDER)
