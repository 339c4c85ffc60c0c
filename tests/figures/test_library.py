"""The pictures of chapter 1: what they show is what they were given."""

import re

import numpy as np
import pytest
import torch

from attnbook import figures
from attnbook.colours import ROLES

TITLES, TOPICS, CONTENTS = ["a", "b", "c"], ["t", "u"], ["x", "y", "z", "w"]
LABELS = (TITLES, TOPICS, CONTENTS)
QUERY = torch.tensor([1.0, 0.5])
KEY = torch.tensor([[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
VALUE = torch.arange(12.0).view(3, 4)
SCORES = KEY @ QUERY
WEIGHTS = SCORES.softmax(-1)
LOOKUP = (QUERY, KEY, SCORES, WEIGHTS, VALUE, WEIGHTS @ VALUE)
ROWS = torch.stack([WEIGHTS, WEIGHTS.flip(0)])
CURVES = {"fast": 0.1 ** torch.arange(20.0), "slow": 0.9 ** torch.arange(20.0)}


def nudged(at: int, by: float) -> list[torch.Tensor]:
    """The look-up with one number of one of its six arrays moved."""
    arrays = [x.clone() for x in LOOKUP]
    arrays[at].view(-1)[0] += by
    return arrays


def test_each_figure_is_one_svg_and_returns_nothing(drawn):
    assert figures.plot_lookup(*LOOKUP, *LABELS) is None
    assert figures.plot_temperatures(ROWS, TITLES, [1, 3]) is None
    assert figures.plot_reach(CURVES, "x", "y") is None
    assert len(drawn) == 3
    assert all(text.startswith("<svg") for text in drawn)


@pytest.mark.parametrize("at", range(6))
def test_a_look_up_shows_each_of_its_six_arrays(at, drawn):
    figures.plot_lookup(*LOOKUP, *LABELS)
    figures.plot_lookup(*nudged(at, 0.9), *LABELS)
    figures.plot_lookup(*nudged(at, 1e-7), *LABELS)
    assert drawn[0] != drawn[1]
    assert drawn[0] == drawn[2]


def test_a_look_up_wears_the_colours_of_the_roles(drawn):
    figures.plot_lookup(*LOOKUP, *LABELS)
    for role in ROLES.values():
        assert f"fill: {role.fill.lower()}" in drawn[0]
        assert role.light.lower() in drawn[0]


def test_numpy_arrays_draw_the_same(drawn):
    figures.plot_lookup(*LOOKUP, *LABELS)
    figures.plot_lookup(*(np.asarray(x) for x in LOOKUP), *LABELS)
    assert drawn[0] == drawn[1]


def test_bars_are_as_long_as_their_weights(drawn):
    figures.plot_temperatures(torch.tensor([[0.2, 0.2, 0.6]]), TITLES, [1])
    fill = ROLES["weights"].fill.lower()
    bars = re.findall(rf'd="M ([\d.]+) [\d.]+  L ([\d.]+) [^"]*"[^>]*fill: {fill}', drawn[0])
    widths = [float(right) - float(left) for left, right in bars]
    assert len(widths) == 3
    assert widths[0] == pytest.approx(widths[1])
    assert widths[2] == pytest.approx(3 * widths[0], rel=0.01)


def test_a_curve_ends_where_it_meets_the_floor(drawn):
    figures.plot_reach(CURVES, "x", "y", floor=1e-9)
    below = {name: curve.clone() for name, curve in CURVES.items()}
    below["fast"][12:] = 1e-15
    figures.plot_reach(below, "x", "y", floor=1e-9)
    below["fast"][3] = 1e-2
    figures.plot_reach(below, "x", "y", floor=1e-9)
    assert drawn[0] == drawn[1]
    assert drawn[1] != drawn[2]


BAD = [
    ("plot_lookup", (*LOOKUP, TITLES, ["t"], CONTENTS), r"query has shape \(2,\).* ask for \(1,\)"),
    ("plot_lookup", (*LOOKUP, ["a"], TOPICS, CONTENTS), r"key has shape \(3, 2\)"),
    ("plot_lookup", (*LOOKUP, TITLES, TOPICS, ["x"]), r"value has shape \(3, 4\)"),
    ("plot_temperatures", (ROWS, TITLES, [1]), r"weights has shape \(2, 3\).* ask for \(1, 3\)"),
    ("plot_reach", ({}, "x", "y"), "0 curves: plot_reach draws 1 to 5"),
    ("plot_reach", ({"a": [1, 2], "b": [1]}, "x", "y"), "different lengths: {'a': 2, 'b': 1}"),
    ("plot_reach", ({"a": [1e-12, 1]}, "x", "y"), "'a' starts below the floor 1e-09"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), BAD)
def test_bad_input_is_named(name, arguments, message, drawn):
    with pytest.raises(ValueError, match=message):
        getattr(figures, name)(*arguments)
    assert not drawn
