"""The corpus of chapter 9, shared by the tests."""

import functools

from attnbook.corpus import make_corpus

corpus_made_once = functools.cache(make_corpus)  # slow to make, and no test changes it
