"""What the checker says of every kind of wrong answer, and what it keeps of the reader's."""

import contextlib
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from attnbook.__main__ import main
from attnbook.exercises import check, guard, hint, log, progress, solution
from attnbook.exercises.answers import as_text, first_difference, matches
from attnbook.exercises.catalogue import ALL
from attnbook.exercises.diagnose import diagnose
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw
from attnbook.exercises.feedback import Feedback
from attnbook.exercises.source import without_annotations


def compare(query, key):
    return (query @ key.mT).exp()


def cases(generator):
    return [
        Case((draw(generator, 2, 4), draw(generator, 3, 4)), {"Lq": 2, "Lk": 3, "Dk": 4}, "small"),
        Case((draw(generator, 5, 4), draw(generator, 7, 4)), {"Lq": 5, "Lk": 7, "Dk": 4}, "large"),
    ]


TRY = Exercise(
    id="99.try",
    title="A try",
    level=1,
    minutes=1,
    section="99.1",
    prompt="Compare.",
    stub="def compare(query, key):\n    raise NotImplementedError",
    reference=compare,
    cases=cases,
    axes="B Lq Lk",
    mistakes=(
        Mistake("turned", lambda query, key: (key @ query.mT).exp(), "The keys ask."),
        Mistake("no exp", lambda query, key: query @ key.mT, "You forgot exp."),
    ),
    hints=("first", "second", "third"),
    insight="Well compared.",
    properties=(Property("Answers are positive.", lambda answer, case: bool((answer > 0).all())),),
)
TEXT = replace(TRY, id="99.text", reference=lambda q, k: "B", properties=(), code=False)


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path))
    for exercise in (TRY, TEXT):
        monkeypatch.setitem(ALL, exercise.id, exercise)


def told(function, exercise=TRY) -> str:
    """The card as text, each paragraph on one line."""
    return repr(diagnose(exercise, function)).replace("\n  ", " ")


# --- what is said ----------------------------------------------------------------------------


class Model(nn.Module):
    def forward(self, query, key):
        return compare(query, key)


class Adds(nn.Module):
    def forward(self, query, key):
        return query + key


class Multiplies:
    def __call__(self, query, key):
        return query * key


def no_transpose(query, key):
    product = query @ key
    return product.exp()


def in_a_helper(query, key):
    return no_transpose(query, key)


@pytest.mark.parametrize("right", [lambda q, k: (q @ k.mT).exp(), Model(), Model().forward])
def test_functions_methods_modules_and_objects_can_be_right(right):
    assert told(right) == "✓ 99.try A try Well compared. 2 cases passed."


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (no_transpose, "product = query @ key where          query (2, 4), key (3, 4)"),
        (in_a_helper, "product = query @ key where"),
        (Adds(), "return query + key where"),
        (Multiplies(), "return query * key where"),
        (lambda q, k: nn.functional.linear(q, k.mT), "nn.functional.linear(q, k.mT), "),
    ],
)
def test_an_exception_is_shown_in_the_readers_own_line_with_its_shapes(wrong, line):
    assert "Your function raised RuntimeError: " in told(wrong)
    assert "in your line   " in told(wrong)
    assert line in told(wrong)


def write_to_query(query, key):
    query *= 1.5
    return compare(query / 1.5, key)


def endless(query, key):
    return endless(query, key)


def unsupported(query, key):
    """Fail as some versions of PyTorch do: that is a try, not the stub."""
    raise NotImplementedError("mean(): not for whole numbers")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda q: q, "takes 1 positional argument"),
        (endless, "calls itself without an end"),
        (unsupported, "raised NotImplementedError: mean(): not for whole numbers"),
        (lambda q, k: sys.exit(1), "raised SystemExit"),
        (write_to_query, "changed what it was given (argument 1)"),
        (lambda q, k: compare(q, k).numpy(), "returned NumPy"),
        (lambda q, k: np.float64(1), "Your function returned NumPy"),
        (lambda q, k: compare(q, k).tolist(), "returned a list"),
        (lambda q, k: None, "returned None"),
        (lambda q, k: compare(q, k).float(), "torch.float32, and torch.float64 is asked for"),
        (lambda q, k: compare(q, k).to("meta"), "on meta, the arguments are on c"),
        (lambda q, k: compare(q, k).float().sum(-1), "(2,); (2, 3) is asked for (Lq=2, Lk=3)."),
        (lambda q, k: (k @ q.mT).exp(), "Axis Lq is 3, the size of Lk. The keys ask."),
        (lambda q, k: q @ k.mT, "A try You forgot exp. case     small yours "),
        (lambda q, k: -compare(q, k), "Answers are positive. case     small yours    -"),
        (lambda q, k: compare(q, k) + 1, "The smallest case that shows it: case     small"),
        (lambda q, k: compare(q, k).detach(), "no gradient flows back"),
        (lambda q, k: torch.tensor(compare(q, k).tolist()).to(q), "no gradient flows"),
    ],
)
def test_the_first_thing_that_is_wrong_is_named(wrong, says):
    assert told(wrong).startswith("✗ 99.try")
    assert says in told(wrong)


def test_a_misunderstanding_that_fits_all_cases_goes_before_one_that_fits_the_failed():
    def small_alike(query, key):
        return query @ key.mT + (0 if len(query) == 2 else 1)

    assert "You forgot exp." in told(small_alike)  # no other fits
    two = replace(TRY, mistakes=(Mistake("alike", small_alike, "Other."), *TRY.mistakes))
    assert "You forgot exp." in told(lambda q, k: q @ k.mT, two)
    assert "positive" in told(lambda q, k: small_alike(q, k) * (1 if len(q) == 2 else 2), two)


def test_a_choice_is_a_question_and_an_answer_or_what_is_computed_from_the_sizes():
    answers = {"a": "Life", "b": "is"}
    (mistake,) = choices(lambda question: answers[question], {("a", "eat"): "Not to eat."})
    assert [mistake.wrong(question) for question in "ab"] == ["eat", "is"]
    (mistake,) = choices(lambda what, L, H, D: (H, L), {("q", "L, H * D"): "Not so wide."})
    assert mistake.wrong("q", 2, 3, 5) == (2, 15)
    assert mistake.wrong("k", 2, 3, 5) == (3, 2)
    assert mistake.says == "Not so wide."


def test_a_wrong_choice_is_shown_without_the_right_one():
    assert told(lambda q, k: " b ", TEXT).startswith("✓")
    assert "yours    'C'" in told(lambda q, k: "C", TEXT)
    assert "'B'" not in told(lambda q, k: "C", TEXT)


def test_what_it_printed_stands_under_a_wrong_answer():
    def loud(query, key):
        print("hello from inside")
        return compare(query, key)

    assert "hello" not in told(loud)
    assert "It printed: hello from inside" in told(lambda q, k: loud(q, k) + 1)


def test_of_a_batch_the_first_matrix_that_differs_is_shown():
    wanted = torch.arange(24.0).view(2, 3, 2, 2)
    got = wanted.clone()
    got[1, 1] += 0.5
    assert first_difference(got, wanted) == 4
    assert as_text(got, 4) == (
        "shape (2, 3, 2, 2), its matrix 4\n         16.5000 17.5000\n         18.5000 19.5000"
    )
    assert first_difference(got[:0], wanted[:0]) == 0
    assert as_text(got[:0]).startswith("shape (0, 3, 2, 2)")


@pytest.mark.parametrize(
    ("got", "wanted", "right"),
    [
        ([1, 2], (1, 2), True),
        (torch.Size([1, 2]), (1, 2), True),
        ((1,), (1, 2), False),
        (torch.tensor(2), 2, True),
        (True, 1, False),
        (1, True, False),
        (0.1 + 0.2, 0.3, True),
        (torch.ones(2), torch.ones(2, 1), False),
        (torch.ones(2), torch.ones(2).bool(), False),
        (torch.ones(2).long(), torch.ones(2), False),
        (torch.ones(2).int(), torch.ones(2).long(), False),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), False),
        (torch.tensor([torch.nan]), torch.tensor([torch.nan]), True),
        (torch.ones(2) + 1e-4, torch.ones(2), False),
        (np.ones(3), "B", False),
        ({"a"}, {"a"}, True),
    ],
)
def test_what_counts_as_right(got, wanted, right):
    assert matches(got, wanted) is right


# --- what it does to the reader's program ----------------------------------------------------


@pytest.mark.skipif(not hasattr(guard.signal, "setitimer"), reason="no alarms on this platform")
def test_an_endless_loop_is_stopped_even_behind_a_bare_except(monkeypatch):
    def stubborn(query, key):
        with contextlib.suppress(BaseException):
            while True:
                pass
        while True:
            pass

    monkeypatch.setattr(guard, "SECONDS", 0.2)
    assert "still running after" in told(stubborn)
    assert "still running after" in told(lambda q, k: time.sleep(100))
    monkeypatch.setattr(guard, "SECONDS", 0.5)
    assert "returned None" in told(lambda q, k: time.sleep(0.6))  # waits, as on a busy machine


def test_in_another_thread_it_works_without_a_time_limit(capsys):
    thread = threading.Thread(target=check, args=(compare, "99.try"))
    thread.start()
    thread.join()
    assert "✓ 99.try" in capsys.readouterr().out


def test_no_random_state_is_left_behind():
    def states():
        numpys = np.random.get_state()  # noqa: NPY002
        return str((torch.get_rng_state().tolist(), random.getstate(), numpys))

    def seeding(query, key):
        torch.manual_seed(7), random.seed(7), np.random.seed(7)  # noqa: NPY002
        return compare(query, key)

    before = states()
    assert told(seeding).startswith("✓")
    assert "raised" in told(lambda q, k: seeding(q, k) / None)
    assert states() == before


# --- ids and calls ---------------------------------------------------------------------------


def test_an_unknown_id_names_its_neighbours_and_a_call_in_place_of_a_function_is_explained():
    with pytest.raises(KeyError, match=r"no exercise '03.score'; did you mean 03.scores"):
        check(compare, "03.score")
    with pytest.raises(TypeError, match=r"check needs the function itself, got float: check\(comp"):
        check(0.5, "99.try")


def test_readers_see_code_without_annotations_and_else_as_it_was():
    code = (
        "def mix(\n    é: Tensor, n: int = 3, *more: 'Tensor', **rest: dict[str, int]\n"
        ") -> tuple[Tensor, 'ö']:\n    ü = é[1:2]; found: list[str] = []  # → list\n"
        "    return {n: lambda x: x}, found\n"
    )
    assert without_annotations(code) == (
        "def mix(\n    é, n = 3, *more, **rest\n"
        "):\n    ü = é[1:2]; found = []  # → list\n"
        "    return {n: lambda x: x}, found\n"
    )


# --- hints, solution, progress ---------------------------------------------------------------


def printed(capsys, command, *arguments) -> str:
    command(*arguments)
    return capsys.readouterr().out


def test_hints_come_one_by_one(capsys):
    texts = [printed(capsys, hint, "99.try") for _ in range(4)]
    assert "hint 1 of 3\n  first\n  2 more" in texts[0]
    assert "second" in texts[1]
    assert "third\n  That was the last" in texts[2]
    assert texts[3] == "· 99.try all hints\n  first\n  second\n  third\n"


def test_the_solution_waits_for_a_try(capsys):
    answer = "· 99.try one right answer\n  def compare(query, key):\n      return (query @ "
    assert "Try it first" in printed(capsys, solution, "99.try")
    assert printed(capsys, solution, "99.try", True).startswith(answer)
    check(lambda q, k: q, "99.try")
    capsys.readouterr()
    assert printed(capsys, solution, "99.try").startswith(answer)


def stub(query, key):
    raise NotImplementedError


def stub_without_its_comment(query, key):
    # fill in
    raise NotImplementedError


def answer_below_the_raise(query, key):
    raise NotImplementedError
    return query @ key.mT


STILL_RAISES = ": its line `raise NotImplementedError` still stops it; delete that line."


@pytest.mark.parametrize(
    ("function", "why"),
    [(stub, ""), (stub_without_its_comment, ""), (answer_below_the_raise, STILL_RAISES)],
)
def test_an_untouched_stub_is_no_try(function, why, capsys):
    assert printed(capsys, check, function, "99.try") == f"○ 99.try not attempted{why}\n"
    assert log.read() == ({}, "")


def test_progress_counts_tries_and_passes(capsys):
    name = next(iter(ALL))
    check(lambda *given: None, name)
    capsys.readouterr()
    assert f"◐ {name}" in printed(capsys, progress)
    check(ALL[name].reference, name)
    capsys.readouterr()
    text = printed(capsys, progress)
    assert f"● {name}" in text
    assert "1 of" in text


def test_a_damaged_log_keeps_the_rest_and_is_left_as_found(capsys):
    log.path().write_text('{"exercise": "99.try", "event": "pass"}\n')  # as it used to be written
    log.record("99.try", "pass")
    with log.path().open("ab") as file:
        file.write(b'\n{"exercise": "99.\xff\xfe half a li')
    before = log.path().read_bytes()
    log.record("99.text", "pass")
    counts, trouble = log.read()
    assert (counts["99.try"]["pass"], counts["99.text"]["pass"]) == (2, 1)
    assert trouble.startswith("1 line is damaged in ")
    assert log.path().read_bytes().startswith(before)
    assert "1 line is damaged" in printed(capsys, progress)


def test_a_log_that_cannot_be_written_is_told_in_one_line(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path / "file"))
    text = printed(capsys, check, compare, "99.try")
    assert text.startswith("✓ 99.try")
    assert "Your progress was not kept: " in text.splitlines()[-1]
    assert "first" in printed(capsys, hint, "99.try")


def test_writers_at_the_same_time_lose_nothing():
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(log.record, ["99.try"] * 400, ["try"] * 400)) == {""}
    assert log.read() == ({"99.try": {"try": 400}}, "")


# --- in a notebook, in a terminal ------------------------------------------------------------


def test_a_notebook_gets_a_card_of_html_that_shows_code_as_text(capsys, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    check(lambda q, k: q < k, "99.try")
    check(stub, "99.try")
    (card,) = shown
    assert capsys.readouterr().out == "○ 99.try not attempted\n"
    assert 'role="status"' in card._repr_html_()
    assert "q &lt; k" in card._repr_html_()
    assert "<br>" in Feedback("failed", "x", "one\ntwo")._repr_html_()
    assert "<code>a &lt; b</code>" in Feedback("info", "x", "see `a < b`")._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("list", "03.scores"),
        ("next", "raise NotImplementedError"),
        ("progress", "0 of"),
        ("hint 03.scores", "hint 1 of 3"),
        ("card 03.scores", "Exercise 03.scores"),
    ],
)
def test_in_a_terminal(arguments, says, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["attnbook", *arguments.split()])
    assert says in printed(capsys, main)
