"""Chinese and English side by side: pairs, vocabularies and batches for a translation model.

The pairs come from the grammar beside this module or from the reader's own file (`user_corpus`).
The Chinese of the grammar is already split into words, because Chinese is written without spaces
and a model needs tokens (chapter 2). English is in lowercase. A question ends in ？ or ?; a
statement has no period.

Four special tokens come first in each vocabulary. PAD fills short rows, BEGIN and END are
also called BOS and EOS (beginning and end of sequence), and UNKNOWN is also called UNK.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.attention.masks import padding_mask
from attnbook.corpus.grammar.corpus import Pair

PAD, BEGIN, END, UNKNOWN = range(4)
SPECIAL_TOKENS = ("PAD", "BEGIN", "END", "UNKNOWN")


class Vocabulary:
    """The different words of some sentences, with their ids; 0 to 3 are the special tokens."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        distinct = {word for sentence in sentences for word in sentence}
        self.words = [*SPECIAL_TOKENS, *sorted(distinct.difference(SPECIAL_TOKENS))]
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def encode(self, words: Sequence[str]) -> list[int]:
        """The id of each word, or of UNKNOWN for a word that is not in the vocabulary.

        Raises:  TypeError if `words` is one string
        """
        if isinstance(words, str):
            raise TypeError(f"{words!r} is one string: pass words, such as {words.split()!r}")
        return [self._ids.get(word, UNKNOWN) for word in words]

    def decode(self, ids: Iterable[int] | Tensor) -> tuple[str, ...]:
        """The words up to the first END, without PAD and BEGIN.

        Raises:  ValueError if an id is out of range
        """
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
    """Pairs as token ids, each language padded to its longest sentence.

    `target` holds BEGIN and the English words. `labels` holds the next token at each position: the
    English words and END.

    Shapes:  source (B, Ls)   source_mask (B, 1, Ls), True at words   target, labels (B, Lt)
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
    """Encode pairs as token ids, pad them, and shift the English by one position for the labels.

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
    """Pad the rows with PAD to the length of the longest: (B, L)."""
    length = max(len(row) for row in rows)
    return torch.tensor([[*row, *[PAD] * (length - len(row))] for row in rows])


def draw_pairs(pairs: Sequence[Pair], size: int, generator: torch.Generator) -> list[Pair]:
    """Draw `size` pairs with replacement; a CPU generator gives the same pairs on every device."""
    return [pairs[i] for i in torch.randint(len(pairs), (size,), generator=generator).tolist()]
