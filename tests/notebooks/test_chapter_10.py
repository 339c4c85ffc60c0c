"""What chapter 10 claims beyond the numbers that it prints."""

import pytest
import torch

from attnbook import bigbird_mask, sliding_window_mask


def layers_until_all_have_heard(mask: torch.Tensor) -> int:
    reached, layers = mask.float(), 1
    while not reached.all():
        reached, layers = (mask.float() @ reached).clamp(max=1), layers + 1
    return layers


@pytest.mark.parametrize("seed", range(3))
def test_two_looks_by_lot_connect_256_words_in_five_layers_and_1024_in_six(seed):
    assert layers_until_all_have_heard(bigbird_mask(256, 4, 0, 2, seed)) == 5
    assert layers_until_all_have_heard(bigbird_mask(1024, 4, 0, 2, seed)) == 6


def test_the_window_alone_needs_the_length_over_its_width():
    assert layers_until_all_have_heard(sliding_window_mask(256, 4)) == 64
