"""An exercise for the tests of the terminal, answers to it, and a runner without a process."""

import re
from pathlib import Path

import pytest

from attnbook.exercises.catalog import ALL
from attnbook.exercises.terminal import answer_files
from attnbook.exercises.terminal.runner import Result

NAME = "03.scores"
EXERCISE = ALL[NAME]
FILE = "03_scores.py"
RAISES = re.compile(r" +raise NotImplementedError.*\n")
RIGHT = "    return query @ key.mT / math.sqrt(query.size(-1))\n"
WRONG = "    return query @ key.mT\n"
starts_a_process = pytest.mark.on_cpu  # a rehearsal simulates its GPU in this process only
each_exercise = pytest.mark.parametrize("name", ALL)


def answer(line: str) -> None:
    """Write an answer into the file of 03.scores, in place of the stub's `raise`."""
    answer_files.create(EXERCISE)
    content = answer_files.file_content(EXERCISE)
    path = answer_files.path_of(EXERCISE)
    path.write_text(RAISES.sub(line.replace("\\", r"\\"), content), "utf-8")


class Quick:
    """A substitute for Runner that starts no process: a file passes if it contains "right"."""

    ran: list[str]

    def run(self, path: Path) -> list[Result]:
        Quick.ran.append(path.read_text("utf-8"))
        name = answer_files.exercise_id(path.name)
        return [Result(name, "passed" if "right" in path.read_text("utf-8") else "failed")]

    def close(self) -> None: ...
