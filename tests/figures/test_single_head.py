"""The pictures of chapter 3: to scale, in the colours of the roles, and moved by their numbers."""

import re

import pytest
import torch

from attnbook import figures
from attnbook.colours import ROLES

WORDS = ["Life", "is", "short"]
KEYS = ["苹果", "很", "甜", "的"]
MAP = torch.tensor([[0.2, 0.3, 0.5, 0.0], [0.125, 0.875, 0.0, 0.0], [0.0, 0.25, 0.75, 0.0]])


def boxes(svg):
    """Every rectangle that is filled: its fill, opacity, and (width, height)."""
    found = re.findall(
        r'd="M ([\d.]+) ([\d.]+)  L ([\d.]+) [\d.]+  L [\d.]+ ([\d.]+) [^"]*"[^>]*'
        r'style="fill: (#\w{6})(?:; fill-opacity: ([\d.]+))?',
        svg,
    )
    return [
        (fill, opacity, abs(float(c) - float(a)), abs(float(d) - float(b)))
        for a, b, c, d, fill, opacity in found
    ]


def test_the_head_is_drawn_to_scale_with_every_shape(drawn):
    assert figures.plot_head(WORDS, KEYS, 9, 5, 1, 2) is None
    (svg,) = drawn
    assert svg.startswith("<svg")
    full = {}
    for fill, opacity, width, height in boxes(svg):
        if opacity == "0.2":
            full.setdefault(fill, []).append((width, height))
    ((q_width, q_height),) = full[ROLES["query"].fill.lower()]
    ((k_width, k_height),) = full[ROLES["key"].fill.lower()]
    ((v_width, v_height),) = full[ROLES["value"].fill.lower()]
    ((w_width, w_height),) = full[ROLES["weights"].fill.lower()]
    unit = q_height / 3
    sizes = (q_width, k_width, k_height, v_width, v_height, w_width, w_height)
    assert [round(size / unit, 1) for size in sizes] == pytest.approx(
        [9, 4, 9, 5, 4, 4, 3], abs=0.1
    )


def test_the_black_cells_stand_where_the_row_meets_the_column(drawn):
    figures.plot_head(WORDS, KEYS, 9, 5, 1, 2)
    corners = re.findall(
        r'd="M ([\d.]+) ([\d.]+)  L ([\d.]+)[^"]*"[^>]*style="fill: (#\w{6})(; fill-opacity: 0.2)?',
        drawn[0],
    )
    unit = next(float(c) - float(a) for a, _, c, fill, _ in corners if fill == "#222222")
    cells = [(float(a), float(b)) for a, b, _, fill, _ in corners if fill == "#222222"]
    pale = [(float(a), float(b)) for a, b, _, _, opacity in corners if opacity]
    scores, weights = pale[2], pale[3]
    for cell, block in zip(cells, (scores, weights), strict=True):
        assert (cell[0] - block[0]) / unit == pytest.approx(2, abs=0.1)
        assert (cell[1] - block[1]) / unit == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("other", [(0, 2), (1, 3)])
def test_another_row_or_column_is_another_picture(other, drawn):
    figures.plot_head(WORDS, KEYS, 9, 5, 1, 2)
    figures.plot_head(WORDS, KEYS, 9, 5, *other)
    assert drawn[0] != drawn[1]


def test_maps_are_one_picture_that_their_numbers_move(drawn):
    moved = MAP.clone()
    moved[0, 0] += 0.04
    assert figures.plot_maps({"one": MAP, "two": MAP}, WORDS, KEYS) is None
    figures.plot_maps({"one": MAP, "two": MAP.double() + 1e-9}, WORDS, KEYS)
    figures.plot_maps({"one": MAP, "two": moved}, WORDS, KEYS)
    assert len(drawn) == 3
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_without_keys_the_queries_are_the_keys(drawn):
    figures.plot_maps({"one": MAP[:, :3]}, WORDS)
    figures.plot_maps({"one": MAP[:, :3]}, WORDS, WORDS)
    assert drawn[0] == drawn[1]


BAD = [
    (ValueError, "plot_head", ([], KEYS, 9, 5, 0, 0), "queries=0: it must be at least 1"),
    (ValueError, "plot_head", (WORDS, KEYS, 0, 5, 0, 0), "d_k=0: it must be at least 1"),
    (ValueError, "plot_head", (WORDS, KEYS, 9, 5, 3, 0), "row=3: it must be between 0 and 2"),
    (ValueError, "plot_head", (WORDS, KEYS, 9, 5, 0, -1), "column=-1: it must be between 0 and 3"),
    (ValueError, "plot_maps", ({}, WORDS), "0 maps: plot_maps draws 1 to 3"),
    (TypeError, "plot_maps", ({"a": [[1.0]]}, WORDS), "map 'a' must be a torch.Tensor"),
    (ValueError, "plot_maps", ({"a": MAP}, WORDS), r"shape \(3, 4\) but there are 3 queries and 3"),
    (ValueError, "plot_maps", ({"a": MAP * 2}, WORDS, KEYS), "'a' has weights that are not"),
    (ValueError, "plot_maps", ({"a": MAP - 0.1}, WORDS, KEYS), "'a' has weights that are not"),
    (ValueError, "plot_maps", ({"a": MAP * torch.nan}, WORDS, KEYS), "not between 0 and 1"),
]


@pytest.mark.parametrize(("error", "name", "arguments", "message"), BAD)
def test_bad_input_is_named(error, name, arguments, message, drawn):
    with pytest.raises(error, match=message):
        getattr(figures, name)(*arguments)
    assert not drawn
