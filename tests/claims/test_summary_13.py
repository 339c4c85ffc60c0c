"""The summary of chapter 13, tried with other seeds and another width."""

import functools

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnbook import MultiHeadAttention
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("13_reading_attention.ipynb")
SEEDS, WIDTH = (11, 12), (40,)


@functools.cache
def space() -> dict:
    """Sections 13.3, 13.4, 13.8 and 13.9 without trained models."""
    three = chapter.source("remove-run").partition("print(")[0]
    cells = (
        "task-draw",
        "hand-exam",
        "task-first-layer",
        "grown-train",
        "grown-grow",
        "grown-exam",
    )
    more = ("scores-code", "path-code", "grown-run", "path-foretold", "remove-code", "remove-kinds")
    changed = {"grown-run": "two_layers = []", "remove-run": three}
    return chapter.run(*cells, *more, "remove-run", **changed)


@functools.cache
def grown(seed: int, width: int, **sizes: int) -> nn.Module:
    return space()["grow"](seed, width=width, **sizes)[0]


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@claim("It takes two heads in different layers.", seed=SEEDS, width=WIDTH)
def test_two_layers_learn_it_and_one_does_not(seed, width):
    assert space()["right"](grown(seed, width)) > 0.9
    assert space()["right"](grown(seed, width, n_layers=1)) < 0.2


@claim(
    "In our trained models, the earlier one writes each previous letter into the stream.",
    "With keys patched from another run, the models gave the wrong letter that we had predicted.",
    seed=SEEDS,
    width=WIDTH,
)
def test_the_second_layer_reads_previous_letters_as_keys(seed, width):
    model = grown(seed, width)
    previous, due = space()["head_scores"](model)
    assert previous[0].max() > 0.6 > previous[1].max()
    assert due[1].max() > 0.6 > due[0].max()
    tested, expected = space()["tested"], space()["expected"]
    hit = (space()["patched"](model, "key") == expected)[tested]
    assert hit.double().mean() > 0.85
    for other in ("query", "value"):
        hit = (space()["patched"](model, other) == space()["exam_ids"][:, 1:])[space()["asked"]]
        assert hit.double().mean() > 0.85


@claim(
    "Without biases, rotary positions and query-key normalization, two matrices determine a head:"
    " its QK circuit $W_Q W_K^\\top$ decides where it attends, and its OV circuit $W_V W_O$ decides"
    " what it adds.",
    seed=SEEDS,
    width=(4, 20),
)
@torch.no_grad()
def test_other_matrices_with_the_same_products_make_the_same_head(seed, width):
    torch.manual_seed(seed)
    layer, x = MultiHeadAttention(width, 1, bias=False), torch.randn(9, width)
    other, biased = (MultiHeadAttention(width, 1, bias=bias) for bias in (False, True))
    turn, stretch = torch.randn(2, width, width)
    for one in (other, biased):
        one.w_q.weight.copy_(turn @ layer.w_q.weight)
        one.w_k.weight.copy_(torch.linalg.inv(turn).T @ layer.w_k.weight)
        one.w_v.weight.copy_(stretch @ layer.w_v.weight)
        one.w_o.weight.copy_(layer.w_o.weight @ torch.linalg.inv(stretch))
    for found, right in zip(other(x), layer(x), strict=True):
        assert_close(found, right, rtol=1e-6, atol=1e-6)
    assert not torch.allclose(biased(x)[1], layer(x)[1])


@claim(
    "A head that attends eleven positions back gets the same induction score, but its model fails"
    " on other data.",
    seed=SEEDS,
    width=WIDTH,
)
def test_a_model_of_sequences_in_one_piece_fails_on_others(seed, width):
    one_piece = space()["draw"](256, torch.Generator().manual_seed(99), jumps=False)
    model = space()["grow"](seed, steps=100, jumps=False, width=width)[0]
    ids, place, known = one_piece
    _, due = space()["head_scores"](model, ids, place, known[:, 1:])
    assert due.max() > 0.9
    assert space()["right"](model, ids, known[:, 1:]) > 0.95
    assert space()["right"](model) < 0.25


@claim(
    "A head with a decisive map can be removed almost without loss if others do the same work.",
    "Zero, mean and resample ablation can disagree, because they ask different questions.",
    tried="width 40, seeds 11 and 12 together",
)
def test_some_decisive_head_is_not_needed_and_some_ablations_disagree():
    spared, apart = [], []
    for seed in SEEDS:
        model = grown(seed, *WIDTH)
        whole, (_, due) = space()["right"](model), space()["head_scores"](model)
        for head in range(4):
            left = [space()["right_without"](model, 1, head, kind) for kind in space()["ABLATIONS"]]
            spared.append(due[1, head] > 0.8 and left[1] > whole - 0.05)
            apart.append(max(left) - min(left))
        assert space()["right_without"](model, 1, [0, 1, 2, 3], "mean") < 0.3
    assert any(spared)
    assert max(apart) > 0.1
