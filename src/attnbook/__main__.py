"""python -m attnbook: the exercises and `examine` in a terminal."""

import sys


def main() -> int:
    """Load the commands, which takes a second, and run one; after Ctrl-C, return 130."""
    try:
        from attnbook.exercises.cards import console
        from attnbook.exercises.terminal import commands

        return console.ignore_broken_pipe(commands.main)
    except KeyboardInterrupt:
        return 130  # as if a signal had ended the program


if __name__ == "__main__":
    sys.exit(main())
