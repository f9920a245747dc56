"""What every test starts from: this checkout, one thread, a fixed seed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, sync_playwright

from browser import CHROMIUM, FLAGS

ROOT = Path(__file__).resolve().parent.parent

# The notebooks run in processes of their own, which pytest's `pythonpath` does not reach.
os.environ["PYTHONPATH"] = str(ROOT)

# The tests run two at a time on machines with two cores.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Every test draws the same random numbers, alone or after others."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    if not CHROMIUM.exists():
        message = f"there is no {CHROMIUM}: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
