"""Grids of patches: colours as they are, weights from white to dark, row 0 on top."""

import re

import pytest
import torch

from attnbook.figures import plot_patches

PICTURE = torch.tensor([[[1.0, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 1, 1]]])
LOOKS = torch.tensor([[0.0, 0.1], [0.2, 1.0]])


def squares(svg: str) -> dict[tuple[int, int], str]:
    """The fill of each patch, by its place: row from the top, column from the left."""
    found = re.findall(r'd="M ([\d.]+) ([\d.]+) [^"]*"[^>]*style="fill: (#\w{6}); stroke: #c8', svg)
    columns = sorted({float(x) for x, _, _ in found})
    rows = sorted({float(y) for _, y, _ in found})
    return {(rows.index(float(y)), columns.index(float(x))): fill for x, y, fill in found}


def test_colours_stand_where_they_belong(drawn):
    assert plot_patches({"a picture": PICTURE}) is None
    fills = {(0, 0): "#ff0000", (0, 1): "#00ff00", (1, 0): "#0000ff", (1, 1): "#ffffff"}
    assert squares(drawn[0]) == fills


def test_weights_go_from_white_to_dark(drawn):
    plot_patches({"looks": LOOKS})
    fills = squares(drawn[0])
    assert fills[0, 0] == "#ffffff"
    assert min(fills, key=lambda place: sum(bytes.fromhex(fills[place][1:]))) == (1, 1)


def test_a_moved_weight_moves_the_picture_and_noise_does_not(drawn):
    for extra in (0, 1e-7, 0.3):
        plot_patches({"looks": LOOKS * (1 - extra)})
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("error", "panels", "message"),
    [
        (ValueError, {}, "0 panels: plot_patches draws 1 to 5"),
        (TypeError, {"a": [[0.0]]}, "panel 'a' must be a torch.Tensor, got list"),
        (ValueError, {"a": torch.ones(3)}, r"panel 'a' has shape \(3,\): it must be \(rows"),
        (ValueError, {"a": torch.ones(3, 3, 4)}, r"panel 'a' has shape \(3, 3, 4\): it must be"),
        (ValueError, {"a": 2 * LOOKS}, "panel 'a' lies between 0 and 2: it must be between 0"),
        (ValueError, {"a": LOOKS - 1}, "panel 'a' lies between -1 and 0: it must be between 0"),
    ],
)
def test_bad_input_is_named(error, panels, message, drawn):
    with pytest.raises(error, match=message):
        plot_patches(panels)
    assert not drawn
