"""The proof of the exercises: right answers pass, wrong ones are named, mutants are caught."""

import importlib
import pkgutil
from collections import Counter

import pytest

from attnbook import exercises
from attnbook.exercises import guard
from attnbook.exercises.catalogue import ALL
from attnbook.exercises.diagnose import diagnose
from tests.exercises import right_answers
from tests.support.mutants import mutants
from tests.support.proof import DRAWS, markdown, rows
from tools.common import ROOT

MODULES = [
    importlib.import_module(f"tests.exercises.right_answers.{found.name}")
    for found in pkgutil.iter_modules(right_answers.__path__)
]
RIGHT = {name: answers for module in MODULES for name, answers in module.RIGHT.items()}
EQUIVALENT = {name: table for module in MODULES for name, table in module.EQUIVALENT.items()}
TABLE = markdown(rows(RIGHT, EQUIVALENT))
CODE = [name for name, exercise in ALL.items() if exercise.code]
each_exercise = pytest.mark.parametrize("name", ALL)


@pytest.fixture(autouse=True)
def empty_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path))


def stub_of(exercise):
    namespace: dict = {}
    exec(exercise.stub, namespace)
    return namespace[exercise.name]


@each_exercise
def test_the_reference_passes(name):
    for seed in range(DRAWS):
        assert diagnose(ALL[name], ALL[name].reference, seed).kind == "passed"


@each_exercise
def test_the_stub_waits_with_a_constant_line(name, capsys):
    for _ in range(2):
        exercises.check(stub_of(ALL[name]), name)
        exercises.log.record(name, "pass")
    assert capsys.readouterr().out == f"○ {name} not attempted\n" * 2


@each_exercise
def test_every_misunderstanding_is_recognised_by_its_own_sentence(name):
    exercise = ALL[name]
    assert len(exercise.mistakes) >= 4
    for field in ("name", "says"):
        assert len({getattr(m, field) for m in exercise.mistakes}) == len(exercise.mistakes)
    for mistake in exercise.mistakes:
        for seed in range(DRAWS):
            feedback = diagnose(exercise, mistake.wrong, seed)
            assert feedback.kind == "failed"
            assert mistake.says in feedback.says, f"{mistake.name}, draw {seed}: {feedback.says}"


@each_exercise
def test_other_right_answers_pass(name):
    assert len(RIGHT[name]) >= 3
    for answer in RIGHT[name]:
        feedback = diagnose(ALL[name], answer)
        assert feedback.kind == "passed", f"{answer.__name__}: {feedback!r}"


@each_exercise
def test_the_card_is_complete(name):
    exercise = ALL[name]
    assert name.split(".")[0] == exercise.section.split(".")[0].zfill(2)
    assert 1 <= exercise.level <= 3
    assert len(set(exercise.hints)) == 3
    assert exercise.insight
    assert exercise.name == exercise.reference.__name__
    for case in exercise.cases(guard.torch.Generator().manual_seed(0)):
        assert len(set(case.sizes.values())) == len(case.sizes), f"{case.note}: equal sizes"


def survivors(name, monkeypatch) -> tuple[int, list[str]]:
    """How many mutants there are, and those that pass though nobody has argued that they may."""
    monkeypatch.setattr(guard, "SECONDS", 0.5)
    count, alive = 0, []
    for text, mutant in mutants(ALL[name].reference):
        if text in EQUIVALENT.get(name, {}):
            assert diagnose(ALL[name], mutant).kind == "passed", f"no longer equivalent:\n{text}"
            continue
        count += 1
        if diagnose(ALL[name], mutant).kind == "passed":
            alive.append(text)
    return count, alive


@pytest.mark.parametrize("name", CODE)
def test_mutants_are_rejected(name, monkeypatch, record_property):
    count, alive = survivors(name, monkeypatch)
    record_property("mutants", count)
    assert not alive, "\n\n".join(["passed though changed:", *alive])


def test_every_exercise_has_its_answers_and_no_others():
    assert set(RIGHT) == set(ALL)
    assert set(EQUIVALENT) <= set(CODE)
    assert max(Counter(id(e) for e in ALL.values()).values()) == 1


def test_contributing_holds_the_table_that_the_proof_counts():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf8")
    assert TABLE in text, f"put this into CONTRIBUTING.md:\n{TABLE}"
