"""The browser for tests and tools: Chromium."""

import os
import shutil

from playwright.sync_api import Browser, Error, Playwright

from manuscript.common import UserError

# The headless shell comes first, because it opens a page in less than half the CPU time.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/usr/bin/chromium",
)
CHANNELS = ("chrome", "msedge")  # found even if they are not on the PATH
# With these flags, Chromium needs no sandbox, makes no network requests of its own, and does not
# round the widths of letters. (If it did, lines of code would be too wide for the printed page.)
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --font-render-hinting=none"
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
