"""The recognizer of the grammar's English: it accepts the grammar's sentences, and little else."""

import random
from collections import Counter

import pytest

from attnbook.corpus.grammar.noun_phrases import Draw
from attnbook.corpus.grammar.recognize import is_grammatical, runs, ways
from attnbook.corpus.grammar.sentences import KINDS, draw_sentence, finish
from attnbook.corpus.grammar.verb_phrases import draw_subject


def sentences(n: int, seed: int) -> list[tuple[str, ...]]:
    draw = Draw(seed)
    return [draw_sentence(draw).en for _ in range(n)]


def test_sentences_of_the_grammar_are_accepted():
    rejected = [" ".join(english) for english in sentences(150, 0) if not is_grammatical(english)]
    assert rejected == []


@pytest.mark.parametrize("kind", dict.fromkeys(KINDS))
def test_each_kind_of_sentence_is_accepted(kind):
    draw, made = Draw(1), []
    while len(made) < 6:
        sentence = finish(kind(draw))
        made += [sentence.en] if sentence else []
    assert all(map(is_grammatical, made))


@pytest.mark.parametrize(
    "broken",
    [
        "the apple is",
        "the apple sweet is",
        "apple is sweet",
        "the apple are sweet",
        "a apple is on the table",
        "there is an book on the table",
        "he do not like apples",
        "did he ate an apple ?",
        "he likes apples ?",
        "she is reading letters in the letter",
        "the letter is sweet",
        "the doctor is not a doctor",
        "i do not like us",
        "",
    ],
)
def test_broken_sentences_are_rejected(broken):
    assert not is_grammatical(broken.split())


@pytest.mark.parametrize("right", ["the apple is sweet", "there is an apple on the table"])
def test_their_repaired_forms_are_accepted(right):
    assert is_grammatical(right.split())


def test_two_swapped_words_rarely_make_a_sentence():
    shuffled, rng = [], random.Random(0)
    for english in sentences(40, 2):
        at = rng.randrange(len(english) - 1)
        moved = [*english[:at], english[at + 1], english[at], *english[at + 2 :]]
        shuffled += [moved] if moved != list(english) else []
    accepted = [" ".join(moved) for moved in shuffled if is_grammatical(moved)]
    assert len(accepted) <= 2, accepted


def test_probabilities_are_those_of_the_draws():
    """Among 10,000 drawn sentences, 120 chosen ones occur as often, in total, as expected."""
    draw, tries, seen = Draw(3), 0, Counter()
    while seen.total() < 10_000:
        tries += 1
        sentence = finish(draw.choice(KINDS)(draw))
        seen.update([sentence.en] if sentence else [])
    chosen = sentences(120, 4)
    expected = [tries * sum(p for _, p in ways(english)) for english in chosen]
    found = sum(seen[english] for english in chosen)
    assert found > 100
    assert sum(expected) == pytest.approx(found, rel=0.1)


@pytest.mark.parametrize("form", ["statement", "negative", "yes_no"])
def test_repeated_draws_have_probabilities_that_sum_to_1(form):
    subjects = list(runs(lambda draw: draw_subject(draw, form)))
    assert sum(p for _, p in subjects) == pytest.approx(1)
    assert ("i",) in {subject.en for subject, _ in subjects} or form == "yes_no"
