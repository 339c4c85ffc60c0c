"""Pictures of chapter 7: hands point where the numbers say, and no number moves unseen."""

import math
import re

import pytest
import torch
from matplotlib.colors import to_hex

from attnbook import rotation_matrix, sinusoidal_encoding
from attnbook.figures import (
    plot_by_distance,
    plot_by_position,
    plot_clocks,
    plot_positions,
    plot_turns,
)
from attnbook.figures.canvas import SIGNED

WORDS = ["Life", "is", "short"]
PLACES = sinusoidal_encoding(3, 8)
PAIR, LATER = PLACES[:, 2:4], PLACES[:, 2:4] @ rotation_matrix(3, 8)[2:4, 2:4].T
STEPS = torch.tensor([0.0, 0.2, 0.9, 0.1, 0.0])
DRAWINGS = {
    "positions": (plot_positions, PLACES),
    "clocks": (lambda x: plot_clocks(x, WORDS), PLACES),
    "turns before": (lambda x: plot_turns(x, LATER, WORDS), PAIR),
    "turns after": (lambda x: plot_turns(PAIR, x, WORDS), LATER),
    "by distance": (lambda x: plot_by_distance(range(-2, 3), {"a": x[:, 0]}, "y"), STEPS[:, None]),
    "by position": (lambda x: plot_by_position(range(5), {"a": x[:, 0]}, "y", 3), STEPS[:, None]),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_one_svg_and_returns_nothing(name, drawn):
    plot, x = DRAWINGS[name]
    assert plot(x) is None
    assert len(drawn) == 1
    assert drawn[0].startswith("<svg")


@pytest.mark.parametrize("name", DRAWINGS)
def test_noise_in_the_last_digits_does_not_move_the_picture(name, drawn):
    plot, x = DRAWINGS[name]
    plot(x)
    plot(x.double() + 1e-7 * (x.abs() < 0.9))
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_moved_number_does(name, drawn):
    plot, x = DRAWINGS[name]
    moved = x.clone()
    moved[1, 0] -= 0.1
    plot(x)
    plot(moved)
    assert drawn[0] != drawn[1]


def test_each_cell_has_the_colour_of_its_number(drawn):
    """Look at the middle of each cell, whatever pieces the picture is put together from."""
    x = torch.tensor([[-1.0, 0.5, 0.0, 1.0, 0.5], [-1.0, -0.5, 1.0, 0.0, 0.5], [0.3, 0.5, 0, 0, 1]])
    plot_positions(x)
    boxes = []
    for path, colour in re.findall(r'<path d="([^"]*z ?)" clip-path[^>]*fill: (#\w+)', drawn[0]):
        for piece in path.split("z")[:-1]:
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", piece)]
            boxes.append((min(numbers[::2]), max(numbers[::2]), *numbers[1::2], colour))
    left, right = min(b[0] for b in boxes), max(b[1] for b in boxes)
    top = min(min(b[2:-1]) for b in boxes)
    bottom = max(max(b[2:-1]) for b in boxes)
    assert len(boxes) == 12  # equal neighbours in a column are one piece
    places = torch.cartesian_prod(torch.arange(x.size(0)), torch.arange(x.size(1)))
    for (t, i), value in zip(places.tolist(), x.flatten().tolist(), strict=True):
        across = left + (right - left) * (i + 0.5) / x.size(1)
        down = top + (bottom - top) * (t + 0.5) / x.size(0)
        (seen,) = [
            b[-1] for b in boxes if b[0] < across < b[1] and min(b[2:-1]) < down < max(b[2:-1])
        ]
        assert seen == to_hex(SIGNED((round(value, 1) + 1) / 2)), (t, i)


def hands(svg: str, width: str) -> list[float]:
    """The angles of the hands drawn with this line width, clockwise from 12 o'clock."""
    found = re.findall(rf'<path d="([^"]*)"[^>]*stroke-width: {width}[;"]', svg)
    ends = [[float(n) for n in re.findall(r"-?[\d.]+", path)] for path in found]
    return [math.atan2(x - x0, y0 - y) for x0, y0, x, y in (e for e in ends if len(e) == 4)]


def test_each_hand_points_at_its_sine_and_cosine(drawn):
    plot_clocks(PLACES, WORDS)
    expected = [math.atan2(s, c) for row in PLACES for s, c in row.view(-1, 2).tolist()]
    assert hands(drawn[0], "1.8") == pytest.approx(expected, abs=0.01)


def test_a_turn_goes_from_the_dashed_hand_to_the_solid_one(drawn):
    plot_turns(PAIR, LATER, WORDS)
    omega = 10000 ** (-1 / 4)
    assert hands(drawn[0], "1.5") == pytest.approx([omega * t for t in range(3)], abs=0.01)
    assert hands(drawn[0], "2") == pytest.approx([omega * (t + 3) for t in range(3)], abs=0.01)
    arcs = re.findall(r'<path d="([^"]*)"[^>]*stroke-width: 1.6[;"]', drawn[0])
    assert len(arcs) == 3
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", arcs[0])]
    assert numbers[0] < numbers[-2]  # from 12 o'clock to the right, as clocks run


def polyline(svg: str, n_points: int) -> list[tuple[float, float]]:
    """The points of the first drawn curve that has this many."""
    for path in re.findall(r'<path d="([^"]*)" clip-path', svg):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", path)]
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        if len(points) == n_points and "z" not in path:
            return points
    raise AssertionError(f"no curve of {n_points} points")


def test_a_curve_over_the_distance_has_its_peak_at_the_right_place(drawn):
    plot_by_distance(range(-2, 3), {"a": STEPS}, "y")
    (mark,) = re.findall(r'<path d="([^"]*)" clip-path[^>]*stroke: #c8c8c8', drawn[0])
    zero = float(mark.split()[1])
    points = polyline(drawn[0], 5)
    assert min(points, key=lambda point: point[1])[0] == pytest.approx(zero, abs=0.2)
    heights = [points[0][1] - y for _, y in points]
    assert [h / heights[2] for h in heights] == pytest.approx([0, 2 / 9, 1, 1 / 9, 0], abs=0.01)


def test_the_positions_of_training_are_shaded(drawn):
    plot_by_position(range(2, 7), {"a": STEPS}, "y", seen=5)
    (shade,) = re.findall(r'<path d="([^"]*)" clip-path[^>]*fill: #efefef', drawn[0])
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", shade)]
    left, right = min(numbers[::2]), max(numbers[::2])
    xs = [x for x, _ in polyline(drawn[0], 5)]
    assert left == pytest.approx(xs[0], abs=0.2)
    assert right == pytest.approx((xs[2] + xs[3]) / 2, abs=0.2)  # between 4 and 5


BAD = {
    "no matrix": (
        lambda: plot_positions(PLACES[0]),
        "encoding has shape (8,): it must be a matrix",
    ),
    "empty": (lambda: plot_positions(PLACES[:0]), "encoding has shape (0, 8)"),
    "too large": (lambda: plot_positions(PLACES * 3), "it must be between -1 and 1"),
    "whole numbers": (lambda: plot_positions(PLACES.long()), "must be floating point"),
    "odd width": (lambda: plot_clocks(PLACES[:, :5], WORDS), "encoding has 5 columns"),
    "labels": (lambda: plot_clocks(PLACES, WORDS[:2]), "has 3 rows but there are 2 labels"),
    "unequal": (lambda: plot_turns(PAIR, LATER[:2], WORDS), "after (2, 2), and there are 3 labels"),
    "too wide": (lambda: plot_turns(PLACES, PLACES, WORDS), "(N, 2), (N, 2) and N are expected"),
    "no curves": (lambda: plot_by_distance(range(5), {}, "y"), "0 curves: 1 to 3"),
    "four curves": (
        lambda: plot_by_position(range(5), dict.fromkeys("abcd", STEPS), "y", 3),
        "4 curves: 1 to 3 can be told apart",
    ),
    "length": (
        lambda: plot_by_position(range(4), {"a": STEPS}, "y", 3),
        "curve 'a' has shape (5,): (4,) fits x",
    ),
    "no labels": (lambda: plot_turns(PAIR, LATER, []), "and there are 0 labels"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_named(name, drawn):
    call, message = BAD[name]
    with pytest.raises(ValueError) as caught:
        call()
    assert message in str(caught.value)
    assert not drawn


def test_what_is_no_tensor_is_a_type_error():
    with pytest.raises(TypeError, match=r"encoding must be a torch\.Tensor, got list"):
        plot_positions([[0.0, 1.0]])
