"""Tests of all exercises: right answers pass, mistakes are named, and mutants are rejected."""

import importlib
import os
from pathlib import Path

import pytest
import torch

from attnbook.exercises import catalog
from attnbook.exercises.catalog import ALL, CHAPTERS
from attnbook.exercises.checker import guard
from attnbook.exercises.checker.diagnose import diagnose
from manuscript import markers
from manuscript.chapters import number_of, pages
from tests.support.chapters import BOOK, Chapter
from tests.support.mutants import mutants

DRAWS = 2  # the draw that readers get, and another, in case an answer is right by luck
CHAPTER_FILES = Path(catalog.__file__).with_name("chapters").glob("ch*/*.py")
ANSWER_FILES = Path(__file__).with_name("right_answers").glob("ch*/*.py")
WRONG_FILES = Path(__file__).with_name("wrong_answers").glob("ch*/*.py")


def id_of(path):
    """Return the id of the exercise to which a file such as ch06/heads.py belongs."""
    return f"{path.parent.name.removeprefix('ch')}.{path.stem}"


def module_of(path):
    """Return the module of a file such as right_answers/ch06/heads.py."""
    return importlib.import_module(".".join(("tests.exercises", *path.with_suffix("").parts[-3:])))


ANSWERS = {id_of(path): module_of(path) for path in ANSWER_FILES}
WRONG = {id_of(path): module_of(path).WRONG for path in WRONG_FILES}
WIDTHS = {"Dk", "Dv", "D", "Dc"}
LIMITED = ("03.backward", "10.repair", "14.absorb")  # a case of each limits the size of results
CODE = [name for name, exercise in ALL.items() if exercise.code]
pytestmark = pytest.mark.usefixtures("solved_cases")
each_exercise = pytest.mark.parametrize("name", ALL)


@each_exercise
def test_right_answers_pass(name, solved_cases):
    for seed in range(DRAWS):
        assert diagnose(ALL[name], ALL[name].reference, seed).kind == "passed"
    answers = (*ALL[name].others, *getattr(ANSWERS.get(name), "RIGHT", ()))
    asks_for_code = ALL[name].code or callable(solved_cases(name, 0)[0].case.arguments[0])
    file = f"tests/exercises/right_answers/ch{name.replace('.', '/')}.py"
    n_needed = 3 if asks_for_code else 0
    assert len(answers) >= n_needed, f"{name} needs three right answers: add some to {file}"
    for answer in answers:
        feedback = diagnose(ALL[name], answer)
        assert feedback.kind == "passed", f"{answer.__name__}: {feedback!r}"


@each_exercise
def test_every_mistake_gets_its_own_message(name):
    exercise = ALL[name]
    common = list(exercise.common_mistakes.singles()) if exercise.common_mistakes else []
    own = {m.message for m in exercise.mistakes}
    assert len(own) + len(common) >= 4
    assert len(own) <= 12  # the checker's general messages cover the rest
    messages = [m.message for m in (*exercise.mistakes, *common)]
    for mistake in common:  # if it is rejected, it gets one of these messages
        feedback = diagnose(exercise, mistake.wrong)
        if feedback.kind == "failed":
            found = any(message in feedback.message for message in messages)
            assert found, f"{mistake.message}: {feedback!r}"
    assert exercise.choices or len(own) == len(exercise.mistakes)
    if os.environ.get("ATTNBOOK_REHEARSAL") == "1" and name in LIMITED:
        pytest.skip("a tensor on a simulated GPU does not limit the size of results")
    for mistake in exercise.mistakes:
        for seed in range(DRAWS):
            feedback = diagnose(exercise, mistake.wrong, seed)
            assert feedback.kind == "failed"
            text = feedback.message
            assert mistake.message in text, f"{mistake.message}, draw {seed}: {text}"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_told_why(name):
    for answer, words in WRONG[name].items():
        feedback = diagnose(ALL[name], answer)
        assert feedback.kind == "failed", answer.__name__
        assert words in feedback.message, f"{answer.__name__}: {feedback.message}"


@pytest.mark.parametrize("name", CODE)
def test_mutants_are_rejected(name, monkeypatch, solved_cases):
    cases = solved_cases(name, 0)  # before the time limit is lowered
    module = importlib.import_module("attnbook.exercises.checker.diagnose")
    monkeypatch.setattr(guard, "SECONDS", 0.5)

    def passes(mutant):
        for case in cases:  # one by one, because most mutants fail the first
            monkeypatch.setattr(module, "solve_cases", lambda exercise, seed, case=case: [case])
            if diagnose(ALL[name], mutant).kind != "passed":
                return False
        return True

    argued = getattr(ANSWERS.get(name), "EQUIVALENT", {})
    passed = {text: passes(mutant) for text, mutant in mutants(ALL[name].reference)}
    alive = [text for text, alive in passed.items() if alive and text not in argued]
    assert not alive, "\n\n".join(["these mutants pass:", *alive])
    assert all(passed[text] for text in argued), "listed as equivalent, but rejected"


@each_exercise
def test_the_card_names_its_section_and_says_if_it_is_a_second_reading(name):
    exercise = ALL[name]
    (page,) = BOOK.glob(f"{name[:2]}_*.ipynb")
    cells = Chapter(page.name).cells.values()
    (cell,) = [cell for cell in cells if cell["source"].startswith(f"## {exercise.section} ")]
    tagged = markers.SECOND_READING_TAG in cell["metadata"].get("tags", [])
    assert exercise.second_reading == tagged
    assert ("(second reading)" in exercise.card()) == tagged


@each_exercise
def test_the_card_is_complete(name):
    exercise = ALL[name]
    assert name.split(".")[0] == exercise.section.split(".")[0].zfill(2)
    assert 1 <= exercise.level <= 3
    assert len(set(exercise.hints)) == 3, f"{name} needs three different hints"
    assert exercise.insight, f"{name} needs an insight, shown after a right answer"
    assert exercise.comes_back, f"{name} needs comes_back, which says where its idea is used again"
    cases = exercise.cases(torch.Generator().manual_seed(0))
    for case in cases:
        sizes = {name: size for name, size in case.sizes.items() if size > 1}
        assert len(set(sizes.values())) == len(sizes), f"{case.note}: two axes have the same size"
        # With these widths n, √n equals another size, or two of n/2, √n and log₂ n are equal.
        accidents = {2, 4, 16} | {size * size for size in sizes.values()}
        for width in WIDTHS & sizes.keys():
            assert sizes[width] not in accidents, f"{case.note}: {width} leads to equal numbers"
    for width in WIDTHS if exercise.code else ():
        found = [case.sizes[width] for case in cases if width in case.sizes]
        assert len(found) < 2 or len(set(found)) > 1, f"{width} is the same in all cases"


def test_every_exercise_is_found_in_the_file_of_its_name():
    files = {id_of(path) for path in CHAPTER_FILES if path.stem not in ("__init__", "shared")}
    lost = sorted(files ^ set(ALL))
    message = "these files are not in EXERCISES of their chapter, or their reference is elsewhere"
    assert not lost, f"{message}: {lost}"
    assert sum(map(len, CHAPTERS.values())) == len(ALL)


def test_right_answers_and_equivalent_mutants_belong_to_an_exercise():
    orphans = sorted(set(ANSWERS) - set(ALL))
    assert not orphans, f"right_answers/ has files without an exercise: {orphans}"
    without = sorted(name for name in ANSWERS if hasattr(ANSWERS[name], "EQUIVALENT"))
    without = [name for name in without if name not in CODE]
    assert not without, f"no mutants are made of the references of {without}"


@pytest.mark.parametrize("number", [f"{n:02}" for n in map(number_of, pages()) if n])
def test_a_chapter_has_five_exercises_of_more_than_one_kind_and_level(number):
    exercises = [exercise for name, exercise in ALL.items() if name.startswith(f"{number}.")]
    levels = [exercise.level for exercise in exercises]
    assert len(levels) >= 5, f"chapter {number} has {len(levels)} exercises, but needs five"
    assert len(set(levels)) >= 2, f"chapter {number}: all exercises have level {levels[0]}"
    assert levels == sorted(levels), "exercises have to be in the order of their levels"
    kinds = {exercise.code for exercise in exercises}
    assert kinds == {True, False}, "some have to be answered in code, and some by a choice"
