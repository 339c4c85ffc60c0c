"""Each figure shows its numbers in the right places, according to Matplotlib's objects.

Every figure is in EXAMPLES, and one test checks what all of them have in common. A figure that
shows numbers also has its own test; diagrams are compared with the pictures stored in the chapters.
"""

import math

import numpy as np
import pytest
import torch
from matplotlib.artist import Artist
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from attnbook import apply_rotary, causal_mask, figures, rotation_matrix, sinusoidal_encoding
from attnbook.colors import CURVES, INK, MARKED, PAPER, PLAIN, ROLES, SHADE
from attnbook.figures import canvas
from attnbook.figures.heatmaps import SIGNED, WEIGHTS
from tests.support.pictures import READABLE, smallest_letters

SVG = canvas.svg
WORDS, KEYS, LONG = ["Life", "is", "short"], ["苹果", "很", "甜", "的"], ["dessert"] * 6
MAP = torch.tensor([[0.2, 0.3, 0.5, 0.0], [0.125, 0.875, 0.0, 0.0], [0.0, 0.254, 0.746, 0.0]])
SCORES = torch.tensor([1.5, -0.004, -2.0])
SPLIT = torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
STEPS = torch.tensor([0.2, 0.9, 0.5, 0.1, 0.0])
FIVE = {name: STEPS * (i + 1) / 5 for i, name in enumerate("abcde")}
FOUR = dict.fromkeys(("numbers in the maps", "parameters", "operations", "width"), STEPS)
DECAY = {"fast": 0.1 ** torch.arange(20.0), "slow": 0.9 ** torch.arange(20.0)}
ENCODING = sinusoidal_encoding(3, 8)
PAIR, LATER = ENCODING[:, 2:4], ENCODING[:, 2:4] @ rotation_matrix(3, 8)[2:4, 2:4].T
MASK = causal_mask(3)
WIDE = torch.tensor([[True, False, False, True], [True, True, False, False], [False] * 4])
PICTURE = {"a picture": torch.tensor([[[1.0, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 1, 1]]])}
PATCHES = torch.tensor([[0.3, 0.04], [0.2, 1.0]])
IDS, TABLE = [2, 0, 1, 1], torch.arange(12.0).reshape(3, 4) - 5
QUERY, KEY = torch.tensor([0.8, -0.5]), torch.tensor([[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
VALUE, MIX = torch.arange(12.0).view(3, 4) * 3, (KEY @ QUERY).softmax(-1)
LOOKUP = {"query": QUERY, "key": KEY, "scores": KEY @ QUERY, "weights": MIX, "value": VALUE}
LOOKUP["output"] = MIX @ VALUE
LABELS = {"titles": ["a", "b", "c"], "topics": ["t", "u"], "contents": ["x", "y", "z", "w"]}
HOURS = (torch.tensor([1.0, 2.0, 4.0, 9.0]), torch.tensor([3.0, 5.0, -2.0, 4.0]),
         torch.tensor([0.0, 5.0, 10.0]), torch.tensor([3.5, 1.0, 0.5]))  # fmt: skip
Q, K = ("Q", 6, 24, "query"), ("Kᵀ", 24, 6, "key")


# What is drawn, the numbers that change it, and the roles whose colors it uses.
NONE, MATCH, MAPS, ALL = set(), {"query", "key"}, {"query", "key", "weights"}, set(ROLES)
N = torch.tensor(7.05)
EXAMPLES = {
    "weights": (lambda x: figures.plot_weights(x, WORDS, KEYS), MAP, MAPS),
    "long names": (lambda x: figures.plot_maps({"a": x}, LONG[3:], LONG[2:]), MAP, MAPS),
    "heads": (lambda x: figures.plot_heads(x, LONG, LONG), MAP.repeat(2, 2, 2)[..., :6], MAPS),
    "stacked": (lambda x: figures.plot_heads(x, WORDS, KEYS * 2), MAP.repeat(2, 1, 2), MAPS),
    "matrix": (lambda x: figures.plot_matrix(x, WORDS, KEYS), MAP - 0.4, NONE),
    "positions": (figures.plot_positions, sinusoidal_encoding(12, 8), NONE),
    "kernel": (lambda x: figures.plot_kernel_regression(*HOURS, {"a": x}, "hour"), MAP, ALL),
    "lines": (lambda x: figures.plot_lines(range(5), FIVE | {"b": x}, "x", "y"), STEPS, NONE),
    "four": (lambda x: figures.plot_lines(STEPS + 1, FOUR | {"a": x}, "", "", "x"), STEPS, NONE),
    "times": (lambda x: figures.plot_times(STEPS + 1, {"a": x + 1}, "x", "y"), STEPS, NONE),
    "distance": (lambda x: figures.plot_by_distance(range(-2, 3), {"a": x}, "y"), STEPS, NONE),
    "reach": (lambda x: figures.plot_reach({"a": x, "b": STEPS}, "", ""), STEPS + 0.1, NONE),
    "softmax": (lambda x: figures.plot_softmax_steps(x, WORDS), SCORES, {"weights"}),
    "layers": (lambda x: figures.plot_layers(LONG[: int(x) - 3], "first"), N, NONE),
    "chain": (lambda x: figures.plot_chain_and_fan(int(x)), N, NONE),
    "points": (lambda x: figures.plot_points({"a": x}, {"b": [0, 2]}, {1: "c"}), KEY, NONE),
    "shares": (lambda x: figures.plot_shares({"a": x, "b": SPLIT}, WORDS, "x"), SPLIT, {"weights"}),
    "shapes": (lambda x: figures.plot_shapes(Q, "@", ("K", int(x), 6, "key")), N, MATCH),
    "head": (lambda x: figures.plot_head(WORDS, KEYS, 9, int(x), 1, 2), N, ALL),
    "many heads": (lambda x: figures.plot_many_heads(4, 7, 2, int(x), 9), N, ALL),
    "split": (lambda x: figures.plot_split(WORDS, 3, int(x), row=1), N, {"query"}),
    "steps": (lambda x: figures.plot_steps([("mix", "D", "value")] * int(x)), N, {"value"}),
    "clocks": (lambda x: figures.plot_clocks(x, WORDS), ENCODING, NONE),
    "turns": (lambda x: figures.plot_turns(x, LATER, WORDS), PAIR, NONE),
    "rotary": (lambda x: figures.plot_rotary(x, QUERY, [(0, 2), (3, 1)]), KEY[1] / 2, MATCH),
    "masks": (lambda x: figures.plot_masks({"a": MASK, "b": x[:, :3] > 0.15}, WORDS), MAP, MATCH),
    "leaks": (lambda x: figures.plot_leaks({"a": x[:, :3] > 0.15}, MASK, WORDS), MAP, NONE),
    "transformer": (lambda x: figures.plot_transformer(3, 6, 16, 4, 64, int(x), 99), N, {"key"}),
    "stream": (lambda x: figures.plot_residual_stream(WORDS, int(x)), N, NONE),
    "patches": (lambda x: figures.plot_patches(PICTURE | {"looks": x}), PATCHES, NONE),
    "embedding": (lambda x: figures.plot_embedding(x, IDS, WORDS), TABLE / 20, NONE),
    "look-up": (lambda x: figures.plot_lookup(**LOOKUP | {"key": x}, **LABELS), KEY, ALL),
}


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were drawn, caught before they become SVG."""
    seen = []
    monkeypatch.setattr(canvas, "svg", lambda figure: seen.append(figure) or "<svg/>")
    monkeypatch.setattr(canvas, "png", lambda figure: seen.append(figure) or "")
    monkeypatch.setattr(canvas, "display", lambda picture, raw: None)
    return seen


def test_every_figure_has_an_example():
    named = {name for plot, *_ in EXAMPLES.values() for name in plot.__code__.co_names}
    named |= {plot.__name__ for plot, *_ in EXAMPLES.values()}
    assert {name for name in dir(figures) if name.startswith("plot_")} <= named


@pytest.mark.parametrize("name", EXAMPLES)
def test_properties_of_every_figure(name, drawn):
    """A figure shows changes, not noise, is legible and uncropped, and uses its roles' colors."""
    draw, x, roles = EXAMPLES[name]
    moved = x.clone()
    moved.view(-1)[0] -= 0.1
    for numbers in (x, x.double() + 1e-9 * (x.abs() < 0.9), moved):
        assert draw(numbers) is None
    picture, noisy, other = map(SVG, drawn)
    assert picture == noisy != other
    assert smallest_letters(picture) >= READABLE
    figure = drawn[0]
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert -0.02 < box.x0 < box.x1 < width + 0.02
    assert -0.02 < box.y0 < box.y1 < height + 0.02
    worn = set()
    for artist in figure.findobj(Artist):
        for part in ("color", "facecolor", "edgecolor"):
            found = getattr(artist, f"get_{part}", list)()
            found = [found] if isinstance(found, str | tuple) else found
            worn |= {to_hex(color).upper() for color in found}
    assert {name for name, role in ROLES.items() if worn & {role.fill, role.light}} == roles


def cells(axes, which=0):
    """The numbers of a heat map."""
    return torch.tensor(axes.collections[which].get_array().data).float()


def texts(axes):
    return [text.get_text() for text in axes.texts]


def written(axes):
    """The texts in the cells, by (row, column)."""
    found = {(int(t.get_position()[1]), int(t.get_position()[0])): t.get_text() for t in axes.texts}
    return {place: text for place, text in found.items() if text}


def names(axes):
    """The labels of the rows and of the columns."""
    ticks = (axes.get_yticklabels(), axes.get_xticklabels())
    return tuple([label.get_text() for label in labels] for labels in ticks)


def boxes(axes, opacity=1.0):
    """Fill, left, top, width and height of each box with this opacity."""
    return [
        (to_hex(box.get_facecolor()).upper(), *box.get_xy(), box.get_width(), box.get_height())
        for box in axes.patches
        if isinstance(box, Rectangle) and box.get_facecolor()[3] == opacity
    ]


def arrows(axes):
    """Where each arrow starts and ends."""
    return [(text.xyann, text.xy) for text in axes.texts if getattr(text, "arrow_patch", None)]


def test_each_weight_is_in_its_cell_and_colors_it(drawn):
    figures.plot_weights(MAP.clone().requires_grad_(), WORDS, KEYS)
    (axes,) = drawn[0].axes
    assert axes.get_ylim() == (3, 0)  # row 0 is at the top
    assert torch.allclose(cells(axes), MAP)
    assert axes.collections[0].get_clim() == (0, 1)
    assert (written(axes)[1, 0], written(axes)[2, 2]) == ("0.12", "0.75")
    assert names(axes) == (WORDS, KEYS)
    assert axes.yaxis.label.get_color() == ROLES["query"].light
    figures.plot_heads(torch.stack([MAP[:, :3], MAP[:, 1:]]), WORDS, titles=["a", "b"])
    assert names(drawn[1].axes[0]) == (WORDS, WORDS)  # without keys, the queries label both axes
    assert torch.allclose(cells(drawn[1].axes[1]), MAP[:, 1:])
    assert [axes.get_title() for axes in drawn[1].axes] == ["a", "b"]


def test_narrow_cells_hold_short_numbers_and_upright_chinese(drawn):
    x = torch.zeros(2, 1, 18)
    x[0, 0, :4] = torch.tensor([0.996, 0.0049, 0.26, 1.0])
    columns = [*KEYS, "very"] * 4
    for count in 8, 12, 18:  # narrower and narrower
        figures.plot_heads(x[:, :, :count], ["甜"], [*columns, "a", "b"][:count])
    found = [[written(axes) for axes in figure.axes] for figure in drawn]
    assert found[0] == [{(0, 0): "1", (0, 2): ".26", (0, 3): "1"}, {}]
    assert found[1] == [{(0, 0): "1", (0, 2): ".3", (0, 3): "1"}, {}]
    assert found[2] == [{}, {}]
    first, second = drawn[0].axes
    assert names(first)[1][:5] == ["苹\n果", "很", "甜", "的", "very"]
    assert [axes.get_title() for axes in (first, second)] == ["head 0", "head 1"]


def test_maps_with_very_narrow_cells_are_drawn_two_in_a_row(drawn):
    figures.plot_heads(MAP[:, :3].expand(3, 3, 3), WORDS)
    figures.plot_heads(MAP.repeat(3, 1, 3), WORDS, KEYS * 3)
    layouts = [[axes.get_subplotspec().get_geometry()[:2] for axes in f.axes] for f in drawn]
    assert layouts == [[(1, 3)] * 3, [(2, 2)] * 3]


def test_signed_numbers_have_a_sign_unless_they_are_zero(drawn):
    figures.plot_matrix(torch.tensor([[-0.04, -2.0], [1.26, 0.0]]), ["a", "b"], ["c", "d"])
    figures.plot_matrix(torch.zeros(1, 1), ["a"], ["b"], digits=None)
    (axes,), (other,) = (figure.axes for figure in drawn)
    assert written(axes) == {(0, 0): "0.0", (0, 1): "−2.0", (1, 0): "1.3", (1, 1): "0.0"}
    assert axes.collections[0].get_clim() == (-2, 2)
    assert written(other) == {}


def test_each_cell_of_an_encoding_has_the_color_of_its_number(drawn):
    x = torch.tensor([[-1.0, 0.5, 0.0, 1.0, 0.5], [-1.0, -0.5, 1.0, 0.0, 0.5], [0.3, 0.5, 0, 0, 1]])
    figures.plot_positions(x)
    (axes,) = drawn[0].axes
    assert axes.get_ylim() == (3, 0)
    assert len(axes.patches) == len(x.unique())  # one shape per color
    for (t, i), value in np.ndenumerate(x.double().round(decimals=1)):
        inside = [p for p in axes.patches if p.get_path().contains_point((i + 0.5, t + 0.5))]
        assert [to_hex(p.get_facecolor()) for p in inside] == [to_hex(SIGNED((value + 1) / 2))]
    figures.plot_positions(sinusoidal_encoding(64, 4))  # labels at most nine positions
    assert names(drawn[1].axes[0]) == ([str(t) for t in range(0, 64, 8)], ["0", "1", "2", "3"])
    assert drawn[1].axes[0].get_yticks()[1] == 8.5


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


def looks(axes):
    """Color and hatch of each cell of a grid, row by row."""
    found = sorted(axes.patches, key=lambda cell: (cell.get_y(), cell.get_x()))
    return [(to_hex(cell.get_facecolor()).upper(), cell.get_hatch()) for cell in found]


def test_a_mask_is_filled_where_a_query_may_attend_and_hatched_elsewhere(drawn):
    figures.plot_masks({"a": MASK, "b": ~MASK}, WORDS)
    for axes, mask in zip(drawn[0].axes, (MASK, ~MASK), strict=True):
        look = {True: (MARKED, None), False: (SHADE, "///")}
        assert looks(axes) == [look[may] for may in mask.flatten().tolist()]
        assert axes.get_ylim() == (3, 0)
    (legend,) = drawn[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["may look", "may not look"]
    assert [patch.get_hatch() for patch in legend.get_patches()] == [None, "///"]


def test_a_leak_is_dark_and_carries_a_sign(drawn):
    moved = torch.tensor([[True, True, False], [False, True, False], [True, True, True]])
    figures.plot_leaks({"some": moved}, MASK, WORDS)
    (axes,) = drawn[0].axes
    m, leak, still = MARKED, INK, PAPER
    assert [fill for fill, _ in looks(axes)] == [m, leak, still, still, m, still, m, m, m]
    assert written(axes) == {(0, 1): "×"}
    assert drawn[0].legends[0].get_texts()[0].get_text() == "changed, but must not ×"


def test_patches_show_their_colors_and_weights_one_digit(drawn):
    figures.plot_patches(PICTURE | {"looks": PATCHES})
    picture, weights = drawn[0].axes
    drawn[0].draw_without_rendering()
    fills = [to_hex(color) for color in picture.collections[0].get_facecolors()]
    assert fills == ["#ff0000", "#00ff00", "#0000ff", "#ffffff"]
    assert torch.allclose(cells(weights), PATCHES)
    assert (texts(picture), texts(weights)) == ([], [".3", "", ".2", "1"])
    assert weights.get_ylim() == (2.1, -0.1)


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


BAD = [
    ("weights", (MAP, ["a"], KEYS), r"weights has shape \(3, 4\) but its labels ask for \(1, 4\)"),
    ("weights", (MAP * 2, WORDS, KEYS), "between 0 and 1.75: it must be between 0 and 1"),
    ("weights", (MAP * torch.nan, WORDS, KEYS), "it must be between 0 and 1"),
    ("maps", ({}, WORDS), "0 maps: 1 to 4 are drawn side by side"),
    ("heads", (MAP, WORDS, KEYS), r"head 0 has shape \(4,\) but its labels ask for \(3, 4\)"),
    ("positions", (MAP * 3,), "between 0 and 2.6: it must be between -1 and 1"),
    ("kernel_regression", (*HOURS, {}, "hour"), "0 maps: 1 to 4 are drawn side by side"),
    ("kernel_regression", (*HOURS, {"a": MAP.T}, "h"), r"a has shape \(4, 3\) .* ask for \(3, 4\)"),
    ("kernel_regression", (*HOURS, {"a": MAP * 2}, "h"), "a lies between 0 and 1.75"),
    ("lines", ([1, 2], {"a": [1]}, "x", "y"), r"'a' has shape \(1,\) but its labels ask for \(2"),
    ("by_distance", (range(5), FIVE | {"f": STEPS}, "y"), "6 curves: 1 to 5"),
    ("reach", ({"a": [1e-12, 1]}, "x", "y"), "curve 'a' starts below 1e-09"),
    ("softmax_steps", (SCORES, WORDS[:2]), r"scores has shape \(3,\) .* ask for \(2,\)"),
    ("points", ({"a": MAP}, {"b": [0]}, {}), r"panel 'a' has shape \(3, 4\)"),
    ("points", ({"a": KEY}, {}, {}), "0 groups: 1 to 6 can be told apart"),
    (
        "turns",
        (ENCODING, ENCODING, WORDS),
        r"before has shape \(3, 8\) but its labels ask for \(3, 2",
    ),
    ("rotary", (KEY, QUERY, [(0, 1)]), r"query has shape \(3, 2\) but its labels ask for \(2,\)"),
    ("masks", ({"a": MASK.int()}, WORDS), "a has dtype torch.int32: it must be boolean"),
    ("masks", ({"a": WIDE}, WORDS), r"a has shape \(3, 4\) .* ask for \(3, 3\)"),
    ("leaks", ({"a": MASK}, WIDE, WORDS), r"allowed has shape \(3, 4\) .* ask for \(3, 3\)"),
    ("patches", ({"a": PATCHES - 1},), "a lies between -0.96 and 0: it must be between 0 and 1"),
    ("embedding", (TABLE, [0], WORDS[:2]), r"table has shape \(3, 4\) .* ask for \(2, 4\)"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), BAD)
def test_bad_input_is_named(name, arguments, message, drawn):
    with pytest.raises(ValueError, match=message):
        getattr(figures, f"plot_{name}")(*arguments)
    assert not drawn
