"""Open the first unfinished chapter in your own copies: `make lab`."""

import os
import sys

from jupyterlab.labapp import main as jupyterlab

from attnbook.language import _
from manuscript.common import ROOT
from manuscript.edition import LANGUAGE, SOURCE
from tools.lab.copies import copy_book
from tools.lab.settings import FOLDER, STARTUP, arguments


def main() -> None:
    """Bring the copies up to date, and open JupyterLab."""
    mine = ROOT / "my" / ("" if LANGUAGE == "en" else LANGUAGE)
    mine.mkdir(parents=True, exist_ok=True)
    for line in copy_book(SOURCE, mine):
        print(line)
    options = arguments(mine)
    os.environ.setdefault("PYTHONSTARTUP", str(mine / FOLDER / STARTUP))
    print(_("JupyterLab opens in your browser. To end it, press Ctrl-C twice."), flush=True)
    jupyterlab([*options, *sys.argv[1:]])


if __name__ == "__main__":
    main()
