"""Cost: multiplications in matrix products, and the memory of new tensors."""

import time

import pytest
import torch
import torch.nn.functional as F

from attnbook.notebook.cost import cost, seconds

A, B = torch.ones(2, 3, 5), torch.ones(2, 5, 7)


def test_the_multiplications_of_products_are_counted_and_nothing_else():
    assert cost(lambda: A @ B).multiplications == 2 * 3 * 5 * 7
    assert cost(lambda: A[0] @ B[0]).multiplications == 3 * 5 * 7
    assert (
        cost(lambda: torch.nn.functional.linear(A[0], B[0].T.contiguous())).multiplications == 105
    )
    assert cost(lambda: (A * A).exp() + 1).multiplications == 0


@pytest.mark.on_cpu  # the simulated GPU would create another tensor
def test_a_product_written_into_an_existing_tensor_counts_the_same():
    there = torch.empty(2, 3, 7)
    found = cost(lambda: torch.matmul(A, B, out=there))
    assert found == (2 * 3 * 5 * 7, 0)


def test_a_backward_pass_is_counted_too():
    x, y = A.clone().requires_grad_(), B.clone().requires_grad_()
    assert cost(lambda: (x @ y).sum().backward()).multiplications == 3 * 2 * 3 * 5 * 7


def test_a_fused_kernel_counts_in_full_even_if_it_skips_hidden_pairs():
    qkv = torch.ones(3, 1, 2, 64, 4)
    whole, causal = (
        cost(lambda c=c: F.scaled_dot_product_attention(*qkv, is_causal=c)) for c in (False, True)
    )
    assert causal.multiplications == whole.multiplications == 2 * 2 * 64 * 64 * 4


@pytest.mark.parametrize("d_v", [4, 6])
def test_pytorchs_kernel_counts_as_its_two_products(d_v):
    query, key, value = torch.ones(2, 3, 8, 4), torch.ones(2, 3, 9, 4), torch.ones(2, 3, 9, d_v)
    found = cost(lambda: F.scaled_dot_product_attention(query, key, value))
    assert found.multiplications == 2 * 3 * 8 * 9 * (4 + d_v)


def test_memory_is_the_peak_memory():
    x = torch.ones(1000)  # 4,000 bytes, allocated before the measurement

    def three_in_a_row():
        y = x + 1
        y = y + 1
        return y + 1

    def three_at_once():
        return [x + 1, x + 2, x + 3]

    assert cost(three_in_a_row).megabytes == pytest.approx(0.008)
    assert cost(three_at_once).megabytes == pytest.approx(0.012)
    assert cost(lambda: x[:500].view(2, 250)).megabytes == 0
    assert cost(lambda: x.add_(1)).megabytes == 0


def test_tensors_saved_for_a_backward_pass_count():
    x = torch.ones(1000, requires_grad=True)
    with torch.no_grad():
        assert cost(lambda: x.exp().exp().exp().exp()).megabytes == pytest.approx(0.008)
    assert cost(lambda: x.exp().exp().exp().exp()).megabytes == pytest.approx(0.016)


def test_seconds_are_those_of_the_fastest_run(monkeypatch):
    clock = iter([10, 15, 20, 22, 30, 33])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert seconds(lambda: None) == 2
    assert list(clock) == []
