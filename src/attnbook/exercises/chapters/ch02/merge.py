"""One step of byte pair encoding."""

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Generator

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property

Corpus = list[list[str]]
Pair = tuple[str, str]


def merge_step(corpus: Corpus) -> Corpus:
    counts = Counter(pair for word in corpus for pair in itertools.pairwise(word))
    best = max(counts, key=lambda pair: counts[pair])
    merged = []
    for word in corpus:
        pieces: list[str] = []
        for piece in word:
            if pieces and (pieces[-1], piece) == best:
                pieces[-1] += piece
            else:
                pieces.append(piece)
        merged.append(pieces)
    return merged


def merge_by_index(corpus: Corpus) -> Corpus:
    counts: dict[Pair, int] = {}
    for word in corpus:
        for i in range(len(word) - 1):
            counts[word[i], word[i + 1]] = counts.get((word[i], word[i + 1]), 0) + 1
    left, right = max(counts, key=counts.__getitem__)
    merged = []
    for word in corpus:
        pieces, i = list(word), 0
        while i < len(pieces) - 1:
            if pieces[i] == left and pieces[i + 1] == right:
                pieces[i : i + 2] = [left + right]
            i += 1
        merged.append(pieces)
    return merged


def merge_cases(generator: Generator) -> list[Case]:
    def case(text: str, note: str) -> Case:
        return Case(([list(word) for word in text.split()],), note=note)

    drawn = torch.randint(3, (40,), generator=generator).tolist()
    letters = "".join("xyz"[i] for i in drawn)
    words = " ".join(letters[i : i + 5] for i in range(0, 40, 5))
    return [
        case("cold colder", "co, ol and ld are equally frequent: the first wins"),
        case("mama to too", "a pair that occurs twice in a word"),
        case("tea tea tea see bee a", "a word that occurs three times, and a word with one letter"),
        case("shoe slate stone side yes", "words that end in e before words that begin with s"),
        case("aaa aaa baaaa", "a letter next to itself: merge from the left"),
        Case(
            ([["sw", "ee", "t"], ["sw", "ee", "t", "er"], ["w", "ee"], ["ee", "t"]],),
            note="pieces of several letters",
        ),
        Case(
            ([["x", "y"], ["x", "y"], ["a", "bc"], ["ab", "c"], ["a", "bc"]],),
            note="two pairs with the same spelling",
        ),
        Case(
            ([["h", "e", "r"], ["e", "r"], ["te", "r"], ["e", "rs"]],),
            note="pieces that end or begin like those of the pair",
        ),
        case(words, "random words"),
    ]


def apply(corpus: Corpus, best: Pair) -> Corpus:
    """Merge one pair everywhere, from left to right."""
    merged: Corpus = []
    for word in corpus:
        pieces: list[str] = []
        i = 0
        while i < len(word):
            size = 2 if tuple(word[i : i + 2]) == best else 1
            pieces.append("".join(word[i : i + size]))
            i += size
        merged.append(pieces)
    return merged


def chosen(choose: Callable[[Corpus], Pair]) -> Callable[[Corpus], Corpus]:
    return lambda corpus: apply(corpus, choose(corpus))


def most_common(corpus: Corpus) -> Pair:
    return Counter(p for word in corpus for p in itertools.pairwise(word)).most_common(1)[0][0]


def last_of_the_best(corpus: Corpus) -> Pair:
    counts = Counter(p for word in corpus for p in itertools.pairwise(word))
    return next(p for p in reversed(counts) if counts[p] == max(counts.values()))


def alphabetical(corpus: Corpus) -> Pair:
    counts = Counter(p for word in corpus for p in itertools.pairwise(word))
    return min(p for p in counts if counts[p] == max(counts.values()))


def spelled(corpus: Corpus) -> Corpus:
    """Count and merge pairs by what they spell."""
    counts = Counter("".join(p) for word in corpus for p in itertools.pairwise(word))
    best, merged = counts.most_common(1)[0][0], []
    for word in corpus:
        pieces: list[str] = []
        for piece in word:
            if pieces and pieces[-1] + piece == best:
                pieces[-1] += piece
            else:
                pieces.append(piece)
        merged.append(pieces)
    return merged


def once_a_word(corpus: Corpus) -> Corpus:
    """Merge only the first occurrence of the best pair in each word."""
    best, merged = most_common(corpus), []
    for word in corpus:
        at = next((i for i, p in enumerate(itertools.pairwise(word)) if p == best), None)
        merged.append(word if at is None else [*word[:at], "".join(best), *word[at + 2 :]])
    return merged


def lists(answer: Any, case: Case) -> bool:
    """Check that each word is a list of pieces."""
    return all(isinstance(word, (list, tuple)) for word in answer)


def joined(answer: Any, case: Case) -> bool:
    """Check that the pieces of each word still spell the word."""
    return ["".join(word) for word in answer] == ["".join(word) for word in case.arguments[0]]


def one_pair(answer: Any, case: Case) -> bool:
    """Check that at most one kind of piece is new."""
    before = {piece for word in case.arguments[0] for piece in word}
    return len({piece for word in answer for piece in word} - before) <= 1


EXERCISE = Exercise(
    title="One step of byte pair encoding",
    level=3,
    minutes=15,
    section="2.7",
    second_reading=True,
    prompt="""
Write `merge_step(corpus)`. The corpus is a list of words, each a list of pieces such as `["c", "o",
"ld"]`. Count every pair of adjacent pieces within a word and take the most frequent pair. If
several pairs are equally frequent, take the one that comes first in the corpus. Merge this pair
everywhere, going through each word from the left. Return the new corpus, a list of lists, and leave
the given one unchanged.
""",
    reference=merge_step,
    cases=merge_cases,
    mistakes=(
        Mistake(
            chosen(lambda corpus: most_common([[p for word in corpus for p in word]])),
            "You counted pairs across two words. Both pieces have to be in the same word.",
        ),
        Mistake(
            chosen(
                lambda corpus: Counter(
                    p for word in corpus for p in dict.fromkeys(itertools.pairwise(word))
                ).most_common(1)[0][0]
            ),
            "You counted each pair once per word. A pair that occurs twice in a word counts twice.",
        ),
        Mistake(
            chosen(
                lambda corpus: most_common([list(w) for w in dict.fromkeys(map(tuple, corpus))])
            ),
            "You counted each different word once. A word counts each time it occurs.",
        ),
        Mistake(chosen(last_of_the_best), "Of the equally frequent pairs, you took the last."),
        Mistake(
            chosen(alphabetical),
            "Of the equally frequent pairs, you took the first in the alphabet, not in the corpus.",
        ),
        Mistake(
            spelled,
            "You compared pairs by the text that they spell. The pairs (a, bc) and (ab, c) spell "
            "the same text, but they are different pairs.",
        ),
        Mistake(once_a_word, "You merged the pair once per word. It may occur more than once."),
        Mistake(lambda corpus: [list(word) for word in corpus], "Nothing was merged."),
        Mistake(
            lambda corpus: [["".join(word)] for word in corpus],
            "You merged until each word is a single piece. The card asks for one step.",
        ),
        Mistake(
            lambda corpus: [
                " ".join(word)
                .replace(" ".join(most_common(corpus)), "".join(most_common(corpus)))
                .split()
                for word in corpus
            ],
            "You replaced text, so the pair also matched parts of pieces: (e, r) matches in (te, "
            "r).",
        ),
    ),
    hints=(
        "First count, then merge. `itertools.pairwise(word)` gives the neighbors.",
        "`Counter` keeps the order in which it first saw the pairs; `most_common(1)` and `max` "
        "take the first of several pairs with equal counts.",
        "Build a new list: if its last piece and the next piece form the pair, extend the last "
        "piece.",
    ),
    properties=(
        Property("Each word has to be a list of pieces.", lists),
        Property(
            "A word has lost or gained letters. Did you keep the last piece, and remove the pieces "
            "that you merged?",
            joined,
        ),
        Property(
            "More than one pair was merged. A step chooses one pair for the whole corpus.",
            one_pair,
        ),
    ),
    others=(merge_by_index,),
    comes_back="Chapter 9 splits its corpus into words; large models use pieces like these.",
    insight="That is the whole algorithm: GPT-2's vocabulary comes from 50,000 such merges. None "
    "of them depends on what a word means.",
)
