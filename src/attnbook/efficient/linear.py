"""Linear attention: no softmax, so the cost grows with the length and not with its square."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.attention import check_attention, check_causal
from attnbook.checks.tensors import shape

STEP = 64  # queries per step of the causal form


def linear_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    causal: bool = False,
) -> tuple[Tensor, None]:
    """Attend with weights proportional to φ(q)·φ(k), φ(x) = elu(x) + 1, in the cheaper order.

    There is no softmax between the two products, so φ(K)ᵀV can be computed first: Dk × Dv numbers,
    however long the sequence is. With `causal=True` this product is a running sum, and each query
    uses the sum over the keys so far. (A column of ones after the values gives the sums to divide
    by.) φ is positive, but in float32 it rounds to 0 below about −17, so a query or key of such
    numbers counts for nothing.

    Shapes:  query (..., Lq, Dk)   key (..., Lk, Dk)   value (..., Lk, Dv)
             mask  (..., 1, Lk), one for all queries, boolean, True = may look; no bias
    Returns: output (..., Lq, Dv), None; zeros for a query that may look at nothing
    Raises:  as in `scaled_dot_product_attention`; ValueError for a bias, for a mask that differs
             from query to query, or for causal=True with Lq != Lk
    Source:  Katharopoulos et al. 2020; S3 §6
    """
    check_attention(query, key, value, mask, bias)
    check_causal(causal, query, key, None)
    if bias is not None:
        raise ValueError("bias was given: linear attention has no scores to add it to")
    if mask is not None and mask.dim() > 1 and mask.size(-2) > 1:
        raise ValueError(
            f"mask of shape {shape(mask)} differs from query to query: linear attention sums the "
            "keys once for all queries, so it takes (..., 1, Lk); for a causal mask say causal=True"
        )
    dtype = query.dtype
    wide = torch.promote_types(dtype, torch.float32)
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    query, key = F.elu(query) + 1, F.elu(key) + 1
    if mask is not None:
        key = key * torch.atleast_2d(mask).mT  # a key that is 0 adds nothing to a sum
    value = F.pad(value, (0, 1), value=1.0)  # (..., Lk, Dv + 1)
    mixed = _running(query, key, value) if causal else query @ (key.mT @ value)
    output, total = mixed[..., :-1], mixed[..., -1:]
    return (output / total.masked_fill(total == 0, 1.0)).to(dtype), None


def _running(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Sum (q_i · k_j) v_j over j <= i, with a running state for the keys of earlier steps."""
    state = query.new_zeros(query.size(-1), value.size(-1))  # (Dk, Dv), later (..., Dk, Dv)
    mixed = []
    for q, k, v in zip(*(x.split(STEP, -2) for x in (query, key, value)), strict=True):
        mixed.append(q @ state + (q @ k.mT).tril() @ v)
        state = state + k.mT @ v
    return torch.cat(mixed, -2)
