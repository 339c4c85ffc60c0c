"""The summary of chapter 3, tried with other vectors, widths and initializations."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnbook import scaled_dot_product_attention, softmax
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("03_single_head.ipynb")


@claim(
    "You can compute attention: project to queries, keys and values; compare and scale; apply the"
    " softmax along each row; and mix the values. In one line, this is"
    r" $\operatorname{softmax}\!\left(\textcolor{query}{Q}\textcolor{key}{K}^\top/\sqrt{d_k}\right)"
    r"\textcolor{value}{V}$.",
    "Loops, equation, library and PyTorch agree to 1e-12.",
    seed=(11, 12),
    width=(3, 100),
)
def test_four_ways_to_compute_attention_agree(seed, width):
    by_loops = chapter.run("loop-code")["attend_by_loops"]
    torch.manual_seed(seed)
    x, (w_q, w_k, w_v) = torch.randn(7, 16).double(), torch.randn(3, 16, width).double() / 4
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    weights = (query @ key.T / math.sqrt(width)).softmax(-1)
    found, _ = scaled_dot_product_attention(query, key, value)
    others = [weights @ value, nn.functional.scaled_dot_product_attention(query, key, value)]
    loops = by_loops(query, key, value)
    others.append(loops[0] if isinstance(loops, tuple) else loops)
    for other in others:
        assert_close(other, found, rtol=0, atol=1e-12)


@claim("A softmax along the wrong axis fails silently.", seed=(11, 12), width=(3, 100))
def test_a_softmax_along_the_wrong_axis_gives_the_same_shape_and_other_numbers(seed, width):
    torch.manual_seed(seed)
    query, key, value = torch.randn(3, 7, width)
    scores = query @ key.T / math.sqrt(width)
    wrong, right = (softmax(scores, dim=dim) @ value for dim in (0, 1))
    assert wrong.shape == right.shape
    assert wrong.isfinite().all()
    assert (wrong - right).abs().max() > 0.1


@claim(
    "If the largest score isn't subtracted, the softmax overflows in float32 at a score of 89, and"
    " in a long row even earlier.",
    words=(100, 10_000),
    largest=(85, 88),
)
def test_a_long_row_overflows_before_a_single_score_does(words, largest):
    def plain(scores: torch.Tensor) -> torch.Tensor:
        return scores.exp() / scores.exp().sum()

    assert torch.tensor(88.0).exp().isfinite()
    assert torch.tensor(89.0).exp().isinf()
    row = torch.full((words,), float(largest))
    assert math.log(words) + largest > math.log(torch.finfo(torch.float32).max)
    assert plain(row).sum() != pytest.approx(1)
    assert softmax(row).sum().item() == pytest.approx(1, abs=1e-4)


@claim(
    "The dot product of two vectors of $d_k$ random numbers with mean 0 and variance 1 has standard"
    " deviation $\\sqrt{d_k}$.",
    seed=(11, 12),
    width=(20, 300),
    kind=("normal", "uniform", "signs"),
)
def test_the_standard_deviation_of_a_dot_product(seed, width, kind):
    torch.manual_seed(seed)
    draw = {
        "normal": lambda: torch.randn(20_000, width),
        "uniform": lambda: (torch.rand(20_000, width) - 0.5) * 12**0.5,
        "signs": lambda: torch.randint(2, (20_000, width)) * 2.0 - 1,
    }[kind]
    assert (draw() * draw()).sum(-1).std().item() == pytest.approx(width**0.5, rel=0.03)


@claim(
    "Undivided, it saturates the softmax of a wide head: many rows then pass hardly any gradient,",
    seed=(11, 12),
    width=(512, 2048),
)
def test_many_rows_of_a_wide_undivided_head_are_saturated(seed, width):
    torch.manual_seed(seed)
    scores = torch.randn(20, 10, width) @ torch.randn(20, 8, width).mT
    for divisor, low, high in ((1, 0.4, 1), (width**0.5, 0, 0.01)):
        weights = softmax(scores / divisor)
        dead = ((weights * (1 - weights)).amax(-1) < 0.001).double().mean()
        assert low <= dead <= high


@pytest.fixture(scope="module")
def game() -> dict:
    return chapter.run("game", "wide-head", "play")


@claim(
    "a large training step moves the scores much too far.",
    "The division lets a wide head learn at a larger learning rate.",
    seed=(1, 2),
    width=(512,),
)
def test_only_divided_heads_learn_in_large_steps(game, seed, width):
    undivided, divided = (
        [game["play"](divisor, seed=seed, d_k=width, steps=steps) for steps in (2, 400)]
        for divisor in (1, math.sqrt(width))
    )
    assert undivided[0][0] > 5 * divided[0][0]
    assert undivided[1][1] < divided[1][1]
    assert divided[1][1] >= 4


@claim(
    "Tying $W_Q = W_K$ makes the scores symmetric, and a word mostly finds itself.",
    seed=(11, 12),
    width=(8, 64),
)
def test_with_one_matrix_a_word_mostly_finds_itself(seed, width):
    torch.manual_seed(seed)
    x, w_q, w_k = torch.randn(100, 9, 16), *torch.randn(2, 100, 16, width) / 4
    tied, free = x @ w_q @ (x @ w_q).mT, x @ w_q @ (x @ w_k).mT
    assert_close(tied, tied.mT)
    itself = [(s.argmax(-1) == torch.arange(9)).double().mean() for s in (tied, free)]
    assert itself[0] > 0.8
    assert itself[1] < 0.3


@claim("Tying $W_K = W_V$ makes label and content share one vector.", seed=(11, 12), width=(2, 5))
def test_with_one_matrix_words_found_by_the_same_label_hand_over_the_same_content(seed, width):
    """If a matrix of keys finds two words by the same label, the tied value says no more."""
    torch.manual_seed(seed)
    w_k, w_v, query = torch.randn(8, width), torch.randn(8, width), torch.randn(1, width)
    unseen = torch.linalg.svd(w_k.T).Vh[width]  # a trait that the keys don't show
    sweet = torch.randn(6, 8)
    sour = sweet + torch.eye(6)[5][:, None] * unseen
    tied, free = (
        [scaled_dot_product_attention(query, x @ w_k, x @ w)[0] for x in (sweet, sour)]
        for w in (w_k, w_v)
    )
    assert_close(*tied, atol=1e-4, rtol=1e-4)
    assert (free[0] - free[1]).abs().max() > 1e-3


@pytest.fixture(scope="module")
def reader() -> dict:
    cells = "lexicon", "sentences-code", "reader-code", "reader-loss", "exam-code", "grow-code"
    return chapter.run(*cells)


@claim(
    "苹果 (apple) attends to 甜 (sweet) after training, not before.",
    "It finds 甜 by what it is, not by where it is.",
    seed=(11, 12),
    width=(16, 24),
)
@torch.no_grad()
def test_the_apple_finds_sweet_wherever_it_is_but_only_after_training(reader, seed, width):
    wider = chapter.source("reader-code").replace("16", str(width))
    exec(wider, space := dict(reader))
    exec(chapter.source("grow-code"), space)
    with torch.enable_grad():
        model, _, maps = space["grow"](seed)
    assert maps[0][0, 2] < 0.4
    assert maps[-1][0, 2] > 0.9
    apple, very, sweet = (space["ID"][word] for word in ("苹果", "很", "甜"))
    for place in range(1, 7):
        words = [apple, *[very] * 6]
        words[place] = sweet
        _, weights = model(torch.tensor([words]).to(space["device"]()))
        assert weights[0, 0].argmax() == place
        assert weights[0, 0, place] > 0.7
