"""The picture of chapter 2: rows are copied as they are, and each arrow starts at its own row."""

import re

import pytest
import torch

from attnbook import figures

WORDS = ["很", "甜", "苹果"]
TABLE = torch.arange(12.0).reshape(3, 4) - 5


def cells(svg):
    """The coloured cells in the order of drawing: (left edge, top edge, bottom edge, colour)."""
    return [
        (float(left), float(top), float(bottom), colour)
        for left, top, bottom, colour in re.findall(
            r'd="M ([\d.]+) ([\d.]+)  L [\d.]+ [\d.]+  L [\d.]+ ([\d.]+) [^"]*"[^>]*'
            r'style="fill: (#\w{6}); stroke: #ffffff',
            svg,
        )
    ]


def arrows(svg):
    """Each arrow's height at its start and at its head."""
    found = re.findall(r'd="M [\d.]+ ([\d.]+)  Q [\d.]+ [\d.]+ [\d.]+ ([\d.]+)  "', svg)
    return [(float(start), float(end)) for start, end in found]


def test_the_rows_of_x_have_the_colours_of_the_rows_they_are_copied_from(drawn):
    ids = [2, 0, 1, 1]
    assert figures.plot_embedding(TABLE, ids, WORDS) is None
    colours = [colour for *_, colour in cells(drawn[0])]
    assert len(colours) == (3 + 4) * 4
    table = [colours[i : i + 4] for i in range(0, 12, 4)]
    x = [colours[i : i + 4] for i in range(12, 28, 4)]
    assert len(set(map(tuple, table))) == 3
    assert x == [table[i] for i in ids]


def test_an_arrow_leads_from_the_row_of_each_id_to_its_place(drawn):
    ids = [2, 0, 1, 1]
    figures.plot_embedding(TABLE, ids, WORDS)
    squares = cells(drawn[0])
    table = [(top, bottom) for _, top, bottom, _ in squares[:12:4]]
    x = [(top, bottom) for _, top, bottom, _ in squares[12::4]]
    found = arrows(drawn[0])
    assert len(found) == len(ids)
    for (start, end), i, place in zip(found, ids, x, strict=True):
        assert table[i][0] < start < table[i][1]
        assert place[0] < end < place[1]


def test_a_longer_table_makes_a_taller_picture(drawn):
    figures.plot_embedding(TABLE, [0], WORDS)
    figures.plot_embedding(TABLE.repeat(2, 1), [0], [*WORDS, "a", "b", "c"])
    low, high = (float(re.search(r'height="([\d.]+)pt', svg).group(1)) for svg in drawn)
    assert high > low + 50


def test_a_table_of_zeros_is_drawn_in_the_colour_of_zero(drawn):
    figures.plot_embedding(TABLE, [0], WORDS)
    figures.plot_embedding(torch.zeros(3, 4), [0], WORDS)
    zero = cells(drawn[0])[5][-1]  # where TABLE holds its 0
    assert {colour for *_, colour in cells(drawn[1])} == {zero}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((TABLE, [0], WORDS[:2]), ValueError, r"shape \(3, 4\) but the vocabulary has 2 words"),
        ((TABLE[0], [0], WORDS), ValueError, r"shape \(4,\) but the vocabulary has 3 words"),
        ((TABLE[:, :0], [0], WORDS), ValueError, r"shape \(3, 0\)"),
        ((TABLE, [], WORDS), ValueError, "nothing to look up"),
        ((TABLE, [0, 3], WORDS), ValueError, "id 3 has no row: the table's rows are 0 to 2"),
        ((TABLE, [-1], WORDS), ValueError, "id -1 has no row"),
        ((TABLE, [1.0], WORDS), TypeError, "an id must be an int, got float"),
        ((TABLE, [True], WORDS), TypeError, "an id must be an int, got bool"),
        ((TABLE.tolist(), [0], WORDS), TypeError, "table must be a torch.Tensor, got list"),
        ((TABLE.long(), [0], WORDS), ValueError, "table has dtype torch.int64"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_its_numbers(drawn, arguments, error, message):
    with pytest.raises(error, match=message):
        figures.plot_embedding(*arguments)
    assert drawn == []
