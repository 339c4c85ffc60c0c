"""Ring attention in several processes equals one pass, and PyTorch's own where that runs."""

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.testing import assert_close

from attnbook import causal_mask, scaled_dot_product_attention
from attnbook.efficient.ring import ring_attention, ring_gradients
from attnbook.notebook.processes import in_processes
from tests.support.draws import query_key_value

L, DK, DV = 24, 4, 6
SIZES = 2, 4


def both_forms(query: Tensor, key: Tensor, value: Tensor, d_output: Tensor) -> list[Tensor]:
    """Return outputs and gradients with and without a causal mask, and of two PyTorch's output."""
    found = [*ring_gradients(query, key, value, d_output, True)]
    found += ring_gradients(query, key, value, d_output, False)
    return [*found, *pytorch_ring(query, key, value)] if dist.get_world_size() == 2 else found


def pytorch_ring(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Return the output of PyTorch's own ring attention, where this PyTorch has the function."""
    from torch.distributed.tensor import experimental  # takes a second in each process

    torch_ring = getattr(experimental._attention, "_templated_ring_attention", None)
    if torch_ring is None:
        return []
    experimental._attention._cp_options.enable_load_balance = False
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    query, key, value = query[:, None], key[:, None], value[:, None]
    return [torch_ring(dist.group.WORLD, 2, kernel, query, key, value, True)[0][:, 0]]


@pytest.mark.on_cpu  # the processes exchange CPU tensors
@pytest.mark.parametrize("size", SIZES)
def test_processes_together_compute_one_pass(size):
    query, key, value = query_key_value(2, lq=L, lk=L, dk=DK, dv=DK if size == 2 else DV)
    d_output = value.flip(-2)
    parts = (x.chunk(size, -2) for x in (query, key, value, d_output))
    runs = in_processes(both_forms, [*zip(*parts, strict=True)])
    found = [torch.cat(pieces, -2) for pieces in zip(*(run.result for run in runs), strict=True)]
    expected = []
    for mask in (causal_mask(L), None):
        leaves = [x.clone().requires_grad_() for x in (query, key, value)]
        output, _ = scaled_dot_product_attention(*leaves, mask)
        expected += [output.detach(), *torch.autograd.grad(output, leaves, d_output)]
    for ours, right in zip(found[:8], expected, strict=True):
        assert_close(ours, right, rtol=0, atol=1e-12)
    for torchs in found[8:]:
        assert_close(torchs.double(), expected[0], rtol=0, atol=1e-6)
    chunk = (key.nbytes + value.nbytes) // size
    forward, backward = size - 1, size - 1 + size  # chunks, of which `size` are gradients
    assert {run.sent for run in runs} == {2 * (forward + backward) * chunk}


def test_an_error_in_a_process_is_raised_here():
    with pytest.raises(torch.multiprocessing.ProcessRaisedException, match="ring attention compar"):
        in_processes(ring_attention, [(torch.ones(3, 2), torch.ones(4, 2), torch.ones(4, 2))])
