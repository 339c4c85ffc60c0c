"""The code of chapters runs here as in a notebook, without pictures and without side effects."""

import pytest
import torch

from tests.support.corpus import corpus_made_once


@pytest.fixture(scope="module", autouse=True)
def undisturbed():
    """A chapter's cells display no pictures, and their settings are reset after the tests.

    PyTorch uses one thread: on the chapters' small matrices, two would mostly wait for each other.
    """
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnbook.figures.canvas.display", lambda picture, raw: None)
        patch.setattr("attnbook.corpus.make_corpus", corpus_made_once)
        torch.set_num_threads(1)
        yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(torch.float32)
