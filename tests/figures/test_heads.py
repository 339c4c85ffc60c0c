"""The pictures of chapter 4: every head drawn, to scale, and moved by its numbers."""

import re

import pytest
import torch

from attnbook import figures
from attnbook.colours import ROLES
from attnbook.figures import heads

WORDS = ["Life", "is", "short"]
KEYS = ["苹果", "很", "甜", "的"]
MAPS = torch.tensor(
    [
        [[0.2, 0.3, 0.5, 0.0], [0.13, 0.87, 0.0, 0.0], [0.0, 0.25, 0.75, 0.0]],
        [[1.0, 0.0, 0.0, 0.0], [0.004, 0.996, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
    ]
)


@pytest.fixture
def written(monkeypatch):
    """What stands in the cells: text and (column, row), head by head."""
    seen: list[list[tuple[str, int, int]]] = []

    def spy(axes, x, fontsize):
        write(axes, x, fontsize)
        seen.append(
            [(t.get_text(), int(t.get_position()[0]), int(t.get_position()[1])) for t in axes.texts]
        )

    write = heads._write_cells
    monkeypatch.setattr(heads, "_write_cells", spy)
    return seen


def test_every_weight_stands_in_the_cell_of_its_head_query_and_key(drawn, written):
    assert figures.plot_heads(MAPS, WORDS, KEYS) is None
    assert len(drawn) == 1
    assert drawn[0].startswith("<svg")
    first, second = written
    assert first == [
        (".20", 0, 0),
        (".30", 1, 0),
        (".50", 2, 0),
        (".13", 0, 1),
        (".87", 1, 1),
        (".25", 1, 2),
        (".75", 2, 2),
    ]
    # 0.996 is not 1, but rounds to it; 0.004 and the row of zeros leave their cells empty.
    assert second == [("1", 0, 0), ("1", 1, 1)]


@pytest.mark.parametrize("head", [0, 1])
def test_every_head_moves_the_picture(drawn, head):
    moved = MAPS.clone()
    moved[head, 2, 2] -= 0.0 if head else 0.25
    moved[head, 2, 3] += 0.25
    figures.plot_heads(MAPS, WORDS, KEYS)
    figures.plot_heads(moved, WORDS, KEYS)
    assert drawn[0] != drawn[1]


def test_what_no_one_can_read_does_not_move_it(drawn):
    figures.plot_heads(MAPS, WORDS, KEYS)
    figures.plot_heads((MAPS.double() + 1e-9).clamp(0, 1).requires_grad_(), WORDS, KEYS)
    assert drawn[0] == drawn[1]


def test_titles_and_labels_are_drawn(drawn):
    figures.plot_heads(MAPS[:, :, :3], WORDS)
    figures.plot_heads(MAPS[:, :, :3], WORDS, WORDS, ["head 0", "head 1"])
    figures.plot_heads(MAPS[:, :, :3], WORDS, titles=["a head", "head 1"])
    figures.plot_heads(MAPS[:, :, :3], [*WORDS[:2], "long"], WORDS)
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


def test_chinese_stands_upright_in_narrow_columns_only(drawn, monkeypatch):
    seen = []
    monkeypatch.setattr(heads, "draw_cells", lambda *arguments: seen.append(arguments[3]))
    figures.plot_heads(torch.zeros(2, 1, 9), ["甜"], ["苹果", "的"] * 4 + ["very"])
    figures.plot_heads(torch.zeros(1, 1, 2), ["甜"], ["苹果", "的"])
    assert seen[0] == seen[1] == ["苹\n果", "的"] * 4 + ["very"]
    assert seen[2] == ["苹果", "的"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((MAPS[0], WORDS, KEYS), ValueError, r"\(3, 4\): plot_heads draws \(H, Lq, Lk\)"),
        ((MAPS[:0], WORDS, KEYS), ValueError, "with 1 to 4 heads"),
        ((torch.zeros(5, 3, 4), WORDS, KEYS), ValueError, "with 1 to 4 heads"),
        ((MAPS, WORDS), ValueError, r"3 keys for weights of shape \(2, 3, 4\): there must be 4"),
        ((MAPS, WORDS[:2], KEYS), ValueError, "2 queries for weights .*: there must be 3"),
        ((MAPS, WORDS, KEYS, ["one"]), ValueError, "1 titles for weights .*: there must be 2"),
        ((MAPS + 0.1, WORDS, KEYS), ValueError, "weights must lie between 0 and 1"),
        ((MAPS - 0.1, WORDS, KEYS), ValueError, "weights must lie between 0 and 1"),
        ((MAPS * torch.nan, WORDS, KEYS), ValueError, "weights must lie between 0 and 1"),
        ((MAPS.tolist(), WORDS, KEYS), TypeError, "weights must be a torch.Tensor, got list"),
    ],
)
def test_bad_maps_are_named(arguments, error, message, drawn):
    with pytest.raises(error, match=message):
        figures.plot_heads(*arguments)
    assert not drawn


def boxes(svg):
    """Every filled rectangle: opacity, left, top, width, height."""
    found = re.findall(
        r'd="M ([\d.]+) ([\d.]+)  L ([\d.]+) [\d.]+  L [\d.]+ ([\d.]+) [^"]*"[^>]*'
        r'style="fill: (#\w{6}); fill-opacity: ([\d.]+)',
        svg,
    )
    assert {fill for *_, fill, _ in found} == {ROLES["query"].fill.lower()}
    return [
        (opacity, float(a), min(float(b), float(d)), float(c) - float(a), abs(float(d) - float(b)))
        for a, b, c, d, _, opacity in found
    ]


def test_the_split_is_drawn_to_scale_and_follows_one_row(drawn):
    assert figures.plot_split(WORDS, 4, 5, row=1) is None
    found = boxes(drawn[0])
    full, rows = ([box[1:] for box in found if box[0] == opacity] for opacity in ("0.2", "0.7"))
    assert len(full) == len(rows) == 1 + 4
    unit = full[0][3] / 3
    assert [round(box[2] / unit, 1) for box in full] == pytest.approx([20, 5, 5, 5, 5], abs=0.1)
    for (_, top, width, height), (_, row_top, row_width, _) in zip(full, rows, strict=True):
        assert height / unit == pytest.approx(3, abs=0.1)
        assert row_width == pytest.approx(width, abs=0.2)
        assert (row_top - top) / unit == pytest.approx(1, abs=0.1)
    tops = [box[1] for box in full[1:]]
    assert tops == sorted(tops)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 2, 3, 0), "words=0: it must be at least 1"),
        ((WORDS, 0, 3, 0), "n_heads=0: it must be at least 1"),
        ((WORDS, 2, 0, 0), "d_k=0: it must be at least 1"),
        ((WORDS, 2, 3, 3), "row=3: it must be between 0 and 2"),
        ((WORDS, 2, 3, -1), "row=-1: it must be between 0 and 2"),
    ],
)
def test_a_bad_split_is_named(arguments, message, drawn):
    with pytest.raises(ValueError, match=message):
        figures.plot_split(*arguments)
    assert not drawn
