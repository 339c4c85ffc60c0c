"""The parts of which exercises are made: choices, stubs, sizes, sets of mistakes."""

import contextlib
from dataclasses import replace

import pytest
import torch

from attnbook.exercises.catalog import ALL
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.checker.answers import matches
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.exercise import choices, named_sizes
from attnbook.exercises.source import without_annotations
from attnbook.mistakes.head import Head
from attnbook.mistakes.lines import OUTPUT_MISTAKES, SCORE_MISTAKES
from tests.exercises.checker.example import CHOICE, TRY


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


def test_the_judge_of_15_fool_does_not_show_its_word():
    for case in ALL["15.fool"].cases(torch.Generator().manual_seed(0)):
        (judge,) = case.arguments
        word = ALL["15.fool"].reference(judge)
        assert word.startswith("fooled")
        assert word not in f"{judge!r} {vars(judge)}"


def test_a_failed_card_of_15_fool_does_not_show_the_word():
    attention = torch.nn.functional.scaled_dot_product_attention
    card = repr(diagnose(ALL["15.fool"], lambda judge: judge(attention)))
    assert "a word that only the judge knows" in card
    assert "fooled" not in card
