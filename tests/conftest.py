"""What every test starts from: this checkout, one thread, a fixed seed."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from jaxtyping import config
from playwright.sync_api import Browser, Page, sync_playwright

import comparing_pages
import fetch_weights
from browser import VIEWS, launched

ROOT = Path(__file__).resolve().parent.parent
NO_BROWSER = "there is no browser"

# Who imports them has another device, or another precision, ever after; or trains.
collect_ignore = ["compiled_steps.py", "own_device.py", "two_processes.py", "held_out", "kept"]

# Every program that a test starts has one thread, as the test itself.
os.environ["OMP_NUM_THREADS"] = "1"

# A shell that starts a program in the background lets it ignore Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

BEFORE = pytest.StashKey[dict[Path, str]]()

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before `-m` chooses: tests in a browser are slow, a notebook without a change can wait."""
    later = comparing_pages.left_out() if config.getoption("nbval", False) else set()
    for item in items:
        if isinstance(item, pytest.Function) and "browser" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
        if item.path in later:
            item.add_marker(pytest.mark.verify)


PASSED: Counter[Path] = Counter()
"""How many cells of a notebook were compared, and passed."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a cell that was like its stored output."""
    path = ROOT / report.nodeid.partition("::")[0]
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


@contextmanager
def on_a_core_of_its_own() -> Iterator[None]:
    """Programs that are started here use the core of this worker, if there are several workers.

    In a trial a browser on one core took 36 seconds of the processor for what took 44 on two.
    """
    cores, worker = os.sched_getaffinity(0), os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker:
        os.sched_setaffinity(0, {sorted(cores)[int(worker.removeprefix("gw")) % len(cores)]})
    yield
    os.sched_setaffinity(0, cores)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium. Where there is none, its tests are skipped; on a server of tests they fail."""
    with ExitStack() as stack:
        with on_a_core_of_its_own():
            playwright = stack.enter_context(sync_playwright())
            try:
                browser = stack.enter_context(launched(playwright.chromium))
            except FileNotFoundError as error:
                if os.environ.get("CI"):
                    pytest.fail(f"{NO_BROWSER}: {error}")
                pytest.skip(f"{NO_BROWSER}: {error}")
        yield browser


@pytest.fixture(scope="session")
def minilm() -> Path:
    """A published model's folder. Where there is none, its tests are skipped; in CI they fail."""
    if not fetch_weights.FOLDER.is_dir():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(fetch_weights.MISSING)
    return fetch_weights.MINILM.verify(fetch_weights.FOLDER)


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for the tests of a module: a new one costs half a second."""
    with browser.new_page(has_touch=True, **VIEWS["light"]) as page:
        yield page


@pytest.fixture(scope="session")
def judged() -> set[str]:
    """The looks that were read for contrast: what is pale on one page is as pale on the next."""
    return set()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The website, built from nothing; or the one that the variable SITE names."""
    if "SITE" in os.environ:
        return Path(os.environ["SITE"]).resolve()
    output = tmp_path_factory.mktemp("site")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ROOT]
    options = ["--path-output", output, "-W", "-n", "--keep-going"]
    build = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if build.returncode:
        pytest.fail(f"the book does not build:\n{build.stderr}", pytrace=False)
    return output / "_build" / "html"
