"""Every page is sound in a window: the rules, and the colours in light and dark."""

from pathlib import Path

from playwright.sync_api import Browser

from every_page import faults


def test_every_page_is_sound(site: Path, browser: Browser) -> None:
    assert faults(site, browser, "light") == []
