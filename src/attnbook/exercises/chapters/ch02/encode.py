"""Words to ids."""

import itertools
from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property


def encode(words: list[str], corpus: list[str]) -> Tensor:
    number = {word: i for i, word in enumerate(sorted(set(corpus)))}
    return torch.tensor([number.get(word, len(number)) for word in words])


def encode_by_counting(words: list[str], corpus: list[str]) -> Tensor:
    known = set(corpus)
    smaller = {word: sum(other < word for other in known) for word in known}
    return torch.tensor([smaller.get(word, len(known)) for word in words])


def encode_cases(generator: Generator) -> list[Case]:
    pool = "tea milk sugar and Life is short or sweet no".split()

    def some(count: int) -> list[str]:
        return [pool[i] for i in torch.randint(len(pool), (count,), generator=generator)]

    return [
        Case((["is", "Life"], ["short", "Life", "is"]), {"L": 2}, "every word is known"),
        Case(
            (["eat", "dessert", "eat"], ["eat", "dessert", "eat", "first"]),
            {"L": 3},
            "a corpus in which a word occurs twice",
        ),
        Case(
            (["tea", "or", "lunch", "dinner", "and"], ["tea", "and", "tea", "or", "milk", "tea"]),
            {"L": 5},
            "lunch and dinner are unknown",
        ),
        Case((["life", "Life"], ["Life", "is", "is", "is"]), {"L": 2}, "upper and lower case"),
        Case((["soup"], ["tea", "tea", "tea"]), {"L": 1}, "one unknown word"),
        Case(([*some(6), "soup"], some(13)), {"L": 7}, "7 words, a corpus of 13 words"),
    ]


def numbering(
    order: Callable[[list[str]], Sequence[str]],
    unknown: Callable[[dict[str, int]], int] = len,
    first: int = 0,
) -> Callable[[list[str], list[str]], Tensor]:
    """Make a wrong encoder, with another order of the words or another id for unknown words."""

    def wrong(words: list[str], corpus: list[str]) -> Tensor:
        number = {word: i for i, word in enumerate(order(corpus), start=first)}
        return torch.tensor([number.get(word, unknown(number)) for word in words])

    return wrong


def distinct(corpus: list[str]) -> list[str]:
    return sorted(set(corpus))


def new_ids(words: list[str], corpus: list[str]) -> Tensor:
    number = {word: i for i, word in enumerate(distinct(corpus))}
    return torch.tensor([number.setdefault(word, len(number)) for word in words])


def rises(ids: Tensor, words: list[str], corpus: list[str]) -> bool:
    """Check that the ids of the known words follow the order of `sorted`."""
    if ids.shape != (len(words),):
        return True  # something else is wrong
    known = sorted({(w, int(i)) for w, i in zip(words, ids, strict=True) if w in corpus})
    return all(one[1] < other[1] for one, other in itertools.pairwise(known))


EXERCISE = Exercise(
    title="Words to ids, including unknown words",
    level=1,
    minutes=8,
    section="2.2",
    prompt="""
Write `encode(words, corpus)` for two lists of words. The vocabulary consists of the distinct words
of the corpus, sorted by `sorted` and numbered from 0. The answer is a tensor of shape (L,) that
holds the ids of `words` as whole numbers. All words outside the vocabulary share one extra
id, the first free one.
""",
    reference=encode,
    cases=encode_cases,
    axes="L",
    mistakes=(
        Mistake(
            lambda words, corpus: torch.tensor(
                [sorted(corpus).index(w) if w in corpus else len(corpus) for w in words]
            ),
            "Each id is the word's first index in the sorted corpus, which still has repetitions. "
            "Remove them before you number the words.",
        ),
        Mistake(numbering(sorted), "You numbered repeated words too, so the ids have gaps."),
        Mistake(
            lambda words, corpus: numbering(sorted, unknown=lambda number: len(corpus))(
                words, corpus
            ),
            "You numbered repeated words too, and unknown ones got the length of the corpus. Begin "
            "with `set(corpus)`.",
        ),
        Mistake(
            numbering(lambda corpus: list(dict.fromkeys(corpus))),
            "You numbered the words in the order of the corpus. Sort them first.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: 0),
            "Unknown words got the id 0, which already belongs to a word.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: -1),
            "Unknown words got −1, which fetches the last row of a table. That row belongs to a "
            "known word.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: len(number) + 1),
            "Unknown words got N + 1. Ids start at 0, so N is the first free one.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: len(number) - 1),
            "Unknown words got the id of the last word.",
        ),
        Mistake(
            lambda words, corpus: torch.tensor(
                [distinct(corpus).index(w) if w in corpus else len(corpus) for w in words]
            ),
            "Unknown words got the length of the corpus, not of the vocabulary.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: len(number) + 1, first=1),
            "You counted from 1. The first word has the id 0.",
        ),
        Mistake(
            lambda words, corpus: encode([w.lower() for w in words], [w.lower() for w in corpus]),
            "You ignored capitals. *Life* and *life* are two words here.",
        ),
        Mistake(new_ids, "Each unknown word got an id of its own. They should all share one."),
    ),
    properties=(
        Property(
            "Ids should follow the order of `sorted`, but yours do not. A set has no order of its "
            "own.",
            lambda answer, case: rises(answer, *case.arguments),
        ),
    ),
    others=(encode_by_counting,),
    comes_back="Chapter 9 encodes two languages this way, with extra ids for the ends of "
    "sentences.",
    hints=(
        "Remove repetitions, sort the words, and number them. Then look up each word.",
        "A dictionary's `.get(word, default)` returns the default for a word that is not in it.",
        "With N words in the vocabulary, the ids 0 … N − 1 are taken.",
    ),
    insight="All unknown words share one id and therefore one embedding, so a model cannot tell "
    "them apart.",
)
