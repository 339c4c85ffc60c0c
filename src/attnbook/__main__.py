"""python -m attnbook: the exercises in a terminal."""

import argparse
import sys

from attnbook import exercises
from attnbook.exercises import log
from attnbook.exercises.catalogue import CHAPTERS, find


def main() -> None:
    """Do what the command line says."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:
        reconfigure(encoding="utf-8")  # a pipe on Windows has no ★ in its alphabet
    parser = argparse.ArgumentParser(prog="python -m attnbook", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="all exercises, chapter by chapter")
    commands.add_parser("next", help="the first exercise that you have not passed")
    commands.add_parser("progress", help="where you stand")
    for name, what in (("hint", "the next hint"), ("card", "the text of an exercise")):
        commands.add_parser(name, help=what).add_argument("exercise", help="such as 03.scale")
    arguments = parser.parse_args()
    if arguments.command == "list":
        for chapter, found in CHAPTERS.items():
            print(chapter)
            for e in found:
                print(f"  {e.id:18} {'★' * e.level:4} {e.minutes:3} min  {e.title}")
    elif arguments.command == "next":
        counts, _ = log.read()
        left = (e for found in CHAPTERS.values() for e in found if not counts[e.id]["pass"])
        upcoming = next(left, None)
        print(upcoming.card() + "\n\n" + upcoming.stub if upcoming else "You have passed them all.")
    elif arguments.command == "progress":
        exercises.progress()
    elif arguments.command == "hint":
        exercises.hint(arguments.exercise)
    else:
        found_one = find(arguments.exercise)
        print(found_one.card() + "\n\n" + found_one.stub)


if __name__ == "__main__":
    main()
