"""Maps of weights, matrices, encodings, masks and patches show each number in its cell."""

import numpy as np
import torch
from matplotlib.colors import to_hex

from attnbook import causal_mask, figures, sinusoidal_encoding
from attnbook.colors import INK, MARKED, PAPER, ROLES, SHADE
from attnbook.figures.heatmaps import SIGNED
from tests.support.figures import (
    KEYS,
    LONG,
    MAP,
    MASK,
    PATCHES,
    PICTURE,
    WORDS,
    cells,
    names,
    texts,
    written,
)


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


def test_a_leak_and_a_blind_cell_have_a_color_and_a_sign(drawn):
    moved = torch.tensor([[True, True, False], [False, True, False], [True, True, True]])
    figures.plot_leaks({"some": moved}, MASK, WORDS)
    (axes,) = drawn[0].axes
    m, leak, still, blind = MARKED, INK, PAPER, SHADE
    assert [fill for fill, _ in looks(axes)] == [m, leak, still, blind, m, still, m, m, m]
    assert written(axes) == {(0, 1): "×", (1, 0): "○"}
    assert {text.get_color() for text in axes.texts if text.get_text() == "○"} == {INK}
    (legend,) = drawn[0].legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "unchanged, but should change ○",
        "changed, but must not ×",
        "changed",
        "unchanged",
    ]


def test_six_grids_are_drawn_three_in_a_row(drawn):
    six = causal_mask(6)
    figures.plot_leaks(dict.fromkeys("abcdef", six), six, LONG)
    assert drawn[0].axes[0].get_subplotspec().get_geometry()[:2] == (2, 3)


def test_patches_show_their_colors_and_weights_one_digit(drawn):
    figures.plot_patches(PICTURE | {"looks": PATCHES})
    picture, weights = drawn[0].axes
    drawn[0].draw_without_rendering()
    fills = [to_hex(color) for color in picture.collections[0].get_facecolors()]
    assert fills == ["#ff0000", "#00ff00", "#0000ff", "#ffffff"]
    assert torch.allclose(cells(weights), PATCHES)
    assert (texts(picture), texts(weights)) == ([], [".3", "", ".2", "1"])
    assert weights.get_ylim() == (2.1, -0.1)
