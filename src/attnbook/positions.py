"""Where am I? Attention itself does not know the order of its rows; these tell it."""

import math

import torch
from torch import Tensor, nn

from attnbook.attention import scaled_dot_product_attention
from attnbook.checks import (
    check_alike,
    check_even,
    check_heads,
    check_sequences,
    check_size,
    check_width,
)
from attnbook.heads import insert_head_axis, merge_heads, split_heads


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """Give each position d_model / 2 clock hands, from fast to slow: (sin, cos) of t · ω_k.

    ω_k = 10000^(−2k / d_model). The first hand turns once in 2π positions; the last, as d_model
    grows, in almost 10000 · 2π. In float64, since t · ω_k has more digits than float32 keeps.

    Shapes:  positions any shape, real numbers -> (..., d_model), sin and cos alternating
    Raises:  ValueError if d_model is odd
    Source:  Vaswani et al. 2017, §3.5; S4
    """
    check_even("d_model", d_model)
    even = torch.arange(0, d_model, 2, device=positions.device).double()
    rates = 10000.0 ** (-even / d_model)  # (d_model / 2,)
    angles = positions.double()[..., None] * rates  # (..., d_model / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (..., d_model)


def sinusoidal_encoding(length: int, d_model: int) -> Tensor:
    """The encodings p_0 … p_{length−1} of S4 and of the paper.

    Returns: (length, d_model), row t is p_t
    Raises:  TypeError, ValueError if a size does not fit
    """
    check_size("length", length, at_least=0)
    return sinusoids(torch.arange(length), d_model).to(torch.get_default_dtype())


def rotation_matrix(offset: float, d_model: int) -> Tensor:
    """The matrix M that moves every encoding by `offset`: M @ p_t = p_{t + offset} for every t.

    Returns: (d_model, d_model), 2 × 2 rotations on the diagonal; -offset gives its transpose
    Raises:  ValueError if d_model is odd or offset is not finite
    Source:  S4
    """
    if not math.isfinite(offset):
        raise ValueError(f"offset={offset}: it must be a finite number of positions")
    hands = sinusoids(torch.tensor(float(offset), dtype=torch.float64), d_model).view(-1, 2)
    turns = (torch.stack((cos, sin, -sin, cos)).view(2, 2) for sin, cos in hands)
    return torch.block_diag(*turns).to(torch.get_default_dtype())


class SinusoidalPositions(nn.Module):
    """Add p_t to row t, or p_{start + t}. Nothing to learn, no longest length.

    Shapes:  x (..., L, d_model) -> the same
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        check_even("d_model", d_model)
        self.d_model = d_model

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        check_width("x", x, self.d_model, "d_model")
        return x + sinusoids(torch.arange(start, start + x.size(-2)), self.d_model).to(x)


class LearnedPositions(nn.Module):
    """Add a learned vector to row t; there is one for each t below max_length, and no more.

    Shapes:  x (..., L, d_model), L <= max_length -> the same
    Raises:  ValueError if x is longer than max_length
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        check_size("max_length", max_length)
        check_size("d_model", d_model)
        self.table = nn.Embedding(max_length, d_model)

    def forward(self, x: Tensor) -> Tensor:
        check_width("x", x, self.table.embedding_dim, "d_model")
        if x.size(-2) > self.table.num_embeddings:
            raise ValueError(
                f"x has {x.size(-2)} rows but max_length={self.table.num_embeddings}: "
                "no position was learned beyond it"
            )
        return x + self.table.weight[: x.size(-2)]


class ShawAttention(nn.Module):
    """Self-attention that knows how far away each key is: a learned vector per distance.

    score_ij = q_i · (k_j + a_{j−i}) / √Dk   and   output_i = Σ_j weights_ij (v_j + b_{j−i});
    distances are clipped to ±max_distance, and the heads share both tables.

    Shapes:  x (B, L, d_model) -> output (B, L, d_model), weights (B, H, L, L)
             mask as in MultiHeadAttention
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
        """Attend from each row of x to every row of x, as the class says."""
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
    """Attention over a memory and itself, with the four terms of Transformer-XL.

    score_ij = (q_i·k_j + q_i·W_R r_{i−j} + u·k_j + v·W_R r_{i−j}) / √Dk: what i asks of j's
    content, what it asks of the distance, and the same two for no query in particular. r is
    sinusoidal and may be of any distance, so length is unbounded. (The paper puts the sines
    before the cosines; ours alternate, a fixed order that W_R absorbs.)

    Shapes:  x (B, L, d_model), memory (B, M, d_model) from the segment before, or None
             mask (L, M + L), or with B, or with B and H, as in MultiHeadAttention
    Returns: output (B, L, d_model), weights (B, H, L, M + L)
    Source:  Dai et al. 2019, §3.3; S3 §5.3 (which calls it a bias matrix; it is more)
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
        """Attend from each row of x to the memory and to x, as the class says."""
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
        output, weights = scaled_dot_product_attention(q + self.u, k, v, mask, bias)
        return self.w_o(merge_heads(output)), weights

    def _remember(self, memory: Tensor, x: Tensor) -> Tensor:
        """Put the memory before x. No gradient flows back into it."""
        check_width("memory", memory, self.d_model, "d_model")
        check_alike(memory=memory, x=x)
        if memory.shape[:-2] != x.shape[:-2]:
            raise ValueError(
                f"memory has shape {tuple(memory.shape)} but x has {tuple(x.shape)}: "
                "each sequence needs the memory of its own"
            )
        return torch.cat((memory.detach(), x), dim=-2)
