"""python -m attnbook: the exercises in a terminal."""

import sys

from attnbook.exercises import text
from attnbook.exercises.terminal import main

if __name__ == "__main__":
    sys.exit(text.quietly(main))
