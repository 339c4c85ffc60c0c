"""What the checker says of every kind of wrong answer, and what it keeps of the reader's."""

import multiprocessing
import re
import sys
import threading

import numpy as np
import pytest
import torch
from torch import nn

from attnbook.__main__ import main
from attnbook.exercises import check, guard, hint, log, progress, solution
from attnbook.exercises.catalogue import ALL
from attnbook.exercises.diagnose import first_difference, written_out
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, same
from attnbook.exercises.feedback import Feedback
from attnbook.exercises.source import without_annotations

ASKED = "attnbook.exercises.catalogue.ALL"


def reference(query, key):
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
    reference=reference,
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
PAIR = Exercise(
    **{
        **vars(TRY),
        "id": "99.pair",
        "reference": lambda query, key: (reference(query, key), query),
        "axes": "B Lq Lk; B Lq Dk",
        "mistakes": (),
    }
)
TEXTS = Exercise(
    **{
        **vars(TRY),
        "id": "99.text",
        "reference": lambda query, key: "B",
        "properties": (),
        "code": False,
    }
)


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path))
    for exercise in (TRY, PAIR, TEXTS):
        monkeypatch.setitem(ALL, exercise.id, exercise)


def told(capsys, function, exercise="99.try") -> str:
    check(function, exercise)
    return capsys.readouterr().out


def test_a_right_answer_passes(capsys):
    text = told(capsys, reference)
    assert text.startswith("✓ 99.try A try")
    assert "Well compared." in text
    assert log.read()[0]["99.try"]["pass"] == 1


def test_lambdas_methods_modules_and_objects_can_be_checked(capsys):
    class Model(nn.Module):
        def forward(self, query, key):
            return reference(query, key)

        def method(self, query, key):
            return reference(query, key)

    for function in (lambda q, k: (q @ k.mT).exp(), Model(), Model().method):
        assert told(capsys, function).startswith("✓")


def test_an_exception_is_shown_in_the_readers_own_line_with_its_shapes(capsys):
    def compare(query, key):
        product = query @ key
        return product.exp()

    text = told(capsys, compare)
    assert re.search("Your function raised RuntimeError: .*mat1 and mat2", text)
    assert "in your line   product = query @ key" in text
    assert "where          query (2, 4), key (3, 4)" in text


def test_an_exception_deep_in_a_library_still_shows_the_readers_line(capsys):
    def compare(query, key):
        return torch.nn.functional.linear(query, key.mT)

    assert "in your line   return torch.nn.functional.linear(query, key.mT)" in told(
        capsys, compare
    )


def test_exceptions_in_modules_and_objects_show_their_line(capsys):
    class Model(nn.Module):
        def forward(self, query, key):
            return query + key

    class Thing:
        def __call__(self, query, key):
            return query * key

    assert "in your line   return query + key" in told(capsys, Model())
    assert "in your line   return query * key" in told(capsys, Thing())


def test_a_wrong_number_of_arguments_is_told(capsys):
    assert "takes 1 positional argument" in told(capsys, lambda query: query)


def test_a_wrong_shape_is_told_by_axis_and_with_its_misunderstanding(capsys):
    text = told(capsys, lambda query, key: (key @ query.mT).exp())
    assert "(2, 3) is asked for (Lq=2, Lk=3). Axis Lq is 3, the size of\n  Lk." in text
    assert "The keys ask." in text


def test_a_wrong_number_of_axes_is_told(capsys):
    text = told(capsys, lambda query, key: reference(query, key).sum(-1))
    assert "Your answer has shape (2,); (2, 3) is asked for (Lq=2, Lk=3)." in text


def test_a_misunderstanding_is_named_before_a_property(capsys):
    text = told(capsys, lambda query, key: query @ key.mT)
    assert "You forgot exp." in text
    assert "positive" not in text


def test_a_broken_property_is_named(capsys):
    text = told(capsys, lambda query, key: -reference(query, key))
    assert "Answers are positive." in text
    assert "yours    -" in text


def test_at_last_the_smallest_case_shows_both(capsys):
    text = told(capsys, lambda query, key: reference(query, key) + 1)
    assert "The smallest case that shows it:" in text
    assert "case     small" in text
    assert "wanted" in text


def test_of_a_batch_the_first_matrix_that_differs_is_shown():
    wanted = torch.arange(24.0).view(2, 3, 2, 2)
    got = wanted.clone()
    got[1, 1] += 0.5
    assert first_difference(got, wanted) == 4
    assert written_out(got, 4) == (
        "shape (2, 3, 2, 2), its matrix 4\n         16.5000 17.5000\n         18.5000 19.5000"
    )
    assert first_difference(got[:0], wanted[:0]) == 0
    assert written_out(got[:0]).startswith("shape (0, 3, 2, 2)")


def test_a_changed_argument_is_caught(capsys):
    def compare(query, key):
        query *= 1.5
        return reference(query / 1.5, key)

    assert "changed what it was given (argument 1)" in told(capsys, compare)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda q, k: reference(q, k).numpy(), "returned NumPy"),
        (lambda q, k: np.float64(1), "Your function returned NumPy"),
        (lambda q, k: reference(q, k).tolist(), "returned a list"),
        (lambda q, k: None, "returned None"),
        (lambda q, k: reference(q, k).float(), "torch.float32, and torch.float64 is asked for"),
        (lambda q, k: reference(q, k).to("meta"), "on meta, the arguments are on c"),
        (lambda q, k: reference(q, k).detach(), "no gradient flows back"),
        (lambda q, k: torch.tensor(reference(q, k).tolist()).to(q), "no gradient flows"),
    ],
)
def test_the_wrong_kind_of_answer_is_named(answer, says, capsys):
    assert says in told(capsys, answer)


def test_several_answers_are_counted_and_told_apart(capsys):
    assert told(capsys, PAIR.reference, "99.pair").startswith("✓")
    assert "2 things are asked for, and one Tensor" in told(capsys, reference, "99.pair")
    assert "2 things are asked for, and 3" in told(capsys, lambda q, k: (q, k, q), "99.pair")
    text = told(capsys, lambda q, k: (reference(q, k), k), "99.pair")
    assert "(2, 4) is asked for (Lq=2, Dk=4). Axis Lq is 3, the size of\n  Lk." in text


def test_printing_inside_is_shown_only_where_it_helps(capsys):
    def compare(query, key, right=True):
        print("hello from inside")
        return reference(query, key) if right else reference(query, key) + 1

    assert "hello" not in told(capsys, compare)
    assert "It printed: hello from inside" in told(capsys, lambda q, k: compare(q, k, False))


def test_recursion_and_exit_are_caught(capsys):
    def endless(query, key):
        return endless(query, key)

    assert "calls itself without an end" in told(capsys, endless)
    assert "raised SystemExit" in told(capsys, lambda q, k: sys.exit(1))


@pytest.mark.skipif(not hasattr(guard.signal, "setitimer"), reason="no alarms on this platform")
def test_an_endless_loop_is_stopped_even_behind_a_bare_except(capsys, monkeypatch):
    def stubborn(query, key):
        while True:
            try:
                while True:
                    pass
            except Exception:
                pass

    monkeypatch.setattr(guard, "SECONDS", 0.2)
    assert "still running after" in told(capsys, stubborn)


def test_in_another_thread_it_works_without_a_time_limit(capsys):
    thread = threading.Thread(target=check, args=(reference, "99.try"))
    thread.start()
    thread.join()
    assert "✓ 99.try" in capsys.readouterr().out


def test_random_numbers_and_redefinitions_leave_no_state(capsys):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)

    def compare(query, key):
        torch.manual_seed(7)
        return query @ key.mT

    assert "You forgot exp." in told(capsys, compare)

    def compare(query, key):
        return reference(query, key)

    assert told(capsys, compare).startswith("✓")
    assert torch.rand(1) == expected


def test_a_wrong_choice_is_shown_without_the_right_one(capsys):
    assert told(capsys, lambda q, k: " b ", "99.text").startswith("✓")
    text = told(capsys, lambda q, k: "C", "99.text")
    assert "yours    'C'" in text
    assert "'B'" not in text


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
        (np.ones(3), "B", False),
        ({"a"}, {"a"}, True),
    ],
)
def test_what_counts_as_the_same(got, wanted, right):
    assert same(got, wanted) is right


# --- ids and calls ---------------------------------------------------------------------------


def test_an_unknown_id_names_its_neighbours():
    with pytest.raises(KeyError, match=r"no exercise '03.score'; did you mean 03.scores"):
        check(reference, "03.score")


def test_a_called_function_is_explained():
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


def test_hints_come_one_by_one(capsys):
    texts = []
    for _ in range(4):
        hint("99.try")
        texts.append(capsys.readouterr().out)
    assert "hint 1 of 3\n  first\n  2 more" in texts[0]
    assert "second" in texts[1]
    assert "third" in texts[2]
    assert "That was the last" in texts[2]
    assert all(word in texts[3] for word in TRY.hints)


def test_the_solution_waits_for_a_try(capsys):
    solution("99.try")
    assert "Try it first" in capsys.readouterr().out
    solution("99.try", insist=True)
    assert "return (query @ key.mT).exp()" in capsys.readouterr().out
    check(lambda q, k: q, "99.try")
    capsys.readouterr()
    solution("99.try")
    assert "return (query @ key.mT).exp()" in capsys.readouterr().out


def test_an_untouched_stub_is_no_try(capsys):
    def stub(query, key):
        raise NotImplementedError

    assert told(capsys, stub) == "○ 99.try not attempted\n"
    assert log.read() == ({}, "")


def test_an_answer_below_the_stubs_raise_is_no_try_and_is_told_why(capsys):
    def compare(query, key):
        raise NotImplementedError
        return query @ key.mT

    text = told(capsys, compare)
    assert text == (
        "○ 99.try not attempted: its line `raise NotImplementedError` still stops it; "
        "delete that line.\n"
    )
    assert log.read() == ({}, "")


def test_a_stub_without_its_comment_is_untouched(capsys):
    def compare(query, key):
        # fill in
        raise NotImplementedError

    assert told(capsys, compare) == "○ 99.try not attempted\n"


def test_what_pytorch_has_not_implemented_is_a_try(capsys):
    """The mean of whole numbers, say, which some versions of PyTorch refuse with that error."""

    def compare(query, key):
        raise NotImplementedError("mean(): not for whole numbers")

    text = told(capsys, compare)
    assert "Your function raised NotImplementedError: mean(): not for whole numbers" in text


def test_progress_counts(capsys):
    name = next(iter(ALL))
    log.record(name, "try")
    progress()
    assert f"◐ {name}" in capsys.readouterr().out
    log.record(name, "pass")
    progress()
    text = capsys.readouterr().out
    assert f"● {name}" in text
    assert "1 of" in text


def test_a_damaged_log_keeps_the_rest_and_is_left_as_found(capsys):
    log.record("99.try", "pass")
    with log.path().open("ab") as file:
        file.write(b'{"exercise": "99.\xff\xfe half a li')
    before = log.path().read_bytes()
    log.record("99.pair", "pass")
    counts, trouble = log.read()
    assert counts["99.try"]["pass"] == counts["99.pair"]["pass"] == 1
    assert trouble.startswith("1 line is damaged in ")
    assert log.path().read_bytes().startswith(before)
    progress()
    assert "1 line is damaged" in capsys.readouterr().out


def test_a_log_that_cannot_be_written_is_told_in_one_line(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path / "file"))
    text = told(capsys, reference)
    assert text.startswith("✓ 99.try")
    assert "Your progress was not kept: " in text.splitlines()[-1]
    hint("99.try")
    assert "first" in capsys.readouterr().out


def write_many(_):
    for _ in range(50):
        log.record("99.try", "try")


def test_writers_at_the_same_time_lose_nothing():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(write_many, range(2), chunksize=1)
    counts, trouble = log.read()
    assert trouble == ""
    assert counts["99.try"]["try"] == 100


def test_an_event_must_be_known():
    with pytest.raises(
        ValueError, match="event 'won': it must be one of try, pass, hint, solution"
    ):
        log.record("99.try", "won")


# --- in a notebook, in a terminal ------------------------------------------------------------


def test_in_a_notebook_the_card_is_html_that_shows_code_as_text(capsys, monkeypatch):
    shown = []
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr("IPython.display.display", shown.append)
    check(lambda q, k: q < k, "99.try")
    (card,) = shown
    page = card._repr_html_()
    assert 'role="status"' in page
    assert "q &lt; k" in page
    assert "<br>" in Feedback("failed", "x", "one\ntwo")._repr_html_()
    assert "<code>a &lt; b</code>" in Feedback("failed", "x", "see `a < b`")._repr_html_()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["list"], "03.scores"),
        (["next"], "raise NotImplementedError"),
        (["progress"], "0 of"),
        (["hint", "03.scores"], "hint 1 of 3"),
        (["card", "03.scores"], "Exercise 03.scores"),
    ],
)
def test_in_a_terminal(arguments, says, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["attnbook", *arguments])
    main()
    assert says in capsys.readouterr().out
