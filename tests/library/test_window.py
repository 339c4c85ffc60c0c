"""Attention in a sliding window equals the definition with the window's mask."""

import pytest
import torch
from torch.testing import assert_close

from attnbook import (
    combine_masks,
    padding_mask,
    scaled_dot_product_attention,
    sliding_window_mask,
    window_attention,
)
from tests.support.draws import drawn, query_key_value

B, H = 2, 3
NEARLY = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("window", [0, 3, 70, 500])
@pytest.mark.parametrize("table", ["none", "keys", "mask", "bias"])
def test_the_window_equals_the_masked_dense_form(window, table):
    length = 150
    qkv = [x.requires_grad_() for x in query_key_value(B, H, lq=length, lk=length)]
    generator = torch.Generator().manual_seed(3)
    mask, bias = {
        "none": (None, None),
        "keys": (padding_mask([150, 90], length)[:, None], None),
        "mask": (torch.rand(length, length, generator=generator) > 0.5, None),
        "bias": (None, drawn(H, length, length)),
    }[table]
    both = combine_masks(None if mask is None else mask, sliding_window_mask(length, window))
    output, weights = window_attention(*qkv, mask, bias, window=window)
    expected = scaled_dot_product_attention(*qkv, both, bias)[0]
    assert weights is None
    assert_close(output, expected, **NEARLY)
    toward = drawn(*output.shape)
    assert_close(*(torch.autograd.grad(x, qkv, toward) for x in (output, expected)), **NEARLY)
