"""Every page is sound: one half of the pages. Two processes share the work."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from every_page import PARTS, READINGS, every_page, faults


@READINGS
@pytest.mark.parametrize("part", range(PARTS // 2))
def test_a_part_of_the_pages_is_sound(
    site: Path, browser: Browser, judged: set[str], part: int, views: tuple[str, ...]
) -> None:
    assert faults(site, browser, every_page(site)[part::PARTS], judged, views) == []
