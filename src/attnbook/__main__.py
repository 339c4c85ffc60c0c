"""python -m attnbook: the exercises in a terminal."""

import sys

from attnbook.exercises.cards import console
from attnbook.exercises.terminal.commands import main

if __name__ == "__main__":
    sys.exit(console.ignore_broken_pipe(main))
