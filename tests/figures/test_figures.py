"""Every figure is in EXAMPLES, and one test checks what all of them have in common.

A figure that shows numbers also has its own test: test_heatmaps.py, test_curves.py and
test_diagrams.py find the numbers in Matplotlib's objects. The diagrams without numbers are compared
with the pictures stored in the chapters.
"""

import pytest
import torch
from matplotlib.artist import Artist
from matplotlib.colors import to_hex

from attnbook import figures, sinusoidal_encoding
from attnbook.colors import ROLES
from attnbook.figures import canvas
from tests.support.figures import (
    ENCODING,
    FIVE,
    HOURS,
    IDS,
    KEY,
    KEYS,
    LABELS,
    LATER,
    LONG,
    LOOKUP,
    MAP,
    MASK,
    PAIR,
    PATCHES,
    PICTURE,
    QUERY,
    SCORES,
    SPLIT,
    STEPS,
    TABLE,
    WORDS,
    Q,
)
from tests.support.pictures import READABLE, smallest_letters

SVG = canvas.svg
FOUR = dict.fromkeys(("numbers in the maps", "parameters", "operations", "width"), STEPS)
WIDE = torch.tensor([[True, False, False, True], [True, True, False, False], [False] * 4])

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
    "head": (lambda x: figures.plot_head(WORDS, KEYS, 5, 9, int(x), 1, 2), N, ALL),
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
