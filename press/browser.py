"""The browser of tests and tools: Chromium."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "/usr/bin/chromium")
FLAGS = (  # it runs where no sandbox can be made, and asks nothing of the network by itself
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


def chromiums() -> list[str]:
    """The path that ATTNBOOK_CHROMIUM names; else those of each Chromium that is installed."""
    if named := os.environ.get("ATTNBOOK_CHROMIUM"):
        return [named]
    return [path for path in map(shutil.which, NAMES) if path]
