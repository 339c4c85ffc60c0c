"""The summary of chapter 7, tried with other vectors, widths and initializations."""

import functools
import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnbook import (
    MultiHeadAttention,
    SelfAttention,
    SinusoidalPositions,
    alibi_bias,
    apply_rotary,
    rotation_matrix,
    sinusoidal_encoding,
)
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("07_positional_encoding.ipynb")


@claim(
    "Attention without a mask is permutation equivariant: if you reorder the input rows, the output"
    " rows are reordered, and nothing else changes.",
    "So order has to be put into the rows or into the scores.",
    seed=(11, 12),
    words=(5, 40),
)
@torch.no_grad()
def test_only_positions_in_the_rows_or_scores_break_the_symmetry(seed, words):
    torch.manual_seed(seed)
    layer, x = MultiHeadAttention(16, 2).double(), torch.randn(words, 16).double()
    order = torch.randperm(words)
    positions, bias = SinusoidalPositions(16), alibi_bias(2, words, words).double()
    assert_close(layer(x[order])[0], layer(x)[0][order])
    moved = layer(positions(x[order]))[0] - layer(positions(x))[0][order]
    assert moved.abs().max() > 1e-3
    moved = layer(x[order], bias=bias)[0] - layer(x, bias=bias)[0][order]
    assert moved.abs().max() > 1e-3


@claim(
    "Sinusoids are bounded: D/2 clock hands, from fast to slow.",
    words=(10, 5000),
    width=(6, 64),
)
def test_sinusoids_are_bounded_and_turn_steadily_from_fast_to_slow(words, width):
    p = sinusoidal_encoding(words, width).double()
    hands = torch.complex(p[:, 1::2], p[:, ::2])  # (L, D/2)
    assert_close(hands.abs(), torch.ones(words, width // 2).double(), atol=1e-5, rtol=0)
    turns = (hands[1:] / hands[:-1]).angle()
    assert_close(turns, turns[:1].expand_as(turns), atol=1e-3, rtol=0)  # a steady turn
    assert (turns[0].diff() < 0).all()


@claim("no single head can use it to look two words back.", seed=(11, 12), words=(8, 40))
def test_a_head_on_position_numbers_prefers_an_end_whatever_its_matrices_are(seed, words):
    """The words' own rows, which tell no position, are left out, so only the number counts."""
    torch.manual_seed(seed)
    rows = torch.arange(float(words))[:, None] * torch.ones(16)
    for _ in range(200):
        head = SelfAttention(16, 8, 8)
        for matrix in (head.w_q, head.w_k):
            nn.init.normal_(matrix.weight)
        scores = head.w_q(rows) @ head.w_k(rows).mT
        assert set(scores[1:].argmax(-1).tolist()) <= {0, words - 1}


@claim(
    "Moving an encoding by φ is one rotation, the same for every position.",
    "The dot product of two encodings depends only on their distance, and not on its sign; the"
    " projections can tell left from right.",
    width=(6, 64),
    moved=(1, 7),
)
def test_a_rotation_moves_every_encoding_and_their_products_are_even(width, moved):
    p = sinusoidal_encoding(60, width).double()
    turn = rotation_matrix(moved, width).double()
    assert_close(p[:-moved] @ turn.T, p[moved:], atol=1e-5, rtol=0)
    products = p @ p.T
    for distance in range(30):
        each = torch.cat([products.diagonal(distance), products.diagonal(-distance)])
        assert_close(each, each[:1].expand_as(each), atol=1e-4, rtol=0)
    left, right = ((p @ rotation_matrix(by, width).double().T @ p.T) for by in (-moved, moved))
    assert (left[20].argmax() - 20, right[20].argmax() - 20) == (-moved, moved)


@claim(
    "rotary positions rotate query and key, so that only the distance is left.",
    seed=(11, 12),
    width=(6, 64),
)
def test_rotated_scores_depend_only_on_the_distance(seed, width):
    torch.manual_seed(seed)
    query, key = (torch.randn(width).double().expand(40, width) for _ in range(2))
    at = torch.arange(40)
    scores = apply_rotary(query, at) @ apply_rotary(key, at).mT
    for distance in range(-30, 31):
        each = scores.diagonal(distance)
        assert_close(each, each[:1].expand_as(each))
    assert not math.isclose(scores[5, 9], scores[9, 5])


@functools.cache
def cards(width: int) -> dict:
    """Sections 7.7, 7.9 and 7.12 at some width, before any training."""
    cells = ("deal", "reader-class", "lesson-code", "right", "rotary", "more-ways")
    before = chapter.source("more-ways").partition("tried =")[0]
    wider = chapter.source("deal").replace(
        "HAND, WIDTH = 52, 12, 32", f"HAND, WIDTH = 52, 12, {width}"
    )
    made = chapter.run(*cells, **{"more-ways": before, "deal": wider})
    assert made["WIDTH"] == width
    return made


@pytest.fixture(scope="module")
def taught():
    """Train a model of 7.12, and return the fractions right: of 12 cards, of the last 12 of 48."""
    found: dict[tuple, tuple[float, float]] = {}

    def train(way: str, seed: int, width: int) -> tuple[float, float]:
        if (way, seed, width) not in found:
            made = cards(width)
            ways = {
                "none": (nn.Identity,),
                "sinusoids": (lambda: SinusoidalPositions(width),),
                "learned": (made["learned_rows"],),
                "Shaw": (nn.Identity, made["shaw_head"]),
                "rotary": (nn.Identity, made["rotary_head"]),
            }
            positions, *head = ways[way]
            model = made["taught"](positions, seed, *head)
            short, long = made["right"](model).mean(), made["right"](model, 48)[-12:].mean()
            found[way, seed, width] = short.item(), long.item()
        return found[way, seed, width]

    return train


@claim(
    "On a task that needs order, a model without positions is at chance.",
    seed=(11, 12),
    width=(48,),
)
def test_without_positions_the_card_two_back_is_a_guess(taught, seed, width):
    assert taught("none", seed, width)[0] < 0.2
    assert taught("sinusoids", seed, width)[0] > 0.8


@claim(
    "On texts longer than those in training, learned positions fail, and here sinusoids failed,"
    " too.",
    "Of the two relative methods, one kept working and the other lost ground.",
    seed=(11, 12),
    width=(48,),
)
def test_what_is_left_of_each_encoding_in_deals_of_48(taught, seed, width):
    found = {way: taught(way, seed, width) for way in ("sinusoids", "learned", "Shaw", "rotary")}
    assert min(short for short, _ in found.values()) > 0.8
    late = {way: long for way, (_, long) in found.items()}
    assert max(late["learned"], late["sinusoids"]) < 0.3
    assert late["Shaw"] > 0.9
    assert late["rotary"] < late["Shaw"]
