"""ALiBi: the slopes of the paper, and the bias checked entry by entry."""

import itertools

import pytest
import torch
from torch.testing import assert_close

from attnbook import alibi_bias
from attnbook.positions.alibi import alibi_slopes


def published_slopes(n_heads: int) -> list[float]:
    """The slopes of the paper's §3, with the authors' rule if n_heads is not a power of two."""
    if (n_heads & (n_heads - 1)) == 0:
        return [2.0 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)]
    lower = 1
    while 2 * lower < n_heads:
        lower *= 2
    return published_slopes(lower) + published_slopes(2 * lower)[::2][: n_heads - lower]


def test_every_number_of_heads_has_the_published_slopes():
    for n_heads in range(1, 34):
        assert_close(alibi_slopes(n_heads), torch.tensor(published_slopes(n_heads)))


def test_the_bias_is_a_slope_times_a_distance():
    n_heads, lq, lk = 6, 3, 7
    bias, slopes = alibi_bias(n_heads, lq, lk), published_slopes(n_heads)
    assert bias.shape == (n_heads, lq, lk)
    for h, i, j in itertools.product(range(n_heads), range(lq), range(lk)):
        assert bias[h, i, j].item() == pytest.approx(-slopes[h] * abs(lk - lq + i - j))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 2, 3), "n_heads=0: it must be at least 1"),
        ((2, 4, 3), "lq=4 but lk=3: the queries are at the last of the keys' positions"),
        ((2, -1, 3), "lq=-1: it must be at least 0"),
        ((2, 0, -1), "lk=-1: it must be at least 0"),
    ],
)
def test_invalid_sizes_of_a_bias_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        alibi_bias(*sizes)
