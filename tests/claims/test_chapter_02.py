"""Chapter 2: what its text claims beyond what its cells print, tried in other experiments."""

import pytest
import torch
from torch import nn

from attnbook.training import train
from tests.support.chapters import Chapter

chapter = Chapter("02_embeddings.ipynb")


@pytest.fixture(scope="module")
def tables(embeddings) -> list[nn.Sequential]:
    """The ten trained models."""
    return [
        embeddings["learn"](embeddings["fresh"](seed), embeddings["seen"]) for seed in range(10)
    ]


def rows(embeddings, model: nn.Sequential, layer: int = 0) -> torch.Tensor:
    """The cosines between all words, in the embedding table or in the linear layer."""
    return embeddings["cosines"](model[layer].weight.detach()).cpu()


def test_ten_tables_know_kinds_and_sentences_that_they_have_not_seen(embeddings, tables):
    """Sections 2.9 and 2.10: words of a kind are similar, and 苹果 resembles two kinds."""
    number = embeddings["number"]
    fruits, firms = ([number[w] for w in embeddings[kind]] for kind in ("fruits", "firms"))
    pear, peach, sour, apple = (number[word] for word in ("梨", "桃", "酸", "苹果"))
    for model in tables:
        similar = rows(embeddings, model)
        assert similar[pear, peach] - similar[pear, sour] > 0.5
        to_each = min(similar[apple, kind].mean() for kind in (fruits, firms))
        assert to_each > similar[fruits][:, firms].mean() + 0.1
        tastes = rows(embeddings, model, 1)[[number[w] for w in "甜酸脆"]]
        assert tastes[:, [number[w] for w in "甜酸脆"]].min() > 0.9
        seen, held_out, impossible = embeddings["probabilities"](model).tolist()
        assert held_out > 0.9 * seen
        assert impossible < 0.1 * seen


def test_kinds_are_complete_before_half_of_the_drop(embeddings):
    """Section 2.9: what the interactive figure shows, for ten random initializations."""
    kinds = [embeddings[kind] for kind in ("fruits", "firms", "tastes", "goods", "people")]
    order = [embeddings["number"][word] for word in embeddings["shown"]]
    at = {word: i for i, word in enumerate(embeddings["shown"])}

    def complete(table: torch.Tensor) -> bool:
        similar = embeddings["cosines"](table[order]).fill_diagonal_(-2)
        nearest = similar.argmax(dim=1).tolist()
        return all(nearest[at[w]] in [at[v] for v in kind] for kind in kinds for w in kind)

    for seed in range(10):
        losses, tables = embeddings["record"](seed)
        first = next(n for n in range(101) if complete(tables[n]))
        assert losses[0] - losses[first] < 0.5 * (losses[0] - losses[100])


def test_a_table_of_two_numbers_keeps_to_kinds_for_a_thousand_steps(embeddings):
    for seed in (5, 6):
        model = embeddings["learn"](embeddings["fresh"](seed, 2), embeddings["seen"], 1000)
        seen, held_out, impossible = embeddings["probabilities"](model).tolist()
        assert held_out == pytest.approx(seen, rel=0.05)
        assert impossible < 0.4 * seen


def test_how_often_a_word_occurs_finds_hardly_more_kinds_than_luck(embeddings):
    found = [
        embeddings["finds_its_kind"](
            embeddings["learn"](
                embeddings["fresh"](seed), embeddings["shuffled"](embeddings["seen"], seed)
            )
        )
        for seed in range(20, 60)
    ]
    assert sum(found) / len(found) < 15 / 7 + 1.2  # of 15; without shuffling, all 15 are found


def started(embeddings, seed: int, width: int, std: float, lr: float = 0.05) -> nn.Sequential:
    """A model whose table starts with this standard deviation, trained as in the chapter."""
    model = embeddings["fresh"](seed, width, std)
    train(model, embeddings["guessing"](embeddings["seen"]), 100, lr)
    return model


def test_words_with_the_same_neighbors_get_similar_rows_only_if_training_moves_the_rows_far(
    embeddings,
):
    """Sections 2.9 and 2.11: little room, a short start or a large rate all move them far."""
    pear, peach = embeddings["number"]["梨"], embeddings["number"]["桃"]
    assert nn.Embedding(50, 50).weight.std().item() == pytest.approx(1, abs=0.1)
    for std, width in ((0.1, 256), (1, 4), (1, 16)):
        model = started(embeddings, 10, width, std)
        assert rows(embeddings, model)[pear, peach] > 0.4
        assert embeddings["finds_its_kind"](model) > 12
    for seed in (10, 11):
        wide = started(embeddings, seed, 256, 1)
        assert rows(embeddings, wide)[pear, peach] < 0.3
        assert embeddings["finds_its_kind"](wide) < 6
        assert embeddings["probabilities"](wide)[0] > 0.09
        assert embeddings["finds_its_kind"](started(embeddings, seed, 256, 1, lr=0.5)) > 8
        long_rows = started(embeddings, seed, 4, 10)  # with little room
        assert embeddings["finds_its_kind"](long_rows) < 8
