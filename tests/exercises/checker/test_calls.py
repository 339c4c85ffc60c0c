"""Calls of check, hint and solution: ids, and mistaken arguments."""

import pytest

from attnbook.exercises import check, hint, solution
from attnbook.exercises.catalog import ALL, find
from tests.exercises.checker.example import compare


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check(compare, "03.score"), "no exercise '03.score'; did you mean 03.scores"),
        (lambda: check(compare, "03.attention"), "no exercise '03.attention'\n"),  # not 10.pattern
        (lambda: check(compare, 3.1), "check: there is no exercise 3.1"),
        (lambda: check(compare, ["03.scores"]), "did you mean 03.scores"),
        (lambda: check("99.try", compare), 'the function comes first: check(compare, "99.try")'),
        (lambda: check(0.5, "99.try"), 'calling it: check(compare, "99.try"); this is float'),
        (lambda: check(dict, "99.try"), "dict is a class: pass an object that can be called"),
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
