"""Chapter 2: what its text claims beyond the widths and initializations that its cells show."""

import itertools
import math

import torch
from torch import nn

from attnbook import LanguageModel
from tests.support.chapters import Chapter

chapter = Chapter("02_embeddings.ipynb")


def test_the_loss_is_lowest_if_a_seen_taste_gets_a_tenth_or_a_fifteenth(embeddings):
    """Section 2.9: with room for every pair, or if the three tastes are treated alike.

    A tenth isn't the most that a taste can get: a model can give it more, at a higher loss.
    """
    sentences, tastes = embeddings["seen"], embeddings["tastes"]
    for fruit in embeddings["fruits"]:
        met = [b for s in sentences for a, b in itertools.permutations(s, 2) if a == fruit]
        assert len(met) == 10
        assert sorted(met.count(taste) for taste in tastes) == [0, 1, 1]
        apart = {word: met.count(word) / 10 for word in set(met)}
        alike = apart | dict.fromkeys(tastes, 0.2 / 3)
        for lowest, other in itertools.product((apart, alike), (0.9, 1.1)):
            changed = {word: p * (other if word in tastes else 1) for word, p in lowest.items()}
            assert surprise(met, lowest) < surprise(met, changed)
    assert "0.1 at most" not in chapter.source("held-out-seen")
    assert "0.2 / 3 = 0.067" in chapter.source("held-out-seen")


def surprise(met: list[str], given: dict[str, float]) -> float:
    """The cross-entropy of the neighbors met, if probabilities are in proportion to these."""
    return -sum(math.log(given[word] / sum(given.values())) for word in met) / len(met)


def test_six_rows_can_be_cut_in_twelve_ways_by_one_number_and_in_all_by_sixteen():
    """Section 2.3."""
    ids, answers = torch.arange(6.0), list(itertools.product([False, True], repeat=6))
    cuts = {
        tuple((sign * (ids - place) > 0).tolist())
        for sign in (1, -1)
        for place in torch.arange(-0.5, 6.5)
    }
    assert (len(cuts), len(answers)) == (12, 64)
    torch.manual_seed(0)
    wide = torch.randn(6, 16)
    for answer in answers:
        wanted = torch.tensor(answer).float() * 2 - 1
        factors = torch.linalg.lstsq(wide, wanted[:, None]).solution
        assert ((wide @ factors)[:, 0] > 0).tolist() == list(answer)
    text = chapter.source("not-vectors")
    assert "only 12 of them are possible" in text
    assert "16 random numbers, the same kind of model" in text
    assert "can give all 64 answers" in text


def test_a_table_that_is_also_the_output_layer_gets_a_gradient_in_every_row():
    """Section 2.4: a word that is not read gets none, unless the table guesses as well."""
    ids = torch.tensor([[3, 14, 15]])
    with_gradient = {}
    for tied in (True, False):
        torch.manual_seed(0)
        model = LanguageModel(100, 16, 2, 1, 1, 32, tied=tied)
        logits = model(ids)
        logits.logsumexp(-1).sum().backward()
        table = next(m for m in model.modules() if isinstance(m, nn.Embedding)).weight
        with_gradient[tied] = int((table.grad != 0).any(dim=1).sum())
    assert with_gradient == {True: 100, False: 3}


def test_the_text_says_what_the_claims_try():
    assert "if training moves the rows far enough" in chapter.source("summary")
