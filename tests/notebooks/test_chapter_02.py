"""Chapter 2: what its text claims beyond the widths and the starts that its cells show."""

import pytest
import torch
from torch import nn

from attnbook.training import train
from tests.support.chapters import Chapter

chapter = Chapter("02_embeddings.ipynb")


@pytest.fixture(scope="module")
def names() -> dict:
    """The chapter's names where its tables are measured, without those it trains."""
    cells = ["small-language", "gloss", "held-out-sentences", "model", "learning", "record"]
    cells += ["cosines", "picture-points", "sorted-early", "exam-pairs", "shuffled"]
    cut = {
        "cosines": chapter.source("cosines").partition("torch.testing")[0],
        "picture-points": "order = [number[word] for word in shown]\n"
        "groups = {k: [i, i + 1, i + 2] for k, i in zip('abcde', (0, 4, 7, 10, 13))}",
        "sorted-early": chapter.source("sorted-early").partition("print(")[0],
    }
    return chapter.run(*cells, **cut)


def test_kinds_are_found_late_by_rows_that_start_large(names, monkeypatch):
    """What 2.9 says in brackets: with the standard deviation of nn.Embedding."""

    def large(seed: int) -> nn.Sequential:
        model = fresh(seed)
        nn.init.normal_(model[0].weight)
        return model

    fresh, early = names["fresh"], []
    for make in (fresh, large):
        monkeypatch.setitem(names, "fresh", make)
        for seed in range(10, 13):
            fall, tables = names["record"](seed)
            first = next(n for n in range(101) if names["complete"](tables[n]))
            early.append((fall[0] - fall[first]) / (fall[0] - fall[100]))
    assert max(early[:3]) < 0.6 < min(early[3:])


def test_a_table_of_two_numbers_keeps_to_kinds_for_a_thousand_steps(names):
    for seed in (5, 6):
        model = names["learn"](names["fresh"](seed, 2), names["seen"], 1000)
        seen, held_out, impossible = names["chances"](model).tolist()
        assert held_out == pytest.approx(seen, rel=0.05)
        assert impossible < 0.4 * seen


def test_weight_decay_keeps_a_wide_table_to_kinds(names):
    loss = names["guessing"](names["seen"])

    def priced(model: nn.Module) -> torch.Tensor:
        return loss(model) + 0.005 * sum(p.square().sum() for p in model.parameters())

    model = names["fresh"](0, 16)
    train(model, priced, steps=600, lr=0.05)
    seen, held_out, impossible = names["chances"](model).tolist()
    assert held_out == pytest.approx(seen, rel=0.05)
    assert impossible < 0.4 * seen


def test_how_often_a_word_occurs_finds_hardly_more_kinds_than_luck(names):
    found = [
        names["finds_its_kind"](
            names["learn"](names["fresh"](seed), names["shuffled"](names["seen"], seed))
        )
        for seed in range(20, 60)
    ]
    assert sum(found) / len(found) < 15 / 7 + 1.2  # of 15; with the grammar all 15
