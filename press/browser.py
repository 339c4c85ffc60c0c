"""The browser for tests and tools: Chromium."""

import os
import shutil

from playwright.sync_api import Browser, Error, Playwright

from tools.common import UserError

NAMES = ("chromium", "chromium-browser", "google-chrome", "/usr/bin/chromium")
CHANNELS = ("chrome", "msedge")  # found even if they are not on the PATH
FLAGS = (  # so that Chromium needs no sandbox and makes no network requests of its own
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


def launch(playwright: Playwright, channels: tuple[str, ...] = CHANNELS) -> Browser:
    """Start the Chromium that ATTNBOOK_CHROMIUM names, or else the first one that works."""
    if named := os.environ.get("ATTNBOOK_CHROMIUM"):
        ways: list[dict[str, str]] = [{"executable_path": named}]
    else:
        ways = [{"executable_path": path} for path in map(shutil.which, NAMES) if path]
        ways += [{}, *({"channel": channel} for channel in channels)]  # {}: Playwright's Chromium
    for way in ways:
        try:
            return playwright.chromium.launch(args=FLAGS, **way)  # type: ignore[arg-type]
        except Error:
            continue
    raise UserError(
        "Chromium was not found or does not start: install it, or set ATTNBOOK_CHROMIUM to its path"
    )
