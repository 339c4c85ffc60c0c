"""Diagrams of shapes, turns, look-ups and embeddings have the sizes and numbers they show."""

import math

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from attnbook import apply_rotary, figures
from attnbook.colors import PLAIN, ROLES
from tests.support.figures import (
    ENCODING,
    IDS,
    KEY,
    LABELS,
    LATER,
    LOOKUP,
    MIX,
    PAIR,
    QUERY,
    TABLE,
    VALUE,
    WORDS,
    K,
    Q,
    arrows,
    boxes,
    cells,
    texts,
)


def test_shapes_are_to_scale_and_wear_their_roles(drawn):
    figures.plot_shapes(Q, "@", K, "=", ("S", 6, 6, None))
    (axes,) = drawn[0].axes
    (q, *at_q), (k, *at_k), (s, *at_s) = boxes(axes, 0.25)
    assert (q, k, s) == (ROLES["query"].fill, ROLES["key"].fill, PLAIN)
    assert (at_q[2:], at_k[2:], at_s[2:]) == ([24, 6], [6, 24], [6, 6])
    assert axes.get_aspect() == 1
    assert at_q[0] + 24 < at_k[0]
    assert at_k[0] + 6 < at_s[0]
    assert texts(axes) == ["Q", "6 × 24", "@", "Kᵀ", "24 × 6", "=", "S", "6 × 6"]


def hands(axes, dashed=False):
    """The angle of each hand, clockwise from 12 o'clock, and where it starts."""
    for line in axes.lines:
        if line.get_linewidth() == 1.8 and line.is_dashed() == dashed:
            (x0, x), (y0, y) = line.get_data()
            yield math.atan2(x - x0, y0 - y), (x0, y0)


def test_each_hand_points_at_its_sine_and_cosine(drawn):
    figures.plot_clocks(ENCODING, WORDS)
    (axes,) = drawn[0].axes
    angles, centers = zip(*hands(axes), strict=True)
    expected = [math.atan2(s, c) for s, c in ENCODING.view(-1, 2).tolist()]
    assert angles == pytest.approx(expected, abs=1e-4)
    assert list(centers) == [(t, pair) for t in range(3) for pair in range(4)]


def test_a_turn_goes_from_the_dashed_hand_to_the_solid_one(drawn):
    figures.plot_turns(PAIR, LATER, WORDS)
    (axes,) = drawn[0].axes
    before, after = ([0.1 * t for t in range(start, start + 3)] for start in (0, 3))
    assert [a for a, _ in hands(axes, dashed=True)] == pytest.approx(before, abs=1e-5)
    assert [a for a, _ in hands(axes)] == pytest.approx(after, abs=1e-5)
    arcs = [line.get_data() for line in axes.lines if line.get_linewidth() == 1.6]
    for n, (xs, ys) in enumerate(arcs):
        ends = [math.atan2(xs[i] - n, -ys[i]) for i in (0, -1)]
        assert ends == pytest.approx([before[n], after[n]], abs=1e-5)


def test_query_and_key_are_rotated_by_their_positions(drawn):
    query, key = QUERY, KEY[1] / 2
    figures.plot_rotary(query, key, [(0, 2), (3, 1)])
    (axes,) = drawn[0].axes
    turned = [apply_rotary(row[None], torch.tensor([t]))[0] for row, t in
              ((query, 0), (key, 2), (query, 3), (key, 1))]  # fmt: skip
    both = [end for pair in zip((query, key) * 2, turned, strict=True) for end in pair]
    found = [[(x - i // 4) / 0.4, y / 0.4] for i, (_, (x, y)) in enumerate(arrows(axes))]
    assert torch.allclose(torch.tensor(found), torch.stack(both), atol=1e-6)
    scores = [f"score {float(turned[n] @ turned[n + 1]):.2f}".replace("-", "−") for n in (0, 2)]
    assert [text for text in texts(axes) if "score" in text] == scores


def test_a_look_up_shows_its_numbers_but_no_zeros(drawn):
    figures.plot_lookup(*(np.asarray(x) for x in LOOKUP.values()), **LABELS)
    (axes,) = drawn[0].axes
    shown = (QUERY[None], KEY, VALUE, LOOKUP["output"][None])
    assert all(torch.allclose(cells(axes, i), x) for i, x in enumerate(shown))
    fills = [*(ROLES[name].fill for name in ("query", "key", "value")), PLAIN]
    assert [to_hex(mesh.cmap(1.0)).upper() for mesh in axes.collections] == fills
    assert texts(axes)[:12] == ["0.8", "−0.5", "2", "", "1", "1", "", "2", "", "3", "6", "9"]
    scores, weights = ([bar.get_width() for bar in bars] for bars in axes.containers)
    assert scores == pytest.approx([1.5, 0.28125, 0])  # below 0 there is no bar
    assert weights == pytest.approx((1.5 * MIX / MIX[0]).tolist(), abs=1e-5)


def test_an_embedding_copies_rows_and_each_arrow_starts_at_its_own(drawn):
    figures.plot_embedding(TABLE, IDS, WORDS)
    figures.plot_embedding(torch.zeros(3, 4), [0], WORDS)
    axes, zeros = (figure.axes[0] for figure in drawn)
    assert torch.allclose(cells(axes, 0), TABLE)
    assert torch.allclose(cells(axes, 1), TABLE[IDS])
    assert [mesh.get_clim() for mesh in axes.collections] == [(-6, 6)] * 2
    expected = [(i + 0.5, place + 0.5) for place, i in enumerate(IDS)]
    assert [(start[1], end[1]) for start, end in arrows(axes)] == expected
    assert texts(axes)[:5] == ["table (3, 4)", "X (4, 4)", "Life  0", "is  1", "short  2"]
    assert zeros.collections[0].get_clim() == (-1, 1)
