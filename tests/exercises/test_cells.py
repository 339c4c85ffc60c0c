"""Exercises in their chapters: a tool writes their cells, and their solutions run there."""

import re

import pytest

from attnbook.exercises.catalog import ALL
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.source import reader_source
from manuscript.cells import cells_of, exercises_of, write_exercises
from manuscript.chapters import number_of, pages
from manuscript.common import UserError
from manuscript.normal_form import read, text_of
from tests.support.chapters import BOOK, Chapter

LIBRARIES = re.compile(r"\b(collections|copy|F|functools|itertools|math|nn|np|random|torch)\.\w")
CHAPTERS = sorted(path for path in BOOK.glob("*.ipynb") if exercises_of(path))


def test_cells_are_written_from_the_library_and_keep_their_outputs(tmp_path, monkeypatch):
    path = CHAPTERS[0]
    notebook, asked = read(path), exercises_of(path)
    before, ids = text_of(notebook), [cell.id for cell in notebook.cells]
    first = ids.index("exercise-lookup")
    for cell in notebook.cells[first : first + 3]:
        cell.source = "written by hand"
    notebook.cells.append(notebook.cells.pop(first))  # a cell in the wrong position
    notebook.cells.insert(0, cells_of(ALL["07.move"])[0])  # a cell that does not belong here
    changed = tmp_path / "book" / path.name
    changed.parent.mkdir()
    changed.write_text(text_of(notebook), encoding="utf-8")
    monkeypatch.setattr("manuscript.cells.ROOT", tmp_path)
    notebook = read(changed)
    assert text_of(notebook) == before
    del notebook.cells[first : first + 4]
    write_exercises(notebook, asked)
    assert [cell.id for cell in notebook.cells] == ids
    notebook.cells = [cell for cell in notebook.cells if cell.id != "summary"]
    with pytest.raises(UserError, match="no cell with the id 'summary'"):
        write_exercises(notebook, asked)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
@pytest.mark.usefixtures("solved_cases")
def test_solutions_run_after_the_imports_which_include_what_cards_name(path):
    for exercise in exercises_of(path):
        space = Chapter(path.name).run()
        told = [exercise.prompt, exercise.stub, *exercise.hints, exercise.insight]
        named = LIBRARIES.findall("\n".join([*told, *(m.message for m in exercise.mistakes)]))
        missing = set(named) - set(space)
        assert not missing, f"{exercise.id} names {missing}: import it in {path.name}"
        exec(exercise.solution(), space)
        assert diagnose(exercise, space[exercise.name]).kind == "passed"
        for other in exercise.others:  # the chapter shows these answers, too
            exec(reader_source(other), space)
            assert diagnose(exercise, space[other.__name__]).kind == "passed"


NO_PREDICTION = """\
{} has no prediction with choices. Below a question "**Predict before you run.**" add three or more
<details class="choice" name="predict-...">, each with a <summary>, as in book/03_single_head.ipynb.
"""


@pytest.mark.parametrize(
    "path", [page for page in pages() if number_of(page)], ids=lambda path: path.stem
)
def test_a_chapter_asks_for_predictions_with_choices(path):
    chapter = Chapter(path.name)
    sources = {name: chapter.source(name) for name in chapter.cells}
    questions = {n: text for n, text in sources.items() if '<details class="choice"' in text}
    assert questions, NO_PREDICTION.format(path.name)
    for name, text in questions.items():
        where = f"{path.name}, cell {name!r}"
        assert "**Predict before you run.**" in text, f"{where}: choices need a question above them"
        choices = len(re.findall('<details class="(?:right )?choice" name="predict-', text))
        assert choices >= 3, f"{where}: a prediction needs at least three choices"
        tags = [text.count(tag) for tag in ("<details", "<summary>", "</details>")]
        assert len(set(tags)) == 1, f"{where}: each <details> needs a <summary> and a </details>"
