"""The checker's messages for every kind of wrong answer, and protection from readers' code."""

import contextlib
import math
import os
import random
import re
import signal
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from attnbook.exercises import check, hint, log, solution
from attnbook.exercises.cards.as_html import card_as_html
from attnbook.exercises.cards.as_text import card_as_text
from attnbook.exercises.cards.feedback import Feedback
from attnbook.exercises.catalog import ALL, find
from attnbook.exercises.chapters.common_mistakes import OUTPUT_MISTAKES, SCORE_MISTAKES
from attnbook.exercises.chapters.mistake_sets import Head, MistakeSet
from attnbook.exercises.checker import guard, trial
from attnbook.exercises.checker.answers import matches, type_error
from attnbook.exercises.checker.choice import form_error
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.checker.excerpts import shorten
from attnbook.exercises.checker.relation import Relation, relation, relation_in_all
from attnbook.exercises.checker.side_by_side import side_by_side
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    named_sizes,
)
from attnbook.exercises.source import without_annotations


def compare(query, key):
    return (query @ key.mT).exp()


def cases(generator):
    return [
        Case((draw(generator, 2, 5), draw(generator, 3, 5)), {"Lq": 2, "Lk": 3, "Dk": 5}, "small"),
        Case((draw(generator, 5, 3), draw(generator, 7, 3)), {"Lq": 5, "Lk": 7, "Dk": 3}, "large"),
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
        Mistake(lambda query, key: (key @ query.mT).exp(), "The keys ask."),
        Mistake(lambda query, key: query @ key.mT, "You forgot exp."),
    ),
    hints=("first", "second", "third"),
    insight="Well compared.",
    properties=(Property("Answers are positive.", lambda answer, case: bool((answer > 0).all())),),
)
ANSWERS = {"a": "B", "b": "2", "c": "neither"}
CHOICE = replace(
    TRY,
    id="99.choice",
    reference=lambda question: ANSWERS[question],
    cases=lambda generator: [Case((q,), note=f"question {q}") for q in "abc"],
    choices={("a", "A"): "A is not B."},
    properties=(),
)


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path))
    for exercise in (TRY, CHOICE):
        monkeypatch.setitem(ALL, exercise.id, exercise)


def card_of(function, exercise=TRY) -> str:
    """Return the card as text, each paragraph on one line."""
    text = card_as_text(diagnose(exercise, function)).replace("\n  ", " ")
    assert not re.search(r"\w\.\.(?!\.)", text), "two periods in a row"
    return text


# --- messages --------------------------------------------------------------------------------


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
    assert card_of(right) == "✓ 99.try A try Well compared. 4 cases passed."


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (no_transpose, "product = query @ key where          query (2, 5), key (3, 5)"),
        (in_a_helper, "product = query @ key where"),
        (Adds(), "return query + key where"),
        (Multiplies(), "return query * key where"),
        (lambda q, k: nn.functional.linear(q, k.mT), "nn.functional.linear(q, k.mT), "),
    ],
)
def test_an_exception_is_shown_in_the_readers_own_line_with_its_shapes(wrong, line):
    assert "Your function raised RuntimeError: " in card_of(wrong)
    assert "in your line   " in card_of(wrong)
    assert line in card_of(wrong)


def test_another_dtype_fails_only_where_the_card_names_it_or_a_property_needs_it():
    rounded = lambda q, k: compare(q, k).float()  # noqa: E731
    told = "The numbers are right, but they are torch.float32 where torch.float64 is expected, so "
    passed = card_of(rounded)
    assert passed.startswith(f"✓ 99.try A try {told}")
    assert "The card names no dtype, so this passes. Well compared." in passed
    exact = Property("Be exact.", lambda answer, case: answer.equal(compare(*case.arguments)))
    for exercise in (
        replace(TRY, asks_for_dtype=True),
        replace(TRY, properties=(exact,)),
    ):
        assert card_of(rounded, exercise).startswith(f"✗ 99.try A try {told}")


def write_to_query(query, key):
    query *= 1.5
    return compare(query / 1.5, key)


def endless(query, key):
    return endless(query, key)


def unsupported(query, key):
    """Fail as some versions of PyTorch do: this counts as an attempt, not as the stub."""
    raise NotImplementedError("mean(): not for whole numbers")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda q: q, "takes 1 positional argument but 2 were given The card asks for `compare("),
        (endless, "calls itself endlessly"),
        (unsupported, "raised NotImplementedError: mean(): not for whole numbers"),
        (lambda q, k: sys.exit(1), "raised SystemExit"),
        (write_to_query, "changed what it was given (`query`)"),
        (lambda q, k: compare(q, k).cpu().numpy(), "returned a NumPy object"),
        (lambda q, k: np.float64(1), "Your function returned a NumPy object"),
        (lambda q, k: compare(q, k).tolist(), "returned a list"),
        (lambda q, k: None, "returned None"),
        (lambda q, k: compare(q, k).float() + 1, "A try The answer is not right yet."),
        (lambda q, k: compare(q, k).to_sparse(), "of an unusual kind"),
        (lambda q, k: compare(q, k).to("meta"), "on meta, but the arguments are on c"),
        (lambda q, k: compare(q, k).float().sum(-1), "(2,); it should have (2, 3) (Lq=2, Lk=3)."),
        (lambda q, k: (k @ q.mT).exp(), "rows and columns are swapped. The keys ask."),
        (lambda q, k: compare(q, k) @ torch.ones(3 + 4 * (len(q) > 2), 9).to(q), "Axis Lk is 9"),
        (lambda q, k: q @ k.mT, "A try You forgot exp. case     small yours "),
        (lambda q, k: -compare(q, k), "Answers are positive. case     small yours    −"),
        (lambda q, k: compare(q, k) + 1, "not right yet. case     small"),
        (lambda q, k: compare(q, k) * 3, 'is 3 times the right one (Lk in this case). hint("'),
        (lambda q, k: compare(q, k) * len(q), "(Lq in this case). In other cases the factor is"),
        (lambda q, k: compare(q, k) * (1 + (len(q) == 5)), "Right in 2 of 4 cases."),
        (lambda q, k: compare(q, k) * torch.ones(3 + 4 * (len(q) > 2)).cumsum(0), "column 0 is"),
        (lambda q, k: q < k, "where          q (2, 5), k (3, 5) case           small"),
    ],
)
def test_the_first_thing_that_is_wrong_is_named(wrong, message):
    assert card_of(wrong).startswith("✗ 99.try")
    assert message in card_of(wrong)


def test_a_mistake_is_named_whether_it_fits_every_case_or_only_this_one():
    def same_if_small(query, key):
        return query @ key.mT + (0 if len(query) == 2 else 1)

    assert "A try You forgot exp." in card_of(lambda q, k: q @ k.mT)
    loose = replace(TRY, properties=())
    assert "In this case, but not in all, the problem looks like this: You forgot exp." in card_of(
        same_if_small, loose
    )
    two = replace(TRY, mistakes=(Mistake(same_if_small, "Other."), *TRY.mistakes))
    assert "A try You forgot exp." in card_of(lambda q, k: q @ k.mT, two)
    assert "A try Other." in card_of(same_if_small, two)
    half = card_of(lambda q, k: same_if_small(q, k) * (1 if len(q) == 2 else 2), two)
    assert "positive" in half  # in this case, two mistakes fit the answer


def test_a_mistake_set_has_each_wrong_line_and_each_pair_from_different_lines():
    widths = {"Dv": lambda q, k, v: v.size(-1)}
    mistakes = MistakeSet(lambda head: head, SCORE_MISTAKES, OUTPUT_MISTAKES, widths=widths)
    singles = list(mistakes.singles())
    n_scores, n_outputs = len(SCORE_MISTAKES) + 1, len(OUTPUT_MISTAKES)
    assert len(singles) == n_scores + n_outputs
    assert len(list(mistakes)) == len(singles) + n_scores * n_outputs
    query, key, value = (torch.randn(2, *sizes) for sizes in ((3, 5), (7, 5), (7, 9)))
    right = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(Head()(query, key, value), right)
    for mistake in singles:
        with contextlib.suppress(RuntimeError):
            assert not matches(mistake.wrong(query, key, value), right), mistake.message
    dv = (query @ key.mT / 3).softmax(-1) @ value
    assert matches(singles[-1].wrong(query, key, value), dv)
    assert "√Dv" in singles[-1].message


def test_choices_are_questions_with_answers_or_functions_of_the_sizes():
    answers = {"a": "Life", "b": "is"}
    (mistake,) = choices(lambda question: answers[question], {("a", "eat"): "Not to eat."})
    assert [mistake.wrong(question) for question in "ab"] == ["eat", "is"]
    wrong = {("q", lambda L, H, D: (L, H * D)): "Not so wide."}
    (mistake,) = choices(lambda what, L, H, D: (H, L), wrong)
    assert mistake.wrong("q", 2, 3, 5) == (2, 15)
    assert mistake.wrong("k", 2, 3, 5) == (3, 2)
    assert mistake.message == "Not so wide."


def test_one_message_may_serve_several_questions_of_a_choice():
    answers = {"a": "Life", "b": "is", "c": "eat"}
    (mistake,) = choices(lambda question: answers[question], {(("a", "b"), "eat"): "Not to eat."})
    assert [mistake.wrong(question) for question in "abc"] == ["eat", "eat", "eat"]
    (mistake,) = choices(lambda question: answers[question], {(("a", "c"), "is"): "It is not."})
    assert [mistake.wrong(question) for question in "abc"] == ["is", "is", "is"]
    assert mistake.message == "It is not."


def test_a_stub_follows_from_the_signature_and_choices_are_not_code():
    plain = replace(TRY, stub="")
    assert plain.stub == "def compare(query, key):\n    raise NotImplementedError"
    assert replace(TRY, stub="def compare(): ...").stub == "def compare(): ..."
    assert plain.code
    assert not CHOICE.code


def test_sizes_are_named_by_the_last_axes():
    assert named_sizes("B H Lq Lk", (3, 5)) == {"Lq": 3, "Lk": 5}
    assert named_sizes("Lq Lk", ()) == {}
    with pytest.raises(ValueError):
        named_sizes("Lk", (3, 5))


def test_all_questions_of_a_choice_are_checked_at_once_and_form_before_content():
    assert card_of(lambda q: {"a": " b.", "b": 2, "c": "Neither"}[q], CHOICE).startswith("✓")
    text = card_of(lambda q: {"a": "A", "b": None, "c": "none"}[q], CHOICE)
    assert "0 of 3 are right." in text
    assert "question a: A is not B." in text
    assert "question b: not answered yet." in text
    assert 'question c: it has to be one of "2", "A", "B", "neither". You have \'none\'.' in text
    text = card_of(lambda q: {"a": "neither", "b": "2", "c": "neither"}[q], CHOICE)
    assert "2 of 3 are right. question a: 'neither' is not right." in text
    assert "raised KeyError" in card_of(lambda q: {"a": "A"}[q], CHOICE)


@pytest.mark.parametrize(
    ("got", "allowed", "message"),
    [
        ("2", [2, 0.5], "it has to be a number."),
        (np.float32(2), [2, 0.5], ""),
        (torch.tensor(2.0), [2, 0.5], ""),
        (True, [2, 0.5], "it has to be a number."),
        (np.bool_(True), [True, False], ""),
        ({6, 7}, [(6, 7), (7, 6)], "it has to be a tuple of length 2, each item a whole number."),
        (torch.tensor([6, 7]), [(6, 7)], ""),
        ((6, 7, 8), [(6, 7), (6, 7, 8, 9)], "it has to be a tuple of length 2 or 4, each"),
        ("a b", [("a", "b")], 'it has to be a tuple of length 2, each item one of "a", "b".'),
        (["A", "b"], [("a", "b")], ""),
        (1, ["0", "1"], ""),
        (1.0, ["0", "1"], ""),
        (0.5, ["0", "1"], 'it has to be one of "0", "1".'),
        (["A", 1.0], [("a", "1")], ""),
    ],
)
def test_the_form_of_an_answer_is_derived_from_the_allowed_answers(got, allowed, message):
    assert form_error(got, allowed).startswith(message)
    assert bool(form_error(got, allowed)) == bool(message)


def test_output_and_warnings_of_an_answer_are_in_the_card(capsys):
    def loud(query, key):
        print("hello from inside")
        warnings.warn("take care", stacklevel=1)
        return compare(query, key)

    for function, column in (
        (loud, 9),
        (lambda q, k: loud(q, k) + 1, 9),
        (lambda q, k: loud(q, k) / None, 15),  # aligned with the text after "in your line"
    ):
        printed = f"{'printed':{column}}hello from inside"
        warning = f"{'':{column + 1}}UserWarning: take care"
        assert f"{printed}{warning}" in card_of(function)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("line", "shortened"),
    [("a " * 50, "a " * 50), ("a " * 51, "a " * 49 + "a …"), ("a" * 101, "a" * 100 + " …")],
)
def test_a_long_line_is_cut_between_words(line, shortened):
    assert shorten(line) == shortened


def test_the_first_part_that_differs_is_shown_in_columns_with_marks_and_enough_digits():
    wanted = torch.arange(240.0).view(2, 3, 5, 8)
    got = wanted.clone()
    got[1, 1, 4, 7] += 0.00001 * 200
    assert side_by_side(got, wanted).splitlines() == [
        "         shape (2, 3, 5, 8), its matrix 4, rows 1 to 4, columns 2 to 7",
        "yours    170.0000  171.0000  172.0000  173.0000  174.0000  175.0000",
        "         178.0000  179.0000  180.0000  181.0000  182.0000  183.0000",
        "         186.0000  187.0000  188.0000  189.0000  190.0000  191.0000",
        "         194.0000  195.0000  196.0000  197.0000  198.0000  199.0020*",
        "wanted   170.0000  171.0000  172.0000  173.0000  174.0000  175.0000",
        "         178.0000  179.0000  180.0000  181.0000  182.0000  183.0000",
        "         186.0000  187.0000  188.0000  189.0000  190.0000  191.0000",
        "         194.0000  195.0000  196.0000  197.0000  198.0000  199.0000*",
    ]
    text = side_by_side(torch.tensor([1.0, -2.0]), torch.tensor([1.0, -2.000001]))
    assert text == "yours     1.000000  −2.000000*\nwanted    1.000000  −2.000001*"
    text = side_by_side(torch.tensor([True, False]), torch.tensor([True, True]))
    assert text == "yours     True  False*\nwanted    True   True*"
    assert side_by_side(wanted[:0], wanted[:0]) == "yours    empty, of shape (0, 3, 5, 8)"
    assert side_by_side("x" * 1000, "y", show_wanted=False) == f"yours    '{'x' * 299} …"


ROWS = torch.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 33.0], [64.0, 5.0, 7.0]])


@pytest.mark.parametrize(
    ("got", "message"),
    [
        (3 * ROWS, "Every number is 3 times the right one (√Dk in this case)."),
        (-ROWS, "Every number has the opposite sign."),
        (ROWS + 2, "Every number is the right one plus 2."),
        (ROWS.log(), "`exp` is missing: applied to your numbers, it gives the right ones."),
        (ROWS.mT, "Rows and columns are swapped: transposed, your answer would be right."),
        (ROWS.flip(0), "The rows are in reverse order."),
        (ROWS.flip(1), "The columns are in reverse order."),
        (torch.cat((ROWS[:2], ROWS[:1])), "Of 3 rows, rows 0, 1 are right."),
        (ROWS + torch.tensor([0, 0, 1]), "Of 3 columns, columns 0, 1 are right."),
        (ROWS.roll(4).view(3, 3), "The numbers are right, but in the wrong places."),
        (ROWS.masked_fill(ROWS > 40, torch.nan), "1 of your 9 numbers are nan. The rest is right."),
        (ROWS + 0.0004, "Every number is the right one plus 0.0004"),
        (ROWS * (1 + ROWS / 1e5), "Nearly right: no number is off by more than 0.04."),
        (ROWS > 4, "8 of 9 numbers differ."),
        (torch.stack((9 * ROWS, ROWS)), "Each matrix is right, but they are in a different order."),
    ],
)
def test_the_relation_of_an_answer_to_the_right_one_has_a_message(got, message):
    wanted = ROWS if got.dtype == torch.float else ROWS <= 5
    wanted = torch.stack((ROWS, 9 * ROWS)) if got.dim() == 3 else wanted
    assert relation(got, wanted, {"Lq": 4, "Dk": 9}).message.startswith(message)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(16, 2), (24, 3), (40, 5)], "In all cases, every number is 8 times the right one."),
        ([([4, 5], [3, 4]), ([3], [2])], "In all cases, every number is the right one plus 1."),
        ([(torch.tensor([0, 1]), torch.tensor([1, 2])), (4, 5)], "is the right one minus 1."),
        ([(16, 2), (24, 3), (41, 5)], None),
        ([(16, 2), (16, 2), (24, 3)], None),  # two different numbers are too few
        ([(0, 2), (0, 3), (0, 5)], None),
        ([([1], [1, 2]), (3, 3)], None),
        ([("a", "b")], None),
    ],
)
def test_a_relation_that_is_the_same_in_all_cases_has_a_message(pairs, message):
    found = relation_in_all(pairs)
    assert found is None if message is None else found.message.endswith(message)


def test_a_relation_has_a_kind_and_numbers_or_is_none():
    values = {"factor": 3.0, "meaning": " (√Dk in this case)"}
    assert relation(3 * ROWS, ROWS, {"Dk": 9}) == Relation("factor", values)
    assert relation(ROWS + 2, ROWS, {}) == Relation("offset", {"offset": 2.0})
    assert relation(3 * ROWS, ROWS, {"offset": 0}) == Relation("factor", values | {"meaning": ""})
    assert relation(ROWS, ROWS[:2], {}) is None
    assert relation([3, 1, 2], [1, 2, 3], {}) == Relation("reordered")
    assert relation([3, 1, 1], [1, 2, 3], {}) is None
    assert relation("B", "A", {}) is None


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
        (torch.ones(2).int(), torch.ones(2).long(), True),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), False),
        (torch.tensor([torch.nan]), torch.tensor([torch.nan]), True),
        (torch.ones(2) + 1e-4, torch.ones(2), False),
        (np.ones(3), "B", False),
        ({"a"}, {"a"}, True),
        (np.int64(144), 144, True),
        (np.float32(2.0), 2, True),
        (Fraction(2, 5), 0.4, True),
        (torch.tensor(0.4), 0.4, True),
        (1e-12, 0, False),
        (1e-12, 0.0, False),
        ({"a": [0, math.nan]}, {"a": [0, math.nan]}, True),
        ({"a": [0]}, {"a": [1]}, False),
        ([["a"], ["b"]], [["a"], ["c"]], False),
        ("Life.", "life", True),
        (1, "1", True),
        (True, "True", False),
        (torch.ones(2).to_sparse(), torch.ones(2), False),
    ],
)
def test_answers_that_count_as_right(got, wanted, right):
    assert matches(got, wanted) is right


@pytest.mark.parametrize(
    ("got", "wanted", "message"),
    [
        (144.0, 144, ""),
        ("144", 144, "returned a str. It should return a whole number."),
        (np.int64(144), 144, ""),
        (torch.tensor(144), 144, ""),
        ((1, 2), [1, 2], ""),
        (torch.tensor([1, 2]), [1, 2], ""),
        (3, [1, 2], "returned an int. It should return a list."),
        ([[1], [2]], [1, 2], "Item 0 of your answer is a list; it should be a number."),
        (["a", None], ["a", "b"], "Item 1 of your answer is a NoneType; it should be text."),
        ([[1.0]], (torch.ones(1),), "Item 0 of your answer is a list; it should be a tensor."),
        (torch.ones(1, 1), [torch.ones(1)], "returned a Tensor. It should return a list."),
        (torch.ones(2).int(), torch.ones(2).long(), ""),
        (
            torch.ones(2),
            torch.ones(2).long(),
            "holds numbers (torch.float32); it should hold whole numbers",
        ),
    ],
)
def test_messages_for_answers_of_the_wrong_kind(got, wanted, message):
    assert message in type_error(got, wanted)
    assert bool(type_error(got, wanted)) == bool(message)


class Cut(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * torch.nan


def with_numpy(query, key):
    return torch.from_numpy(np.exp((query @ key.mT).cpu().numpy())).to(query.device)


def undone(query, key):
    query *= 2
    query /= 2
    return compare(query, key)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda q, k: compare(q, k).detach(), "but no gradient flows back"),
        (lambda q, k: torch.tensor(compare(q, k).tolist()).to(q), "no gradient flows back"),
        (lambda q, k: compare(q.detach(), k), "but no gradient reaches `query`"),
        (lambda q, k: compare(q, k.detach()), "but no gradient reaches `key`"),
        (lambda q, k: compare(0.5 * (q + q.detach()), k), "but the gradient of `query` is wrong"),
        (with_numpy, "NumPy computes no gradients, and raises an error if they are needed"),
    ],
)
def test_lost_gradients_are_reported_and_fail_only_if_the_card_mentions_them(wrong, message):
    passes = "The card does not ask for gradients, so this passes."
    card = card_of(wrong)
    assert card.startswith("✓ 99.try A try The numbers are right, ")
    assert message in card
    assert card.index(message) < card.index(passes) < card.index("Well compared.")
    card = card_of(wrong, replace(TRY, asks_for_gradients=True))
    assert card.startswith("✗ 99.try A try The numbers are right, ")
    assert message in card
    assert passes not in card
    assert card_of(wrong, replace(TRY, gradients=False)).startswith("✓ 99.try A try Well compared.")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda q, k: compare(q, Cut.apply(k)), "numbers in the gradient of `key` are nan"),
        (lambda q, k: compare(q.detach(), Cut.apply(k)), "in the gradient of `key` are nan"),
        (undone, "forbidden if gradients are needed"),
    ],
)
def test_gradients_that_are_nan_or_raise_fail(wrong, message):
    assert "✗ 99.try A try The numbers are right" in card_of(wrong)
    assert message in card_of(wrong)
    assert card_of(wrong, replace(TRY, gradients=False)).startswith("✓")


def test_empty_tensors_need_no_gradient():
    joined = replace(
        TRY,
        reference=lambda old, new: torch.cat((old, new)).exp(),
        cases=lambda generator: [Case((draw(generator, 0, 5), draw(generator, 3, 5)))],
    )
    assert "gradient" not in card_of(lambda old, new: new.exp(), joined)
    assert "but no gradient flows back" in card_of(lambda old, new: new.exp().detach(), joined)


NUMBERS = replace(
    TRY,
    reference=lambda n, more: 6 * n + 2 * more,
    cases=lambda generator: [Case(given) for given in ((1, False), (1, True), (2, True))],
    mistakes=(),
    properties=(),
)


def two_at_once(*mistakes):
    """Return an exercise with these common mistakes, each a function and a message."""
    return replace(NUMBERS, common_mistakes=tuple(Mistake(*parts) for parts in mistakes))


def test_two_mistakes_are_named_only_if_no_single_one_fits_the_failed_case():
    first, second = (lambda n, more: 5 * n + 2 * more, "Five."), (lambda n, more: 6 * n, "No more.")
    both = (lambda n, more: 5 * n, "Two things. Five. No more.", False)
    assert "this: Five." in card_of(both[0], two_at_once(first, second, both))
    assert "Two things" not in card_of(both[0], two_at_once(first, second, both))
    third = (lambda n, more: 4 * n + 2 * more, "Four.")
    assert "A try Two things." in card_of(both[0], two_at_once(third, second, both))


def test_two_mistakes_with_the_same_outcome_are_both_named():
    five = lambda n, more: 5 * n + 2 * more  # noqa: E731
    text = card_of(five, two_at_once((five, "Five."), (five, "One too few.")))
    assert "A try Five. Or this, which has the same result: One too few." in text


def test_one_number_that_agrees_by_chance_names_no_mistake():
    five = (lambda n, more: 5 * n + 2 * more, "Five.")
    assert "Five." not in card_of(lambda n, more: 4 + n**9, two_at_once(five))
    assert "this: Five." in card_of(lambda n, more: five[0](n, more) + (n == 2), two_at_once(five))
    squares = replace(NUMBERS, cases=lambda generator: [Case((1, False))], mistakes=())
    assert "Five." in card_of(
        lambda n, more: 5, replace(squares, common_mistakes=(Mistake(*five),))
    )


def test_a_property_that_cannot_be_computed_is_not_named():
    counted = replace(
        NUMBERS,
        reference=lambda n, more: [n, 2 * n],
        properties=(Property("None is above 9.", lambda answer, case: max(answer) < 10),),
    )
    assert "Item 0 of your answer is a list" in card_of(lambda n, more: [[n], [2 * n]], counted)
    assert "None is above 9." not in card_of(lambda n, more: [n, 1j], counted)
    assert "None is above 9." in card_of(lambda n, more: [n, 11], counted)
    for right in (lambda n, more: (n, 2.0 * n), lambda n, more: torch.tensor([n, 2 * n])):
        assert card_of(right, counted).startswith("✓")


def test_in_a_list_of_tensors_the_first_item_that_differs_is_shown():
    pair = replace(TRY, reference=lambda q, k: [q.sum(-1), compare(q, k)], properties=())
    text = card_of(lambda q, k: [q.sum(-1), q @ k.mT + 1], replace(pair, mistakes=()))
    assert re.search(r"case     small\s+item 1 of 0 to 1 yours +[-−]?\d", text)
    assert "tensor(" not in text


def test_a_property_is_checked_even_if_an_answer_is_close_enough():
    rows = replace(
        TRY,
        reference=lambda q, k: 0 * (q @ k.mT),
        mistakes=(),
        properties=(Property("0 to the last bit.", lambda answer, case: not answer.any()),),
    )
    assert card_of(lambda q, k: 0 * (q @ k.mT), rows).startswith("✓")
    assert "A try 0 to the last bit. case" in card_of(lambda q, k: 1e-12 * (q @ k.mT), rows)
    assert (
        card_of(lambda q, k: 1e-12 * (q @ k.mT), replace(rows, properties=(), gradients=False))[0]
        == "✓"
    )


def test_forbidden_names_are_also_found_in_helpers():
    forbidding = replace(TRY, without=("exp",))
    assert "The answer is right, but the card asks for it without `exp`." in card_of(
        calls_a_helper, forbidding
    )
    assert card_of(lambda q, k: torch.e ** (q @ k.mT), forbidding).startswith("✓")


def calls_a_helper(query, key):
    return helper(query @ key.mT)


def helper(scores):
    return scores.exp()


def test_after_a_pass_the_card_shows_other_answers_and_where_the_idea_returns():
    more = replace(TRY, comes_back="In chapter 9.", others=(calls_a_helper,))
    card = diagnose(more, compare)
    assert card.message == "Well compared.\nIn chapter 9."
    assert card.others == ("def calls_a_helper(query, key):\n    return helper(query @ key.mT)",)
    assert "<summary>Another right answer</summary>" in card_as_html(card)
    assert "def calls_a_helper" in card_as_text(card)


# --- the reader's program: what a check leaves unchanged -------------------------------------


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms on this platform")
def test_an_answer_that_waits_forever_is_stopped_but_not_one_that_is_slow(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 0.1)
    assert "still running after" in card_of(lambda q, k: time.sleep(100))
    monkeypatch.setattr(guard, "SECONDS", 0.3)
    assert "returned None" in card_of(lambda q, k: time.sleep(0.4))  # slow, as on a busy machine


def retries(query, key):
    while True:
        with contextlib.suppress(Exception):
            while True:
                pass


def goes_on_after_a_bare_except(query, key):
    try:
        retries(query, key)
    except:  # noqa: E722
        retries(query, key)


@pytest.mark.parametrize("endless", [retries, goes_on_after_a_bare_except])
def test_an_endless_answer_is_stopped_in_any_thread_even_if_it_catches_exceptions(
    endless, monkeypatch
):
    monkeypatch.setattr(guard, "SECONDS", 0.2)
    assert "still running after" in card_of(endless)
    with ThreadPoolExecutor(1) as pool:
        assert "still running after" in pool.submit(card_of, endless).result()
        assert pool.submit(card_of, compare).result().startswith("✓ 99.try")


@pytest.mark.on_cpu
@pytest.mark.skipif(sys.platform != "linux", reason="only there memory has a limit")
@pytest.mark.parametrize(
    "fills",
    [lambda q, k: torch.ones(10**9), lambda q, k: np.ones(10**9), lambda q, k: [0] * 10**9],
    ids=["torch", "numpy", "list"],
)
def test_an_answer_that_fills_the_memory_is_stopped_at_once(fills):
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    text = card_of(fills)
    assert "needs more memory than the limit (2 GB)" in text
    assert "10**9" in text, "the card does not show the line"
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_an_answer_that_calls_check_gets_a_message(capsys):
    def checks_itself(query, key):
        check(checks_itself, "99.try")
        return compare(query, key)

    check(checks_itself, "99.try")
    text = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert text.startswith("✗ 99.try A try Your function calls `check`")
    assert 'in your line check(checks_itself, "99.try")' in text
    assert text.count("✗") == 1
    assert card_of(compare).startswith("✓")


def test_an_answer_may_close_its_output(capsys):
    def closing(query, key):
        print("before")
        sys.stdout.close()
        return compare(query, key)

    assert "✓ 99.try" in card_of(closing)
    assert "printed  before" in card_of(closing)


def test_all_cases_together_have_a_limit_too(monkeypatch):
    def slow(query, key):
        begun = time.process_time()
        while time.process_time() - begun < 0.3:
            pass
        return compare(query, key)

    monkeypatch.setattr(guard, "SECONDS", 1.0)
    monkeypatch.setattr(trial, "TOTAL_LIMIT", 0.5)
    assert "for a few small cases: that is too slow." in card_of(slow)


def test_changes_by_an_answer_are_undone_and_do_not_change_the_result():
    def states():
        numpys = np.random.get_state()  # noqa: NPY002
        drawn = (torch.get_rng_state().tolist(), random.getstate(), numpys)
        settings = (torch.get_default_dtype(), torch.empty(0).device, torch.is_grad_enabled())
        settings += (torch.get_num_threads(), os.getcwd())
        printing = (repr(torch.tensor(math.pi)), repr(np.array(math.pi)))
        return str((drawn, settings, printing, torch.Tensor.exp, math.sqrt, torch.softmax))

    def changing(query, key):
        torch.manual_seed(7), random.seed(7), np.random.seed(7)  # noqa: NPY002
        torch.set_default_dtype(torch.float64), torch.set_grad_enabled(False)
        torch.set_default_device("meta")
        torch.set_printoptions(2), np.set_printoptions(2)
        torch.set_num_threads(torch.get_num_threads() + 1), os.chdir("/")
        answer = compare(query, key)
        torch.Tensor.exp = torch.Tensor.clone
        torch.softmax = math.sqrt = None
        return answer

    before = states()
    assert card_of(changing).startswith("✓ 99.try A try The numbers are right, but no gradient")
    text = card_of(lambda q, k: [changing(q, k), (q @ k.mT).exp()][1])
    assert text.startswith("✗ 99.try A try You")
    assert "raised" in card_of(lambda q, k: changing(q, k) / None)
    assert states() == before
    torch.set_default_device("meta")
    try:
        assert card_of(compare).startswith("✓")
        assert torch.empty(0).device == torch.device("meta")
    finally:
        torch.set_default_device(None)
        del torch._GLOBAL_DEVICE_CONTEXT.device_context  # PyTorch 2.6 cannot handle None here


def test_a_check_leaves_the_default_device_readable():
    assert card_of(compare).startswith("✓")
    assert torch.get_default_device() == torch.device("cpu")


def test_lists_are_compared_item_by_item():
    words = replace(
        TRY,
        reference=lambda words: sorted(words),
        cases=lambda generator: [Case((["b", "a"],), note="two words")],
        mistakes=(),
        properties=(),
    )
    assert card_of(sorted, words).startswith("✓")
    assert "changed what it was given (`words`)" in card_of(lambda w: w.sort() or w, words)


class Odd:
    def __repr__(self):
        raise ValueError

    __str__ = __eq__ = __repr__
    __hash__ = None


class OddError(Exception):
    def __str__(self):
        raise ValueError


def raises_odd(*given):
    raise OddError


def nested():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


ODD = [
    Odd(), Ellipsis, NotImplemented, {1, 2}, "x" * 10**6, [[]], {}, 3j, object, float("nan"),
    torch.ones(2, 3).to_sparse(), torch.ones(0), torch.ones(2, 3, device="meta"), torch.ones(2, 3),
    torch.tensor(True), torch.ones(2, 3) * 1j, nested(),
    np.ones((2, 3)), np.array("x"), np.array([None]),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(ODD)))
@pytest.mark.filterwarnings("ignore")
def test_odd_answers_are_wrong_and_break_nothing(place):
    odd = ODD[place]
    counting = replace(TRY, reference=lambda q, k: 6, properties=(), mistakes=TRY.mistakes[:1])
    for exercise in (TRY, counting):
        text = card_of(lambda q, k: odd, exercise)
        assert text.startswith("✗ 99.try")
        assert len(text) < 2000
    assert card_of(lambda question: odd, CHOICE).startswith("✗ 99.choice")
    assert "raised OddError" in card_of(raises_odd)


# --- ids and calls ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check(compare, "03.score"), "no exercise '03.score'; did you mean 03.scores"),
        (lambda: check(compare, "03.attention"), "no exercise '03.attention'\n"),  # not 10.pattern
        (lambda: check(compare, 3.1), "check: there is no exercise 3.1"),
        (lambda: check(compare, ["03.scores"]), "did you mean 03.scores"),
        (lambda: check("99.try", compare), 'the function comes first: check(compare, "99.try")'),
        (lambda: check(0.5, "99.try"), 'calling it: check(compare, "99.try"); this is float'),
        (lambda: check(Model, "99.try"), "Model is a class: pass an object that can be called"),
        (lambda: check(compare), 'give an id in quotes: "99.try"'),
        (lambda: check(), "the id from the card is missing"),
        (lambda: hint(compare), 'hint: give an id in quotes: "99.try"'),
        (lambda: hint(), "hint: the id from the card is missing"),
        (lambda: solution("foo"), "solution: there is no exercise 'foo'"),
    ],
)
def test_a_mistaken_call_is_answered_in_one_line(call, message, capsys):
    call()
    out = capsys.readouterr().out
    assert message in out
    assert out.count("\n") == 1


def test_an_id_is_found_without_its_zero_and_a_name_of_another_exercise_is_reported(capsys):
    assert find("1.winner") is find(" 01.Winner ") is ALL["01.winner"]

    def my_scores(question):
        return 1 / 0

    check(my_scores, "99.choice")
    assert "`my_scores` is what 03.scores asks for." in capsys.readouterr().out


def test_readers_see_unchanged_code_without_annotations():
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


# --- untouched stubs, cards in a notebook, and modules ---------------------------------------


def stub(query, key):
    raise NotImplementedError


def stub_without_its_comment(query, key):
    # fill in
    raise NotImplementedError


def answer_below_the_raise(query, key):
    raise NotImplementedError
    return query @ key.mT


STILL_RAISES = ": its line `raise NotImplementedError` still stops it, so delete that line."


@pytest.mark.parametrize(
    ("function", "why"),
    [(stub, ""), (stub_without_its_comment, ""), (answer_below_the_raise, STILL_RAISES)],
)
def test_an_untouched_stub_does_not_count_as_a_try(function, why, capsys):
    check(function, "99.try")
    assert capsys.readouterr().out == f"○ 99.try not attempted{why}\n"
    assert log.read() == ({}, "")


def test_a_notebooks_card_shows_code_as_text():
    card = card_as_html(diagnose(TRY, lambda q, k: q < k))
    assert 'role="status"' in card
    assert "q &lt; k" in card
    assert "<br>" in card_as_html(Feedback("failed", "x", "one\ntwo"))
    assert "<code>a &lt; b</code>" in card_as_html(Feedback("info", "x", "see `a < b`"))
    stars = card_as_html(Feedback("info", "x", "`a * b * c` is *not* 2 * 3 * 4，是*之前*的"))
    assert "<code>a * b * c</code> is <em>not</em> 2 * 3 * 4，是<em>之前</em>的" in stars


def test_a_module_is_copied_and_must_not_be_changed():
    layer = nn.Linear(3, 3).requires_grad_(False)
    before = layer.weight.clone()
    use = replace(
        TRY,
        reference=lambda layer: layer(torch.ones(3)),
        cases=lambda generator: [Case((layer,), note="a layer")],
        mistakes=(),
        properties=(),
    )

    def write(layer):
        layer.weight *= 2
        return layer(torch.ones(3))

    def leave_a_hook(layer):
        layer.register_forward_hook(lambda module, inputs, output: output + 1)
        return layer(torch.ones(3))

    assert card_of(lambda layer: layer(torch.ones(3)), use).startswith("✓")
    for wrong in (write, leave_a_hook):
        assert "left a hook or other weights in what it was given (`layer`)" in card_of(wrong, use)
    assert torch.equal(layer.weight, before)
    assert not layer._forward_hooks
