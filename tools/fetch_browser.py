"""Fetch the browser that Playwright ships, where there is none yet and the network allows it.

The tests that need a browser are skipped without it, so a failure is not an error.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from browser import MISSING, chromium

MINUTES = 3


def main() -> None:
    """Fetch a browser, or print nothing if there is one."""
    with sync_playwright() as playwright:
        if chromium(playwright.chromium):
            return
    program = Path(sys.executable).with_name("playwright")
    # A process group of its own, so that its children end with it.
    with subprocess.Popen(
        [program, "install", "chromium"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as fetching:  # fmt: skip
        try:
            failed = fetching.wait(60 * MINUTES)
        except subprocess.TimeoutExpired:
            os.killpg(fetching.pid, signal.SIGKILL)
            failed = True
    if failed:
        print(f"No browser could be fetched, so its tests are skipped; {MISSING}.")


if __name__ == "__main__":
    main()
