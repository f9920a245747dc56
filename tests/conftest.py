"""What the tests share: a browser, the website."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import comparing_pages
from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.corpora.multi30k import DATA_VARIABLE
from browser import VIEWS, launched
from starting import *  # noqa: F403
from starting import NO_BROWSER

ROOT = Path(__file__).resolve().parent.parent

# Who imports them has another device, or another precision, ever after; or trains.
collect_ignore = ["conftest.py", "own_device.py", "two_processes.py", "chapters", "kept"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before `-m` chooses: tests in a browser are slow, a notebook without a change can wait."""
    later = comparing_pages.left_out() if config.getoption("nbval", False) else set()
    for item in items:
        if isinstance(item, pytest.Function) and "browser" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
        if item.path in later:
            item.add_marker(pytest.mark.verify)


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
def multi30k() -> Corpus:
    """The captions, where they lie beside the checkout: a test fetches no corpus."""
    if DATA_VARIABLE not in os.environ:
        pytest.skip(f"{DATA_VARIABLE} names no folder")
    return load_corpus("multi30k")


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


@pytest.fixture(scope="session")
def korean(site: Path) -> Path:
    """The Korean site, where it was built (`make book LANGUAGE=ko`)."""
    if not (site / "ko").is_dir():
        pytest.skip("only the English site was built")
    return site / "ko"
