"""The pages are sound, the other half of them: two processes share the work."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from every_page import PARTS, READINGS, faults


@READINGS
@pytest.mark.parametrize("part", range(PARTS // 2, PARTS))
def test_a_part_of_the_pages_is_sound(
    site: Path,
    browser: Browser,
    judged: set[str],
    part: int,
    choose: Callable[[Path], list[str]],
    views: tuple[str, ...],
) -> None:
    assert faults(site, browser, choose(site)[part::PARTS], judged, views) == []
