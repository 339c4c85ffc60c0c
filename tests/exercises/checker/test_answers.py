"""Which answers are equal to the right one, and the messages for those of another kind."""

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from attnbook.exercises.checker.answers import matches, type_error
from attnbook.exercises.exercise import Case
from tests.exercises.checker.example import CHOICE, TRY, card_of


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
        (torch.tensor([144]), 144, "returned a Tensor of shape (1,). It should return one number."),
        (torch.ones(3), 44.2, "returned a Tensor of shape (3,). It should return one number."),
        (
            np.ones((1, 2)),
            44.2,
            "returned a ndarray of shape (1, 2). It should return one number.",
        ),
        ("44.2", 44.2, "returned a str. It should return a number."),
        (True, 44.2, "returned a bool. It should return a number."),
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
        (
            torch.ones(2).long(),
            torch.ones(2),
            "holds whole numbers (torch.int64); it should hold floating-point numbers",
        ),
        (
            torch.ones(2).sort(),
            torch.ones(2),
            "the pair (values, indices) of `sort`: take `.values`",
        ),
    ],
)
def test_messages_for_answers_of_the_wrong_kind(got, wanted, message):
    assert message in type_error(got, wanted)
    assert bool(type_error(got, wanted)) == bool(message)


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


def test_a_number_is_shown_with_as_many_digits_as_the_right_one():
    exact = replace(TRY, reference=lambda q, k: 44.15437788, mistakes=(), properties=())
    close = replace(exact, reference=lambda q, k: 4.00001)
    for wrong in (71.1703, torch.tensor(71.1703, dtype=torch.float64), np.float64(71.1703)):
        assert "yours    71.1703 wanted   44.1544" in card_of(lambda q, k, n=wrong: n, exact)
    assert "yours    4.000030 wanted   4.000010" in card_of(lambda q, k: 4.00003, close)
    assert "yours    44 wanted   44.15437788" in card_of(lambda q, k: 44, exact)
