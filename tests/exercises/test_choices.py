"""Wrong answers to the questions of a choice: to one question, to several, or to every one."""

from attnbook.exercises.catalog import ALL
from attnbook.exercises.exercise import EVERY, choices


def count(question):
    return {"a": 1, "b": 4, "c": 6}[question]


def answers_of(messages):
    return [
        (m.message, [m.wrong(question) for question in "abc"]) for m in choices(count, messages)
    ]


def test_a_wrong_answer_may_be_given_to_every_question():
    assert answers_of({(EVERY, 4): "Four."}) == [("Four.", [4, 4, 4])]


def test_a_wrong_answer_may_follow_from_the_right_one():
    wrong = {(EVERY, lambda right: right + 1): "Too many.", ("c", lambda right: -right): "Minus."}
    assert answers_of(wrong) == [("Too many.", [2, 5, 7]), ("Minus.", [1, 4, -6])]


def test_a_wrong_answer_may_need_arguments_in_any_order():
    wrong = {(("a", "c"), lambda width, length: (width, length)): "Swapped."}
    (mistake,) = choices(lambda question, length, width: (length, width), wrong)
    assert [mistake.wrong(question, 3, 5) for question in "abc"] == [(5, 3), (3, 5), (5, 3)]


def test_each_entry_is_recognized_even_if_two_answers_to_a_question_share_a_message():
    wrong = {("a", 0): "Off.", ("b", 1): "Small.", (("a", "c"), 3): "Off."}
    assert answers_of(wrong) == [("Off.", [0, 4, 6]), ("Small.", [1, 1, 6]), ("Off.", [3, 4, 3])]


def test_an_exercise_with_choices_can_be_the_key_of_a_cache():
    assert ALL["06.verdict"] in {ALL["06.verdict"]: "its page"}
