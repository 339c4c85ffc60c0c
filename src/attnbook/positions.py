"""Where am I? Attention itself does not know the order of its rows; these tell it."""

import math

import torch
from torch import Tensor, nn

from attnbook.attention import scaled_dot_product_attention
from attnbook.checks import check_head_mask, check_size, check_width
from attnbook.heads import merge_heads, split_heads


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """Give each position d_model / 2 clock hands, from fast to slow: (sin, cos) of t · ω_i.

    ω_i = 10000^(−2i / d_model), so that the first pair turns once in 2π positions and the last
    about once in 60,000. Angles are computed in float64: t · ω_i has more digits than float32.

    Shapes:  positions any shape, real numbers -> (..., d_model), sin and cos alternating
    Raises:  ValueError if d_model is odd
    Source:  Vaswani et al. 2017, §3.5; S4
    """
    check_size("d_model", d_model)
    if d_model % 2:
        raise ValueError(f"d_model={d_model} is odd: each clock hand takes a sine and a cosine")
    rates = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions.double()[..., None] * rates.to(positions.device)  # (..., d_model / 2)
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)  # (..., d_model / 2, 2)
    return pairs.flatten(-2).to(torch.get_default_dtype())


def sinusoidal_encoding(length: int, d_model: int) -> Tensor:
    """The encodings p_0 … p_{length−1} of S4 and of the paper.

    Returns: (length, d_model), row t is p_t
    Raises:  TypeError, ValueError if a size does not fit
    """
    check_size("length", length, at_least=0)
    return sinusoids(torch.arange(length), d_model)


def rotation_matrix(offset: float, d_model: int) -> Tensor:
    """The matrix M that moves every encoding by `offset`: M @ p_t = p_{t + offset} for every t.

    Returns: (d_model, d_model), 2 × 2 rotations on the diagonal
    Raises:  ValueError if d_model is odd
    Source:  S4
    """
    hands = sinusoids(torch.tensor(float(offset)), d_model).unflatten(-1, (-1, 2))
    return torch.block_diag(*(torch.stack((c, s, -s, c)).view(2, 2) for s, c in hands))


class SinusoidalPositions(nn.Module):
    """Add p_t to row t. Nothing to learn, no longest length.

    Shapes:  x (..., L, d_model) -> the same
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        sinusoidal_encoding(0, d_model)
        self.d_model = d_model

    def forward(self, x: Tensor) -> Tensor:
        check_width("x", x, self.d_model, "d_model")
        return x + sinusoidal_encoding(x.size(-2), self.d_model).to(x)


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

    e_ij = q_i · (k_j + a_{j−i}) / √Dk   and   z_i = Σ_j weights_ij (v_j + b_{j−i}); distances are
    clipped to ±max_distance, and the two tables are shared by the heads.

    Shapes:  x (B, L, d_model) -> output (B, L, d_model), weights (B, H, L, L)
    Source:  Shaw et al. 2018, eqs. 3-4; S3 §5.3
    """

    def __init__(self, d_model: int, n_heads: int, max_distance: int) -> None:
        super().__init__()
        for name, size in (("d_model", d_model), ("n_heads", n_heads)):
            check_size(name, size)
        check_size("max_distance", max_distance, at_least=0)
        if d_model % n_heads:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        self.d_model, self.n_heads, self.max_distance = d_model, n_heads, max_distance
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        self.key_table = nn.Embedding(2 * max_distance + 1, d_model // n_heads)
        self.value_table = nn.Embedding(2 * max_distance + 1, d_model // n_heads)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        check_width("x", x, self.d_model, "d_model")
        mask = check_head_mask(mask, x, x, self.n_heads)
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

    score_ij = q_i·k_j + q_i·W_R r_{i−j} + u·k_j + v·W_R r_{i−j}, over √Dk: what i asks of j's
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
        for name, size in (("d_model", d_model), ("n_heads", n_heads)):
            check_size(name, size)
        if d_model % n_heads:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        sinusoidal_encoding(0, d_model)
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
        check_width("x", x, self.d_model, "d_model")
        context = x
        if memory is not None:
            check_width("memory", memory, self.d_model, "d_model")
            context = torch.cat((memory.detach(), x), dim=-2)  # (B, M + L, d_model)
        mask = check_head_mask(mask, x, context, self.n_heads)
        q = split_heads(self.w_q(x), self.n_heads)  # (B, H, L, Dk)
        k, v = (split_heads(w(context), self.n_heads) for w in (self.w_k, self.w_v))
        keys = torch.arange(context.size(-2), device=x.device)
        queries = keys[context.size(-2) - x.size(-2) :]
        distance = queries[:, None] - keys  # (L, M + L), i - j
        r = self.w_r(sinusoids(distance, self.d_model).to(x))  # (L, M + L, d_model)
        r = r.unflatten(-1, (self.n_heads, -1))  # (L, M + L, H, Dk)
        bias = torch.einsum("...hid,ijhd->...hij", q + self.v, r) / math.sqrt(q.size(-1))
        output, weights = scaled_dot_product_attention(q + self.u, k, v, mask, bias)
        return self.w_o(merge_heads(output)), weights
