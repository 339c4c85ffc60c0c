"""The chapters print each exercise as the library holds it: card, stub, place of the solution."""

import json
import re
from pathlib import Path

import pytest

from attnbook.exercises.catalogue import ALL, CHAPTERS
from attnbook.exercises.diagnose import diagnose
from tests.support.chapters import Chapter
from tools.common import ROOT

LIBRARIES = re.compile(r"\b(collections|copy|F|functools|itertools|math|nn|np|random|torch)\.\w")
BOOK = ROOT / "book"
SOLUTION = """:::{{solution}} {id}
Stuck? `hint("{id}")` gives three hints, one at a time; `solution("{id}")` shows an answer once \
you have tried.
:::"""


def notebook_of(name: str) -> Path:
    (path,) = BOOK.glob(f"{name.split('.')[0]}_*.ipynb")
    return path


def cells_of(name: str) -> dict[str, dict]:
    cells = json.loads(notebook_of(name).read_text("utf8"))["cells"]
    return {cell["id"]: cell | {"text": "".join(cell["source"])} for cell in cells}


@pytest.mark.parametrize("name", ALL)
def test_the_chapter_holds_the_exercise(name):
    exercise, cells, slug = ALL[name], cells_of(name), name.split(".")[1]
    assert cells[f"exercise-{slug}"]["text"] == exercise.card()
    stub = f'{exercise.stub.strip()}\n\n\ncheck({exercise.name}, "{name}")'
    assert cells[f"stub-{slug}"]["text"] == stub
    assert cells[f"solution-{slug}"]["text"] == SOLUTION.format(id=name)
    outputs = cells[f"stub-{slug}"]["outputs"]
    assert ["".join(o["text"]) for o in outputs] == [f"○ {name} not attempted\n"]


@pytest.mark.parametrize("name", ALL)
def test_the_solution_as_shown_runs_after_the_chapters_imports_and_passes(name):
    exercise = ALL[name]
    assert "fmt:" not in exercise.solution()
    space = Chapter(notebook_of(name).name).run()
    exec(exercise.solution(), space)
    assert diagnose(exercise, space[exercise.name]).kind == "passed"


@pytest.mark.parametrize("name", ALL)
def test_what_an_exercise_names_is_imported_in_its_chapter(name):
    exercise = ALL[name]
    told = exercise.prompt, exercise.stub, *exercise.hints, exercise.insight
    named = LIBRARIES.findall("\n".join([*told, *(m.says for m in exercise.mistakes)]))
    assert set(named) <= set(Chapter(notebook_of(name).name).run())


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_has_five_exercises_of_more_than_one_kind_and_level(chapter):
    exercises = CHAPTERS[chapter]
    assert len(exercises) >= 5
    assert {e.code for e in exercises} == {True, False}
    assert len({e.level for e in exercises}) >= 2
    assert [e.level for e in exercises] == sorted(e.level for e in exercises)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_asks_for_predictions_with_choices(chapter):
    cells = cells_of(CHAPTERS[chapter][0].id)
    questions = [c["text"] for c in cells.values() if '<details class="choice"' in c["text"]]
    assert questions
    for text in questions:
        assert "**Predict before you run.**" in text
        assert text.count('<details class="choice" name="predict-') >= 3
        assert text.count("<summary>") == text.count("</details>") == text.count("<details")
