"""The browser for tests and tools: Chromium."""

import os
import shutil
from itertools import product

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
# With these flags, Chromium makes no network requests of its own, and does not round the widths of
# letters. (If it did, lines of code would be too wide for the printed page.)
FLAGS = (
    "--disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --font-render-hinting=none"
).split()


def launch(playwright: Playwright, channels: tuple[str, ...] = CHANNELS) -> Browser:
    """Start the Chromium that ATTNBOOK_CHROMIUM names, or else the first one that works.

    Each starts in its sandbox if it can. It cannot where the user is root, as in a container, or
    where the system does not let a user make one.
    """
    if named := os.environ.get("ATTNBOOK_CHROMIUM"):
        ways: list[dict[str, str]] = [{"executable_path": named}]
    else:
        ways = [{"executable_path": path} for path in map(shutil.which, NAMES) if path]
        ways += [{}, *({"channel": channel} for channel in channels)]  # {}: Playwright's Chromium
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    for way, sandbox in product(ways, (False,) if root else (True, False)):
        try:
            return playwright.chromium.launch(args=FLAGS, chromium_sandbox=sandbox, **way)  # type: ignore[arg-type]
        except Error:
            continue
    raise UserError(
        "Chromium was not found or does not start: install it, or set ATTNBOOK_CHROMIUM to its path"
    )
