"""The sentences that the book works with: one for numbers, a parallel corpus, the reader's own."""

from attnbook.corpus.grammar.corpus import (
    LONGEST,
    Corpus,
    Pair,
    held_out_combinations,
    make_corpus,
    word_by_word,
)
from attnbook.corpus.sentence import (
    APPLE_IS_SWEET,
    LIFE_IS_SHORT,
    life_is_short,
    tokens,
    vocabulary,
)
from attnbook.corpus.translation import (
    BEGIN,
    END,
    PAD,
    UNKNOWN,
    Batch,
    Vocabulary,
    draw_pairs,
    make_batch,
    pad,
)
from attnbook.corpus.user_corpus import LoadedPairs, characters, english_words, load_pairs

__all__ = [
    "APPLE_IS_SWEET",
    "BEGIN",
    "END",
    "LIFE_IS_SHORT",
    "LONGEST",
    "PAD",
    "UNKNOWN",
    "Batch",
    "Corpus",
    "LoadedPairs",
    "Pair",
    "Vocabulary",
    "characters",
    "draw_pairs",
    "english_words",
    "held_out_combinations",
    "life_is_short",
    "load_pairs",
    "make_batch",
    "make_corpus",
    "pad",
    "tokens",
    "vocabulary",
    "word_by_word",
]
