"""The two sentences of the book: one for numbers and one for meaning.

Source:  S1 (Raschka 2023) for the sentence, its dictionary and its seed; S2 for 苹果 / 很 / 甜
"""

from collections.abc import Iterable

import torch
from torch import Tensor

LIFE_IS_SHORT = "Life is short, eat dessert first"
APPLE_IS_SWEET = ("苹果", "很", "甜")


def tokens(sentence: str) -> list[str]:
    """Split a sentence into words at spaces, and drop the commas."""
    return sentence.replace(",", "").split()


def vocabulary(words: Iterable[str]) -> dict[str, int]:
    """Number the different words from 0, in the order of character codes."""
    return {word: i for i, word in enumerate(sorted(set(words)))}


def life_is_short() -> tuple[list[str], Tensor]:
    """The words of S1's sentence, and their embeddings in S1.

    The table is the one that `nn.Embedding(6, 16)` draws after
    `torch.manual_seed(123)`. Here it comes from a separate generator, so
    that this call does not change other random numbers.

    Returns: 6 words, embedding (6, 16) on the CPU, without a gradient
    Source:  S1, "Embedding an input sentence"
    """
    words = tokens(LIFE_IS_SHORT)
    ids = vocabulary(words)
    seeded = torch.Generator().manual_seed(123)
    table = torch.randn(len(ids), 16, generator=seeded)
    return words, table[[ids[word] for word in words]]  # (6, 16)
