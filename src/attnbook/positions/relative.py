"""Relative positions: attention that depends on how far away each key is."""

import math

import torch
from torch import Tensor, nn

from attnbook.attention.heads import insert_head_axis, merge_heads, split_heads
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.checks.sizes import check_even, check_heads, check_size
from attnbook.checks.tensors import check_dtype_and_device, check_sequences, check_width
from attnbook.positions.absolute import sinusoids


class ShawAttention(nn.Module):
    """Self-attention in which each distance from query to key has learned vectors.

    score_ij = q_i · (k_j + a_{j−i}) / √Dk   and   output_i = Σ_j weights_ij (v_j + b_{j−i});
    distances are clipped to ±max_distance, and the heads share both tables.

    Shapes:  x (B, L, d_model) -> output (B, L, d_model), weights (B, H, L, L)
             mask as in MultiHeadAttention
    Raises:  TypeError, ValueError if d_model is not divisible by n_heads, max_distance is below 0,
             or x or the mask does not fit
    Source:  Shaw et al. 2018, eqs. 3-4; S3 §5.3
    """

    def __init__(self, d_model: int, n_heads: int, max_distance: int) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        check_size("max_distance", max_distance, at_least=0)
        self.d_model, self.n_heads, self.max_distance = d_model, n_heads, max_distance
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        self.key_table = nn.Embedding(2 * max_distance + 1, d_model // n_heads)
        self.value_table = nn.Embedding(2 * max_distance + 1, d_model // n_heads)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attend from each row of x to every row of x."""
        check_width("x", x, self.d_model, "d_model")
        check_sequences(x=x)
        mask = insert_head_axis(mask, x, x, self.n_heads)
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        here = torch.arange(x.size(-2), device=x.device)
        distance = (here - here[:, None]).clamp(-self.max_distance, self.max_distance)  # j - i
        row = distance + self.max_distance  # (L, L), 0 … 2 max_distance
        bias = torch.einsum("...id,ijd->...ij", q, self.key_table(row)) / math.sqrt(q.size(-1))
        output, weights = scaled_dot_product_attention(q, k, v, mask, bias)
        output = output + torch.einsum("...ij,ijd->...id", weights, self.value_table(row))
        return self.w_o(merge_heads(output)), weights


class TransformerXLAttention(nn.Module):
    """Attention to a memory and to the rows themselves, with the four terms of Transformer-XL.

    score_ij = (q_i·k_j + q_i·W_R r_{i−j} + u·k_j + v·W_R r_{i−j}) / √Dk: the query with
    j's content, the query with the distance, and two terms that do not depend on the query. r is
    sinusoidal and works for any distance, so the length is unbounded. (The paper puts the sines
    before the cosines; here they alternate, and W_R absorbs the change in order.)

    Shapes:  x (B, L, d_model), memory (B, M, d_model) from the previous segment, or None
             mask (L, M + L), or with B, or with B and H, as in MultiHeadAttention
    Returns: output (B, L, d_model), weights (B, H, L, M + L)
    Raises:  TypeError, ValueError if d_model is odd or not divisible by n_heads, or x, the memory
             or the mask does not fit
    Source:  Dai et al. 2019, §3.3; S3 §5.3 (which calls the method a bias matrix, but it is more)
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        check_even("d_model", d_model)
        self.d_model, self.n_heads = d_model, n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_r = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        self.u = nn.Parameter(torch.zeros(n_heads, 1, d_model // n_heads))
        self.v = nn.Parameter(torch.zeros(n_heads, 1, d_model // n_heads))

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attend from each row of x to the memory and to x."""
        check_width("x", x, self.d_model, "d_model")
        check_sequences(x=x)
        context = x if memory is None else self._remember(memory, x)  # (B, M + L, d_model)
        mask = insert_head_axis(mask, x, context, self.n_heads)
        q = split_heads(self.w_q(x), self.n_heads)  # (B, H, L, Dk)
        k, v = (split_heads(w(context), self.n_heads) for w in (self.w_k, self.w_v))
        n_queries, n_keys = x.size(-2), context.size(-2)
        keys = torch.arange(n_keys, device=x.device)
        distance = keys[n_keys - n_queries :, None] - keys  # (L, M + L), i - j: −L < … < M + L
        r = self.w_r(sinusoids(torch.arange(-n_queries, n_keys), self.d_model).to(x))
        r = r.unflatten(-1, (self.n_heads, -1))[distance + n_queries]  # (L, M + L, H, Dk)
        bias = torch.einsum("...hid,ijhd->...hij", q + self.v, r) / math.sqrt(q.size(-1))
        output, weights = scaled_dot_product_attention((q + self.u).to(k), k, v, mask, bias)
        return self.w_o(merge_heads(output)), weights

    def _remember(self, memory: Tensor, x: Tensor) -> Tensor:
        """Put the memory before x. No gradient flows back into the memory."""
        check_width("memory", memory, self.d_model, "d_model")
        check_dtype_and_device(memory=memory, x=x)
        if memory.shape[:-2] != x.shape[:-2]:
            raise ValueError(
                f"memory has shape {tuple(memory.shape)} but x has {tuple(x.shape)}: "
                "each sequence needs its own memory"
            )
        return torch.cat((memory.detach(), x), dim=-2)
