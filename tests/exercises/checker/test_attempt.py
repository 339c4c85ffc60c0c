"""Known mistakes are named where they explain an answer, and not where they only might."""

from dataclasses import replace

from attnbook.exercises.exercise import Case, Mistake
from tests.exercises.checker.example import NUMBERS, TRY, card_of


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


def test_for_a_tensor_only_the_first_of_two_mistakes_is_named():
    plain = lambda query, key: query @ key.mT  # noqa: E731
    common = (Mistake(plain, "No exp."), Mistake(plain, "Something else."))
    text = card_of(plain, replace(TRY, mistakes=(), common_mistakes=common))
    assert "A try No exp. case" in text
    assert "Something else." not in text


def test_one_number_that_agrees_by_chance_names_no_mistake():
    five = (lambda n, more: 5 * n + 2 * more, "Five.")
    assert "Five." not in card_of(lambda n, more: 4 + n**9, two_at_once(five))
    assert "this: Five." in card_of(lambda n, more: five[0](n, more) + (n == 2), two_at_once(five))
    squares = replace(NUMBERS, cases=lambda generator: [Case((1, False))], mistakes=())
    assert "Five." in card_of(
        lambda n, more: 5, replace(squares, common_mistakes=(Mistake(*five),))
    )
