"""The pages are sound: the main ones in a window, and all of them in every view."""

from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from every_page import EVERY_VIEW, ONCE, every_page, faults, main_pages

PARTS = 8
"""So that no test takes minutes."""


@pytest.mark.parametrize(
    ("pages", "views"),
    [
        pytest.param(main_pages, ONCE, id="main pages"),
        pytest.param(every_page, EVERY_VIEW, id="every page and view", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_part_of_the_pages_is_sound(
    site: Path,
    browser: Browser,
    judged: set[str],
    part: int,
    pages: Callable[[Path], list[str]],
    views: Collection[str],
) -> None:
    assert faults(site, browser, pages(site)[part::PARTS], judged, views) == []
