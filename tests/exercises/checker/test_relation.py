"""The relation of a wrong answer to the right one, and the two side by side."""

import re
from dataclasses import replace

import pytest
import torch

from attnbook.exercises.checker.relation import Relation, relation, relation_in_all
from attnbook.exercises.checker.side_by_side import side_by_side
from tests.exercises.checker.example import TRY, card_of, compare

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
        ([(2.0001, 2), (3.00015, 3), (5.00025, 5)], None),  # 1 times says nothing
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
    assert relation(ROWS, ROWS.clone(), {}) is None  # right numbers that lack a property
    assert relation(ROWS * (1 + 1e-6), ROWS, {}).kind == "nearly right"  # not 1 times
    assert relation(ROWS * (1 + 1e-4), ROWS, {}).kind == "nearly right"  # not 1 times
    assert relation([3, 1, 2], [1, 2, 3], {}) == Relation("reordered")
    assert relation([3, 1, 1], [1, 2, 3], {}) is None
    assert relation("B", "A", {}) is None


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


def test_in_a_list_of_tensors_the_first_item_that_differs_is_shown():
    pair = replace(TRY, reference=lambda q, k: [q.sum(-1), compare(q, k)], properties=())
    text = card_of(lambda q, k: [q.sum(-1), q @ k.mT + 1], replace(pair, mistakes=()))
    assert re.search(r"case     small\s+item 1 of 0 to 1 yours +[-−]?\d", text)
    assert "tensor(" not in text
