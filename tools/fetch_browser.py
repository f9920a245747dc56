"""Fetch the browser that Playwright ships, where there is none yet and the network allows it.

The tests that need one are skipped without it, so it is no error if it cannot be had.
"""

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from browser import MISSING, chromium

MINUTES = 3


def main() -> None:
    """Say nothing where there is a browser."""
    with sync_playwright() as playwright:
        if chromium(playwright):
            return
    command = [Path(sys.executable).with_name("playwright"), "install", "--with-deps", "chromium"]
    try:
        subprocess.run(command, check=True, timeout=60 * MINUTES, capture_output=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        print(f"No browser could be fetched, so its tests are skipped: {MISSING}.")


if __name__ == "__main__":
    main()
