"""Every page is sound: the other half of the pages."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from every_page import PHONE, every_page, faults, faults_on_a_phone


def test_the_second_half_of_the_pages_is_sound(site: Path, browser: Browser) -> None:
    assert faults(site, browser, every_page(site)[1::2]) == []


@pytest.mark.parametrize("page", PHONE[1::2])
def test_a_page_is_sound_on_a_phone(site: Path, browser: Browser, page: str) -> None:
    assert faults_on_a_phone(site, browser, page) == []
