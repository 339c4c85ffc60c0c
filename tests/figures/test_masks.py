"""The pictures of chapter 6: each cell says the same by colour and by hatching or sign."""

import re

import pytest
import torch

from attnbook import causal_mask, figures
from attnbook.colours import ROLES

WORDS = ["苹果", "很", "甜"]
KEYS = ["Life", "is", "short", "eat"]
PINK, INK, WHITE = ROLES["weights"].fill.lower(), "#222222", "#ffffff"
WIDE = torch.tensor([[True, False, False, True], [True, True, False, False], [False] * 4])


def squares(svg):
    """Fill of every square cell, sorted into rows from top to bottom and left to right."""
    found = re.findall(
        r'd="M ([\d.]+) ([\d.]+)  L ([\d.]+) [\d.]+  L [\d.]+ ([\d.]+) [^"]*"[^>]*'
        r'style="fill: (#\w{6}|url\(#[\w-]+\))',
        svg,
    )
    cells = [
        (round(float(y)), float(x), "hatched" if fill.startswith("url") else fill)
        for x, y, right, top, fill in found
        if abs(abs(float(right) - float(x)) - abs(float(top) - float(y))) < 0.2
        and float(right) - float(x) > 15
    ]
    return [fill for _, _, fill in sorted(cells)]


def test_a_mask_is_full_where_a_query_may_look_and_hatched_where_not(drawn):
    assert figures.plot_masks({"wide": WIDE}, WORDS, KEYS) is None
    (svg,) = drawn
    assert svg.startswith("<svg")
    assert "<pattern" in svg
    expected = [PINK if allowed else "hatched" for allowed in WIDE.flatten().tolist()]
    assert squares(svg) == expected


def test_masks_stand_side_by_side_and_each_moves_the_picture(drawn):
    one, other = causal_mask(3), causal_mask(3)
    other[0, 2] = True
    figures.plot_masks({"a": one, "b": one}, WORDS)
    figures.plot_masks({"a": one, "b": one}, WORDS, WORDS)
    figures.plot_masks({"a": one, "b": other}, WORDS)
    assert len(squares(drawn[0])) == 18
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert squares(drawn[0]).count("hatched") == 6
    assert squares(drawn[2]).count("hatched") == 5


def test_a_leak_is_dark_and_what_may_move_or_did_not_is_not(drawn):
    moved = torch.tensor([[True, True, False], [False, True, False], [True, True, True]])
    assert figures.plot_leaks({"some": moved}, causal_mask(3), WORDS) is None
    p, w, x = PINK, WHITE, INK
    assert squares(drawn[0]) == [p, x, w, w, p, w, p, p, p]


def test_a_leak_also_carries_a_sign(drawn):
    right = causal_mask(3)
    wrong = right.clone()
    wrong[0, 1] = True
    figures.plot_leaks({"map": right}, right, WORDS)
    figures.plot_leaks({"map": wrong}, right, WORDS)
    signs = [len(re.findall(r'<g style="fill: #ffffff"', svg)) for svg in drawn]
    assert signs == [0, 1]


MASK = causal_mask(3)
BAD = [
    (ValueError, "plot_masks", ({}, WORDS), "0 masks: one to three are drawn"),
    (ValueError, "plot_masks", (dict.fromkeys("abcd", MASK), WORDS), "4 masks: one to three"),
    (TypeError, "plot_masks", ({"a": [[True]]}, WORDS), "mask 'a' must be a torch.Tensor, got li"),
    (ValueError, "plot_masks", ({"a": MASK.int()}, WORDS), "mask 'a' has dtype torch.int32: it mu"),
    (
        ValueError,
        "plot_masks",
        ({"a": MASK}, WORDS, KEYS),
        r"'a' has shape \(3, 3\) but there are 3 row labels and 4 column",
    ),
    (ValueError, "plot_leaks", ({}, MASK, WORDS), "0 maps: one to three are drawn"),
    (ValueError, "plot_leaks", ({"a": WIDE}, MASK, WORDS), r"map 'a' has shape \(3, 4\) but there"),
    (ValueError, "plot_leaks", ({"a": MASK}, WIDE, WORDS), "mask 'allowed' has shape"),
    (ValueError, "plot_leaks", ({"a": MASK.float()}, MASK, WORDS), "'a' has dtype torch.float32"),
]


@pytest.mark.parametrize(("error", "name", "arguments", "message"), BAD)
def test_bad_input_is_named(error, name, arguments, message, drawn):
    with pytest.raises(error, match=message):
        getattr(figures, name)(*arguments)
    assert not drawn
