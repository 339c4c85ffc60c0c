"""What the cheaper forms save: matrices in memory, and multiplications."""

import os
from functools import partial

import pytest
import torch

from attnbook import (
    blocked_attention,
    causal_mask,
    chunked_attention,
    fused_attention,
    linear_attention,
    scaled_dot_product_attention,
    sliding_window_mask,
    window_attention,
)
from attnbook.efficient import blocked as blocked_module
from attnbook.notebook.cost import cost
from tests.support.draws import query_key_value
from tests.support.largest import Largest

B, H, LK = 2, 3, 17


@pytest.mark.parametrize(
    "attend",
    [
        partial(chunked_attention, chunk=64),
        partial(chunked_attention, chunk=64, causal=True),
        partial(window_attention, window=8),
        linear_attention,
        partial(linear_attention, causal=True),
    ],
)
def test_no_score_matrix_is_created_forward_or_backward(attend):
    sizes = []
    for length in (512, 1024):
        qkv = [x.requires_grad_() for x in query_key_value(H, lq=length, lk=length)]
        with Largest() as largest:
            attend(*qkv)[0].sum().backward()
        sizes.append(largest.elements)
    assert sizes[0] < H * 512**2 / 16
    assert sizes[1] <= 2 * sizes[0]
    with Largest() as largest:
        scaled_dot_product_attention(*qkv)
    assert largest.elements == H * length**2


def spent(attend, *arguments) -> float:
    return cost(lambda: attend(*arguments)).megabytes


@pytest.mark.skipif(
    os.environ.get("ATTNBOOK_REHEARSAL") == "1", reason="a simulated GPU has no kernels of its own"
)
@pytest.mark.parametrize(
    ("leading", "dv", "mask"),
    [
        ((1, 2), 32, None),
        ((1, 2), 32, causal_mask(512)),
        ((1, 2), 32, sliding_window_mask(512, 9)),
        ((2,), 32, None),
        ((), 32, causal_mask(512)),
        ((2, 1, 2), 32, sliding_window_mask(512, 9)),
        ((1, 2), 24, None),
        ((1, 2), 40, None),
    ],
)
def test_fused_takes_no_more_memory_than_the_plain_form(leading, dv, mask):
    query, key = torch.randn(2, *leading, 512, 32)
    qkv = query, key, torch.randn(*leading, 512, dv)
    table = query.numel() // 32 * 512 * 4 / 1e6
    plain, fused = (spent(f, *qkv, mask) for f in (scaled_dot_product_attention, fused_attention))
    assert fused <= plain
    if mask is None or mask.equal(causal_mask(512)):
        assert fused < table / 3, "PyTorch created a matrix of scores"


def test_fused_needs_matrices_for_a_bias_as_documented():
    qkv, bias = torch.randn(3, 1, 2, 512, 32), torch.randn(2, 512, 512)
    assert spent(fused_attention, *qkv, None, bias) >= bias.numel() * 4 / 1e6


def test_blocked_stores_one_matrix_and_in_half_precision_two_as_documented():
    qkv, matrix = torch.randn(3, 1, 2, 512, 32), 2 * 512**2 * 4 / 1e6
    plain, blocked = (spent(f, *qkv) for f in (scaled_dot_product_attention, blocked_attention))
    assert blocked < 1.3 * matrix < 2 * matrix < plain
    for_each = torch.ones(2, 1, 512, 512, dtype=torch.bool)
    wide = torch.randn(3, 2, 4, 512, 32)
    assert spent(blocked_attention, *wide, for_each) > spent(blocked_attention, *wide) + matrix / 2
    half = [x.half() for x in qkv]
    assert spent(blocked_attention, *half) > spent(scaled_dot_product_attention, *half)


def test_chunks_that_a_mask_hides_are_skipped():
    qkv = torch.randn(3, 2, 512, 32)
    mask = sliding_window_mask(512, 20)

    def products(mask: torch.Tensor | None) -> int:
        return cost(lambda: chunked_attention(*qkv, mask, chunk=64)).multiplications

    assert products(mask) == products(None) * (8 + 7 + 7) / 64  # the diagonal and its neighbors


def test_blocks_compute_nothing_after_the_last_visible_key(monkeypatch):
    monkeypatch.setattr(blocked_module, "BLOCK", 8 * LK)  # eight rows of one head
    qkv = query_key_value(B, lq=LK)

    def products(mask):
        return cost(lambda: blocked_attention(*qkv, mask)).multiplications

    shown = sum(8 * min(start + 8, LK) for start in (0, 8)) + LK  # rows 0-7, 8-15, 16
    assert products(causal_mask(LK)) * LK**2 == products(None) * shown
    assert products(torch.arange(LK) < 5) * LK == products(None) * 5
