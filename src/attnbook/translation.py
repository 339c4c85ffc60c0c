"""Chinese and English side by side: pairs made by a grammar, their vocabulary, batches of them.

The Chinese is cut into words already, because writing has no blanks there and a model needs units
(chapter 2). English is in lower case. A question ends in ？ and ?; a statement has no full stop.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.grammar.phrases import Draw, fitting
from attnbook.grammar.sentences import sentence
from attnbook.grammar.words import dictionary, nouns, verbs
from attnbook.masks import padding_mask

Words = tuple[str, ...]
PAD, BEGIN, END, UNKNOWN = range(4)
MARKS = ("PAD", "BEGIN", "END", "UNKNOWN")
LONGEST = 11  # words that a training sentence has at most, in each language


@dataclass(frozen=True)
class Pair:
    """A Chinese sentence and its English, word by word.

    `combinations` are the pairs of Chinese words that belong together in it: an adjective and its
    noun, a verb and its object.
    """

    chinese: Words
    english: Words
    combinations: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False, repr=False)

    @property
    def pinyin(self) -> str:
        """How the Chinese sounds, with the tones of the dictionary."""
        return " ".join(
            dictionary[word][0] if word in dictionary else word for word in self.chinese
        )


class Corpus(NamedTuple):
    """Pairs to learn from, and two kinds that training never sees."""

    train: list[Pair]
    new_combinations: list[Pair]
    longer: list[Pair]


def held_out_combinations() -> set[tuple[str, str]]:
    """What no training sentence combines: 苹果 with 甜, and about every tenth other combination.

    Each word of them keeps nine tenths of its combinations, and so is learned from those.
    """
    held_out = {("甜", "苹果")}
    made = [
        sorted(("".join(verb.zh), noun.zh) for noun in nouns if noun.kinds & verb.kinds)
        for verb in verbs
    ]
    described: dict[str, list[tuple[str, str]]] = {}
    for noun in nouns:
        for adjective in fitting(noun):
            described.setdefault(adjective.zh, []).append((adjective.zh, noun.zh))
    made += [sorted(pairs) for pairs in described.values()]
    often = [pair for pairs in sorted(made) if len(pairs) >= 4 for pair in pairs if pair[0] != "甜"]
    return held_out | set(often[5::10])


def make_corpus(n_train: int = 20_000, n_test: int = 500, seed: int = 0) -> Corpus:
    """Draw different pairs from the grammar, and deal them out.

    A pair with a combination of `held_out_combinations` goes to `new_combinations`, and one that
    has more than LONGEST words in both languages to `longer`; `train` has neither, and both have no
    word that `train` has not.
    """
    draw, held_out = Draw(seed), held_out_combinations()
    train: dict[Words, Pair] = {}
    new: dict[Words, Pair] = {}
    longer: dict[Words, Pair] = {}
    while min(len(train) - n_train, len(new) - 2 * n_test, len(longer) - 2 * n_test) < 0:
        made = sentence(draw)
        pair = Pair(made.zh, made.en, made.combinations)
        lengths = len(pair.chinese), len(pair.english)
        unseen = bool(pair.combinations & held_out)
        if max(lengths) <= LONGEST:
            place, size = (new, 2 * n_test) if unseen else (train, n_train)
        elif min(lengths) > LONGEST and not unseen:
            place, size = longer, 2 * n_test
        else:
            continue
        if len(place) < size:
            place[pair.chinese] = pair
    learned = {word for pair in train.values() for word in (*pair.chinese, *pair.english)}
    tests = (
        [pair for pair in pairs.values() if learned.issuperset((*pair.chinese, *pair.english))]
        for pairs in (new, longer)
    )
    return Corpus(list(train.values()), *(pairs[:n_test] for pairs in tests))


def word_by_word(chinese: Iterable[str]) -> Words:
    """Put the first meaning that a dictionary gives in the place of each Chinese word."""
    return tuple(gloss for word in chinese for gloss in dictionary.get(word, ("", (word,)))[1])


class Vocabulary:
    """The words of one language, numbered from 4 on; 0 … 3 are PAD, BEGIN, END and UNKNOWN."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        self.words = [*MARKS, *sorted({word for s in sentences for word in s} - set(MARKS))]
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def encode(self, words: Sequence[str]) -> list[int]:
        """The number of each word; UNKNOWN for one that is not in the vocabulary."""
        return [self._ids.get(word, UNKNOWN) for word in words]

    def decode(self, ids: Iterable[int] | Tensor) -> Words:
        """The words up to END, without PAD and BEGIN."""
        words: list[str] = []
        for i in ids.tolist() if isinstance(ids, Tensor) else ids:
            if i == END:
                break
            if i not in (PAD, BEGIN):
                words.append(self.words[i])
        return tuple(words)


class Batch(NamedTuple):
    """Sentences of a batch, padded to the longest of their language.

    Shapes:  source (B, Ls)   source_mask (B, 1, Ls), True at words   target, labels (B, Lt)
             target is BEGIN and the English words; labels, at the same places, what comes next:
             the English words and END. Both are PAD behind that.
    """

    source: Tensor
    source_mask: Tensor
    target: Tensor
    labels: Tensor


def pad(rows: Sequence[Sequence[int]]) -> Tensor:
    """Fill rows of ids with PAD up to the longest: (B, L)."""
    longest = max((len(row) for row in rows), default=0)
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def make_batch(
    pairs: Sequence[Pair],
    chinese: Vocabulary,
    english: Vocabulary,
    device: torch.device | str = "cpu",
) -> Batch:
    """Number the words of the pairs and pad them."""
    sources = [chinese.encode(pair.chinese) for pair in pairs]
    targets = [english.encode(pair.english) for pair in pairs]
    source = pad(sources)
    mask = padding_mask([len(row) for row in sources], source.size(-1))
    target = pad([[BEGIN, *row] for row in targets])
    labels = pad([[*row, END] for row in targets])
    return Batch(*(x.to(device) for x in (source, mask, target, labels)))


def draw_pairs(pairs: Sequence[Pair], size: int, generator: torch.Generator) -> list[Pair]:
    """Draw pairs at random, with a generator on the CPU: the same on every device."""
    return [pairs[i] for i in torch.randint(len(pairs), (size,), generator=generator).tolist()]
