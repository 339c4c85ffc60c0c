"""What a kernel knows is used: the cell to run first, and the cell that is running."""

from types import SimpleNamespace

import pytest

from attnbook.exercises import check, hint, kernel, log, solution
from tools.lab import kernel_startup

NAME = "03.scores"


@pytest.fixture
def run_cell(monkeypatch, capsys):
    """Run a command as if in a cell; return what it prints."""
    shell = SimpleNamespace(execution_count=0, user_global_ns=globals())
    monkeypatch.setattr(kernel, "shell", lambda: shell)

    def run_cell(cell, command, *arguments):
        shell.get_parent = lambda: {"metadata": {"cellId": cell}}
        shell.execution_count += 1
        command(*arguments)
        return capsys.readouterr().out.replace("\n  ", " ")

    run_cell.shell = shell
    return run_cell


def needs_a_helper(query, key):
    return helper_of_the_chapter(query, key)  # noqa: F821


def misspelled(query, key):
    return qery @ key.mT  # noqa: F821


def of_the_library(query, key):
    return softmax(query @ key.mT)  # noqa: F821


def of_the_corpus(query, key):
    return query == PAD  # noqa: F821


def of_numpy(query, key):
    return np.exp(query @ key.mT)  # noqa: F821


def assigned_too_late(query, key):
    print(scores)  # noqa: F821
    scores = query @ key.mT
    return scores


@pytest.mark.parametrize(
    ("answer", "more"),
    [
        (needs_a_helper, "name 'helper_of_the_chapter' is not defined in your line"),
        (misspelled, "is not defined. Did you mean `query`?"),
        (of_the_library, "is not defined. Import it: `from attnbook import softmax`."),
        (of_the_corpus, "is not defined. Import it: `from attnbook.corpus import PAD`."),
        (of_numpy, "is not defined. Import it: `import numpy as np`."),
    ],
)
def test_a_missing_name_is_explained_and_is_not_a_wrong_try(answer, more, capsys):
    check(answer, NAME)
    assert more in capsys.readouterr().out.replace("\n  ", " ")
    assert log.read() == ({}, "")
    check(assigned_too_late, NAME)
    assert log.read()[0][NAME]["try"] == 1


def test_in_make_lab_the_card_names_the_cell_to_run_first(run_cell, monkeypatch, tmp_path):
    cells = '[{"id": "tools", "cell_type": "code", "source": "helper_of_the_chapter = 1"}]'
    (tmp_path / "chapter.ipynb").write_text(f'{{"cells": {cells}}}')
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "chapter.ipynb"))
    shell = run_cell.shell
    shell.set_custom_exc = lambda kinds, show: None
    shell.events = SimpleNamespace(register=lambda event, call: None)
    monkeypatch.setattr(kernel_startup, "get_ipython", lambda: shell)
    kernel_startup.install()
    told = run_cell("stub-scores", check, needs_a_helper, NAME)
    assert "First run the cell that defines `helper_of_the_chapter`: it starts with " in told
    assert "Did you mean `query`?" in run_cell("stub-scores", check, misspelled, NAME)


def wrong(query, key):
    return query @ key.mT


def wrong_again(query, key):
    return 2 * query @ key.mT


def test_a_wrong_answer_counts_once_until_it_changes(run_cell):
    for answer, n_tries in ((wrong, 1), (wrong, 1), (wrong_again, 2), (wrong_again, 2), (wrong, 3)):
        assert "✗" in run_cell("stub-scores", check, answer, NAME)
        assert log.read()[0][NAME]["try"] == n_tries
    hidden = eval(compile("lambda query, key: 0", "nowhere", "eval"))  # it has no source
    for n_tries in (4, 5):
        run_cell("stub-scores", check, hidden, NAME)
        assert log.read()[0][NAME]["try"] == n_tries


def test_a_cell_that_runs_again_repeats_its_hint_unless_it_runs_twice_in_a_row(run_cell):
    def told(cell):
        return run_cell(cell, hint, NAME).partition(" of 3")[0].rpartition(" ")[2]

    assert [told("first"), told("second")] == ["1", "2"]
    for _run_all in range(2):
        run_cell("stub-scores", check, wrong, NAME)
        assert [told("first"), told("second")] == ["1", "2"]
    assert log.read()[0][NAME]["hint"] == 2
    assert told("second") == "3"
    assert log.read()[0][NAME]["hint"] == 3
    assert "all hints" in run_cell("second", hint, NAME)


def test_a_solution_that_is_shown_again_is_not_recorded_again(run_cell):
    for _run_all in range(2):
        assert "one right answer" in run_cell("answer", solution, NAME, True)
    assert log.read()[0][NAME]["solution"] == 1
