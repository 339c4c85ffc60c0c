"""Tests of a real model, which are skipped where it is not installed."""

import pytest

from attnbook.pretrained.minilm import minilm_archive

NO_MINILM = "the model MiniLM is not installed: run `make model`"
needs_minilm = pytest.mark.skipif(minilm_archive() is None, reason=NO_MINILM)
