"""One attention head, and functions that split rows into many heads and join them."""

from torch import Tensor, nn

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.checks.masks import check_fits, check_mask
from attnbook.checks.sizes import check_size
from attnbook.checks.tensors import (
    check_float_tensor,
    check_rows,
    check_width,
    fits,
    leading,
    shape,
)


class SelfAttention(nn.Module):
    """One head: each row of x is projected to a query, a key and a value, by three matrices.

    Shapes:  w_q, w_k: (d_model -> d_k)   w_v: (d_model -> d_v)   no bias, as in S1 and S2
    Raises:  ValueError if a size is not positive or x is not (..., L, d_model)
    Source:  Vaswani et al. 2017, §3.2; S1, S2 step 1
    """

    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        for name, size in (("d_model", d_model), ("d_k", d_k), ("d_v", d_v)):
            check_size(name, size)
        self.d_model = d_model
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Shapes: x (..., L, d_model) -> output (..., L, d_v), weights (..., L, L)."""
        check_width("x", x, self.d_model, "d_model")
        return scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x), mask)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut each row into n_heads neighboring pieces, so that each head has its own sequence.

    Shapes:  x (..., L, D) -> (..., H, L, D / H); head h gets the columns h·D/H … (h+1)·D/H − 1
    Raises:  TypeError, ValueError if x has no rows or D is not divisible by n_heads
    """
    check_rows("x", x)
    check_size("n_heads", n_heads)
    if x.size(-1) % n_heads:
        raise ValueError(f"width {x.size(-1)} is not divisible by n_heads={n_heads}")
    return x.unflatten(-1, (n_heads, x.size(-1) // n_heads)).transpose(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    """Join the heads' pieces of each row again: the inverse of split_heads.

    Shapes:  x (..., H, L, Dv) -> (..., L, H · Dv)
    Raises:  TypeError, ValueError if x has fewer than three dimensions
    """
    check_float_tensor("x", x)
    if x.dim() < 3:
        raise ValueError(f"x has shape {tuple(x.shape)}: it needs at least (heads, length, width)")
    return x.transpose(-2, -3).flatten(-2)


def insert_head_axis(
    mask: Tensor | None, query: Tensor, key: Tensor, n_heads: int, n_cached: int = 0
) -> Tensor | None:
    """Add an axis for the heads to a mask with a batch axis: all heads share the mask.

    Shapes:  query (B, Lq, D)   key (B, L, D)   B may be missing; Lk = n_cached + L
             mask (B, 1 or Lq, Lk) -> (B, 1, 1 or Lq, Lk); (Lq, Lk), (B, 1 or H, Lq, Lk) unchanged
             A mask (B, Lk) with B = Lq cannot be told from (Lq, Lk): add its axis, mask[:, None]
    Raises:  TypeError, ValueError if mask is not a boolean tensor of one of these shapes
    """
    if mask is None:
        return None
    check_mask(mask)
    if mask.dim() == 3:
        mask = mask.unsqueeze(1)
    elif mask.dim() not in (2, 4):
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}: it must be (Lq, Lk), (B, 1 or Lq, Lk) "
            "or (B, 1 or H, Lq, Lk)"
        )
    batch, lq, lk = leading(query=query, key=key), query.size(-2), n_cached + key.size(-2)
    scores = (*batch, n_heads, lq, lk)
    if not fits(shape(mask), scores) and shape(mask) == (*batch, lk):
        raise ValueError(
            f"mask has shape {shape(mask)}: two axes are (Lq, Lk) = {(lq, lk)}. "
            "A padding mask needs an axis for the queries: mask[:, None]"
        )
    check_fits("mask", mask, scores, query)
    return mask
