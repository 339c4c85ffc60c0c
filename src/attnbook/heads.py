"""Heads: attention with weights of its own."""

from torch import Tensor, nn

from attnbook.attention import scaled_dot_product_attention
from attnbook.checks import check_size, check_width


class SelfAttention(nn.Module):
    """One head: every row of x asks, labels itself and answers, through three matrices.

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
