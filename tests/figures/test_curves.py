"""Curves, bars and points are where their numbers say."""

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from attnbook import figures
from attnbook.colors import CURVES, PAPER, PLAIN, ROLES
from attnbook.figures.heatmaps import WEIGHTS
from tests.support.figures import FIVE, HOURS, KEY, MAP, SCORES, SPLIT, WORDS, boxes, names, texts

DECAY = {"fast": 0.1 ** torch.arange(20.0), "slow": 0.9 ** torch.arange(20.0)}


def test_a_kernel_regression_mixes_the_values_by_the_weights_below_it(drawn):
    keys, values, queries, truth = HOURS
    figures.plot_kernel_regression(*HOURS, {"a": MAP, "b": 0 * MAP}, "hour")
    curve, flat, weights, none = drawn[0].axes
    clean, dots, line = (drawing.get_xydata() for drawing in curve.lines)
    expected = (clean, queries, truth), (dots, keys, values), (line, queries, MAP @ values)
    for drawing, x, y in expected:
        assert torch.allclose(torch.tensor(drawing).float(), torch.stack([x, y], -1))
    assert (flat.lines[2].get_ydata() == 0).all()
    assert (curve.get_title(), weights.get_title()) == ("a", "weights, largest: 0.88")
    assert (weights.get_xlim(), weights.get_ylim()) == ((0, 10), (10, 0))  # first query at the top
    for (t, j), weight in np.ndenumerate(MAP):
        at = keys[j].item() + 0.1, queries[t].item() + (-0.1 if t else 0.1)
        inside = [p for p in weights.patches if p.get_path().contains_point(at)]
        color = WEIGHTS(float(torch.tensor(weight / 0.875).double().round(decimals=1)))
        assert [to_hex(p.get_facecolor()) for p in inside] == [to_hex(color)]
    assert [to_hex(p.get_facecolor()).upper() for p in none.patches] == [PAPER]


def test_curves_differ_in_color_dashes_and_marker(drawn):
    figures.plot_lines([1, 2, 4, 8, 16], FIVE, "x", "y", log="xy")
    (axes,) = drawn[0].axes
    for line, y in zip(axes.lines, FIVE.values(), strict=True):
        assert list(line.get_xdata()) == [1, 2, 4, 8, 16]
        assert list(line.get_ydata()) == pytest.approx(y.tolist())
    assert tuple(to_hex(line.get_color()).upper() for line in axes.lines) == CURVES
    assert len({str(line._unscaled_dash_pattern) for line in axes.lines}) == 5
    assert len({line.get_marker() for line in axes.lines}) == 5
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == list(FIVE)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert names(axes)[1] == ["1", "2", "4", "8", "16"]


def test_a_curve_ends_where_it_meets_the_floor_and_has_its_name_there(drawn):
    fast = DECAY["fast"].clone()
    fast[15] = 1.0  # a value that rises again is not drawn
    figures.plot_reach({"fast": 2 * fast, "slow": DECAY["slow"]}, "x", "y")
    (axes,) = drawn[0].axes
    assert axes.get_yscale() == "log"
    found, slow = (line.get_ydata() for line in axes.lines)
    assert np.isfinite(found).sum() == 10  # the last of them is 2e-9
    assert list(slow) == pytest.approx(DECAY["slow"].tolist())
    ends = {text.get_text().strip(): text.get_position() for text in axes.texts}
    assert ends == {"fast": (9, found[9]), "slow": (19, slow[19])}
    figures.plot_reach({"a": [1, 0.5], "b": [1, 0.49], "c": [1, 0.48]}, "x", "y")
    heights = [text.get_position()[1] for text in drawn[1].axes[0].texts]  # the names do not touch
    assert heights == pytest.approx([0.5, 0.5 / 5.5, 0.5 / 5.5**2])


def test_the_bars_of_a_softmax_are_as_long_as_its_numbers(drawn):
    figures.plot_softmax_steps(SCORES.numpy(), WORDS)
    left, _, right = drawn[0].axes
    widths = [[width for *_, width, _ in boxes(axes)] for axes in drawn[0].axes]
    steps = SCORES, SCORES.exp(), SCORES.softmax(0)
    assert widths == [pytest.approx(step.tolist(), abs=1e-5) for step in steps]
    assert {fill for fill, *_ in boxes(left)} == {PLAIN}
    assert {fill for fill, *_ in boxes(right)} == {ROLES["weights"].fill}
    assert left.get_ylim() == (3, 0)


def test_points_are_drawn_in_their_groups_each_with_a_marker(drawn):
    figures.plot_points({"a": KEY, "b": KEY * 2}, {"x": [0, 2], "y": [1]}, {1: "c"})
    for axes, panel in zip(drawn[0].axes, (KEY, KEY * 2), strict=True):
        first, second, *_ = axes.lines
        assert torch.allclose(torch.tensor(first.get_xydata()).float(), panel[[0, 2]])
        assert torch.allclose(torch.tensor(second.get_xydata()).float(), panel[[1]])
        assert first.get_marker() != second.get_marker()
        assert axes.texts[0].xy == tuple(panel[1].tolist())
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["x", "y"]


def test_weights_are_stacked_with_the_largest_lowest_and_darkest(drawn):
    figures.plot_shares({"a": SPLIT, "b": SPLIT[:, :2]}, WORDS, "width")
    left, right = drawn[0].axes
    first, *_, last = [boxes(left)[i : i + 3] for i in (0, 3, 6)]
    assert [box[2] for box in first] == pytest.approx([0, 0.7, 0.9])  # where each begins
    assert [box[4] for box in first + last] == pytest.approx([0.7, 0.2, 0.1, 1, 0, 0])
    assert [box[0] for box in first] == [to_hex(WEIGHTS(w)).upper() for w in (0.7, 0.2, 0.1)]
    assert texts(left) == texts(right) == [".70", ".50", "1"]
    assert (names(left)[1], left.get_title(), len(boxes(right))) == (WORDS, "a", 6)
