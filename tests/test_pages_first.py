"""Every page is sound: one half of the pages. Two processes share the work."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from every_page import CHECKED, faults


@pytest.mark.parametrize("view", CHECKED)
@pytest.mark.parametrize("part", [0, 1])
def test_a_quarter_of_the_pages_is_sound(
    site: Path, browser: Browser, view: str, part: int
) -> None:
    assert faults(site, browser, view, part) == []
