"""Open the first unfinished chapter in your own copies: `make lab`."""

import os
import sys

from jupyterlab.labapp import main as jupyterlab

from attnbook.language import _
from manuscript.common import run_tool
from manuscript.edition import SOURCE
from tools.lab.copies import copy_book, readers_folder
from tools.lab.settings import FOLDER, STARTUP, arguments


def main() -> int:
    """Bring the copies up to date, and open JupyterLab."""
    mine = readers_folder()
    mine.mkdir(parents=True, exist_ok=True)
    for line in copy_book(SOURCE, mine):
        print(line)
    options = arguments(mine)
    os.environ.setdefault("PYTHONSTARTUP", str(mine / FOLDER / STARTUP))
    print(_("JupyterLab opens in your browser. To end it, press Ctrl-C twice."), flush=True)
    jupyterlab([*options, *sys.argv[1:]])
    return 0


if __name__ == "__main__":
    run_tool(main)
