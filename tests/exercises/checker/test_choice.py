"""Each question of a choice gets a message of its own."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from attnbook.exercises.checker.choice import form_error
from tests.exercises.checker.example import ANSWERS, CHOICE, card_of


def test_all_questions_of_a_choice_are_checked_at_once_and_form_before_content():
    assert card_of(lambda q: {"a": " b.", "b": 2, "c": "Neither"}[q], CHOICE).startswith("✓")
    text = card_of(lambda q: {"a": "A", "b": None, "c": "none"}[q], CHOICE)
    assert "0 of 3 are right." in text
    assert "question a: A is not B." in text
    assert "question b: not answered yet." in text
    assert 'question c: it has to be one of "2", "A", "B", "neither". You have \'none\'.' in text
    assert "question a, question b, question c: it has to be one of" in card_of(
        lambda q: [], CHOICE
    )
    assert "question a, question c: not answered yet." in card_of({"b": "A"}.get, CHOICE)
    text = card_of(lambda q: {"a": "neither", "b": "2", "c": "neither"}[q], CHOICE)
    assert "2 of 3 are right. question a: 'neither' is not right." in text
    assert "raised KeyError" in card_of(lambda q: {"a": "A"}[q], CHOICE)


def test_a_question_that_is_drawn_twice_has_to_be_answered_twice():
    drawn_twice = replace(CHOICE, cases=lambda g: [*CHOICE.cases(g), *CHOICE.cases(g)])
    asked = []

    def undecided(question):
        asked.append(question)
        return "A" if question == "a" and asked.count("a") == 2 else ANSWERS[question]

    assert "2 of 3 are right. question a: A is not B." in card_of(undecided, drawn_twice)


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
