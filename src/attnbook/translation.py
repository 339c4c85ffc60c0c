"""Chinese and English side by side: pairs, vocabularies and batches, for a model that translates.

The corpus comes from a grammar (`attnbook.grammar`), or from a file of the reader's. The grammar's
Chinese is cut into words already: writing has no blanks there, and a model needs units (chapter 2).
English is in lower case. A question ends in ？ and ?; a statement has no full stop.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.grammar.corpus import (
    LONGEST,
    Corpus,
    Pair,
    held_out_combinations,
    make_corpus,
    word_by_word,
)
from attnbook.masks import padding_mask
from attnbook.own_pairs import Loaded, characters, english_words, load_pairs

__all__ = [
    "BEGIN",
    "END",
    "LONGEST",
    "PAD",
    "UNKNOWN",
    "Batch",
    "Corpus",
    "Loaded",
    "Pair",
    "Vocabulary",
    "characters",
    "draw_pairs",
    "english_words",
    "held_out_combinations",
    "load_pairs",
    "make_batch",
    "make_corpus",
    "word_by_word",
]

PAD, BEGIN, END, UNKNOWN = range(4)
MARKS = ("PAD", "BEGIN", "END", "UNKNOWN")


class Vocabulary:
    """The different words of some sentences, numbered; 0 … 3 are PAD, BEGIN, END and UNKNOWN."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        found = {word for sentence in sentences for word in sentence}
        self.words = [*MARKS, *sorted(found.difference(MARKS))]
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def encode(self, words: Sequence[str]) -> list[int]:
        """The number of each word, UNKNOWN where the vocabulary lacks it."""
        if isinstance(words, str):
            raise TypeError(f"{words!r} is one string: words are wanted, such as {words.split()!r}")
        return [self._ids.get(word, UNKNOWN) for word in words]

    def decode(self, ids: Iterable[int] | Tensor) -> tuple[str, ...]:
        """The words up to the first END, without PAD and BEGIN."""
        words: list[str] = []
        for i in ids.tolist() if isinstance(ids, Tensor) else ids:
            if not 0 <= i < len(self):
                raise ValueError(f"id {i}: this vocabulary has the ids 0 to {len(self) - 1}")
            if i == END:
                break
            if i not in (PAD, BEGIN):
                words.append(self.words[i])
        return tuple(words)


class Batch(NamedTuple):
    """Pairs as numbers, each language padded to its longest sentence.

    Shapes:  source (B, Ls)   source_mask (B, 1, Ls), True at words   target, labels (B, Lt)
             target holds BEGIN and the English words; labels holds what comes next at each place:
             the English words and END
    """

    source: Tensor
    source_mask: Tensor
    target: Tensor
    labels: Tensor


def make_batch(
    pairs: Sequence[Pair],
    chinese: Vocabulary,
    english: Vocabulary,
    device: torch.device | str = "cpu",
) -> Batch:
    """Number the words of the pairs, pad them, and shift the English by one place.

    Raises:  ValueError if there is no pair
    """
    if not pairs:
        raise ValueError("0 pairs: a batch needs at least one")
    sources = [chinese.encode(pair.chinese) for pair in pairs]
    targets = [english.encode(pair.english) for pair in pairs]
    source = pad(sources)
    mask = padding_mask([len(row) for row in sources], source.size(-1))
    target = pad([[BEGIN, *row] for row in targets])
    labels = pad([[*row, END] for row in targets])
    return Batch(*(x.to(device) for x in (source, mask, target, labels)))


def pad(rows: Sequence[Sequence[int]]) -> Tensor:
    """Fill the rows with PAD up to the longest: (B, L)."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def draw_pairs(pairs: Sequence[Pair], size: int, generator: torch.Generator) -> list[Pair]:
    """Draw pairs, each from all of them, with a generator on the CPU: alike on every device."""
    return [pairs[i] for i in torch.randint(len(pairs), (size,), generator=generator).tolist()]
