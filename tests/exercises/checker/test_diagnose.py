"""The first thing that is wrong with an answer is named, in a fixed order."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from attnbook.exercises import check, log
from attnbook.exercises.cards.as_html import card_as_html
from attnbook.exercises.cards.as_text import card_as_text
from attnbook.exercises.chapters.properties import ROWS_SUM_TO_ONE
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.exercise import Case, Property, draw
from tests.exercises.checker.example import NUMBERS, TRY, card_of, compare


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


SHARP = replace(
    TRY,
    reference=lambda query, key: (300 * query @ key.mT).softmax(-1),
    cases=lambda generator: [Case((draw(generator, n, 5), draw(generator, 7, 5))) for n in (2, 9)],
    mistakes=(),
    properties=(ROWS_SUM_TO_ONE,),
)


def test_an_answer_that_is_off_only_because_of_its_dtype_is_told_so():
    told = "Nearly right, but your numbers are torch.float32 where torch.float64 is expected"
    in_float = lambda q, k: SHARP.reference(q.float(), k.float())  # noqa: E731
    assert f"✗ 99.try A try {told}" in card_of(in_float, SHARP)
    both = replace(SHARP, reference=lambda q, k: [q, SHARP.reference(q, k)], properties=())
    assert told in card_of(lambda q, k: [q.float(), in_float(q, k)], both)
    short = replace(SHARP, reference=lambda q, k: in_float(q, k) + 1e-3, asks_for_dtype=True)
    for wrong, exercise in (
        (lambda q, k: in_float(q, k) + 1e-3, SHARP),
        (lambda q, k: in_float(q, k) * (1 + (len(q) > 2)), SHARP),
        (lambda q, k: in_float(q, k).double(), SHARP),
        (in_float, short),
        (lambda q, k: [in_float(q, k)], both),
    ):
        assert told not in card_of(wrong, exercise)


def test_a_property_that_few_digits_do_not_break_is_named():
    cut = Property("Be 0.", lambda answer, case: not answer[answer < 1e-3].any())
    cutting = replace(
        SHARP,
        reference=lambda q, k: torch.nn.functional.threshold(SHARP.reference(q, k), 1e-3, 0),
        properties=(cut,),
    )
    small = lambda q, k: cutting.reference(q.float(), k.float()).clamp_min(1e-9)  # noqa: E731
    assert "✗ 99.try A try Be 0." in card_of(small, cutting)


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


def swapped(key, query):
    return (query @ key.mT).exp()


def swapped_and_failing(key, query):
    return query @ key


def test_parameters_in_another_order_are_named_before_what_follows_from_them():
    for wrong in (swapped, swapped_and_failing):
        text = card_of(wrong)
        assert "A try Your parameters are (key, query), in another order than on the card." in text
        assert "The checker calls `compare(query, key)`" in text
    assert "Your parameters" not in card_of(lambda key, more: key @ more.mT)
    assert "Your parameters" not in card_of(max)
    assert card_of(lambda key, query: (key @ query.mT).exp()).startswith("✓")


@pytest.mark.on_cpu  # a simulated GPU refuses to draw
def test_an_answer_that_differs_from_call_to_call_is_told_so():
    exercise = replace(TRY, properties=())
    noise = lambda q, k: compare(q, k) + 0.001 * torch.rand(len(q), len(k)).to(q)  # noqa: E731
    told = "Two calls with the same arguments give different answers."
    assert told in card_of(noise, exercise)
    assert told in card_of(lambda q, k: nn.functional.dropout(compare(q, k)), exercise)
    for steady in (lambda q, k: compare(q, k) + 1, lambda q, k: compare(q, k) * torch.nan):
        assert told not in card_of(steady, exercise)


def test_a_factor_is_explained_only_by_sizes_on_the_card():
    def too_large(query, key):
        return compare(query, key) * 3

    assert "(Lk in this case)" in card_of(too_large)
    without = replace(TRY, prompt="Compare.")
    assert "is 3 times the right one. " in card_of(too_large, without)


def test_an_assertion_where_true_or_false_is_asked_for_is_explained():
    def asserts(query, key):
        assert len(query) == 2
        return True

    asks = replace(TRY, reference=lambda q, k: len(q) == 2, mistakes=(), properties=())
    told = "The card asks for True or False: return one, without `assert`."
    assert told in card_of(asserts, asks)
    assert told not in card_of(asserts)
