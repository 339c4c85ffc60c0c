"""Ring attention: each process has a chunk of one long sequence, and keys are passed around."""

import math
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from attnbook.checks.attention import check_attention, check_first_derivative, check_one_sequence
from attnbook.checks.tensors import leading


def ring_attention(
    query: Tensor, key: Tensor, value: Tensor, *, causal: bool = False
) -> tuple[Tensor, None]:
    """Attend from this process's queries to the keys of all processes, by online softmax.

    The process of rank r has chunk r of a sequence, and all chunks have the same shapes. The keys
    and values are passed from each process to the next until each has seen all of them. In the
    backward pass they go around once more, together with their gradients. So a process never holds
    more than two chunks of keys and values, or the scores of more than one pair of chunks.

    Shapes:  query (..., L, Dk)   key (..., L, Dk)   value (..., L, Dv), a chunk of each
    Returns: output (..., L, Dv), None
    Raises:  as in `scaled_dot_product_attention`; ValueError if there are not as many keys as
             queries, or torch.distributed is not initialized
    Source:  Liu et al. 2023
    """
    check_attention(query, key, value, None, None)
    check_one_sequence(query, key, "ring attention")
    lead = leading(query=query, key=key, value=value)
    wide = torch.promote_types(query.dtype, torch.float32)
    q, k, v = (x.to(wide).expand(*lead, *x.shape[-2:]) for x in (query, key, value))
    return Ring.apply(q, k, v, causal).to(query.dtype), None


class Ring(Function):
    """A Function that saves the output and each query's logsumexp, as `OnlineSoftmax` does."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
        ctx.causal, own = causal, (key, value)
        largest = torch.full_like(query[..., :1], torch.finfo(query.dtype).min)  # (..., L, 1)
        total, mixed = torch.zeros_like(largest), torch.zeros_like(value)
        for passed in range(dist.get_world_size()):
            if passed:
                key, value = pass_on(key, value)
            scores = _scores(query, key, passed, causal)
            if scores is None:
                continue
            before, largest = largest, largest.maximum(scores.amax(-1, keepdim=True))
            shrink, powers = (before - largest).exp(), (scores - largest).exp()
            total = shrink * total + powers.sum(-1, keepdim=True)
            mixed = shrink * mixed + powers @ value
        output = mixed / total
        ctx.save_for_backward(query, *own, output, largest + total.log())
        return output

    @staticmethod
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        check_first_derivative("ring_attention")
        query, key, value, output, lse = ctx.saved_tensors
        mean = (d_output * output).sum(-1, keepdim=True)
        d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
        size, root = dist.get_world_size(), math.sqrt(query.size(-1))
        for passed in range(size):
            scores = _scores(query, key, passed, ctx.causal)
            if scores is not None:
                weights = (scores - lse).exp()
                d_scores = weights * (d_output @ value.mT - mean) / root
                d_query = d_query + d_scores @ key
                d_key, d_value = d_key + d_scores.mT @ query, d_value + weights.mT @ d_output
            if passed < size - 1:
                key, value, d_key, d_value = pass_on(key, value, d_key, d_value)
        if size > 1:
            d_key, d_value = pass_on(d_key, d_value)  # back to the process that they belong to
        return d_query, d_key, d_value, None


def pass_on(*tensors: Tensor) -> list[Tensor]:
    """Send tensors to the next process of the ring, and receive those of the one before."""
    rank, size = dist.get_rank(), dist.get_world_size()
    tensors = tuple(x.contiguous() for x in tensors)
    arrived = [torch.empty_like(x) for x in tensors]
    sends = [dist.P2POp(dist.isend, x, (rank + 1) % size) for x in tensors]
    receives = [dist.P2POp(dist.irecv, x, (rank - 1) % size) for x in arrived]
    for work in dist.batch_isend_irecv(sends + receives):
        work.wait()
    return arrived


def _scores(query: Tensor, key: Tensor, passed: int, causal: bool) -> Tensor | None:
    """Score keys that have been passed on so many times; None if all of them are later."""
    rank = dist.get_rank()
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if not causal or 0 < passed <= rank:
        return scores
    if passed > rank:
        return None
    later = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -math.inf)


def ring_gradients(
    query: Tensor, key: Tensor, value: Tensor, d_output: Tensor, causal: bool = True
) -> tuple[Tensor, ...]:
    """Return this process's output and the gradients of its query, key and value."""
    inputs = [x.detach().requires_grad_() for x in (query, key, value)]
    output, _ = ring_attention(*inputs, causal=causal)
    return output.detach(), *torch.autograd.grad(output, inputs, d_output)
