"""What came after the Transformer: a cache, fewer key heads, positions by turning or by distance.

All of it works inside attention, and leaves its one equation as it is.
"""

import torch
from torch import Tensor, nn

from attnbook.attention import scaled_dot_product_attention
from attnbook.checks import (
    check_alike,
    check_even,
    check_heads,
    check_rows,
    check_sequences,
    check_size,
    check_tensor,
    check_width,
    fits,
)
from attnbook.heads import Attend, insert_head_axis, merge_heads, split_heads
from attnbook.positions import sinusoids


class KVCache:
    """The keys and values of all positions seen so far, so that none is computed twice.

    A row's key and value depend on that row alone. Where rows come one by one, as in decoding, the
    old ones stay as they are and only the new ones have to be made.

    There is room behind the rows, and twice as much when it is used up: a step writes its row there
    and copies no other. (While autograd records, it copies: a row that may be asked for a gradient
    must stay as it is.)

    With a window it forgets: it keeps the first n_sinks positions, and of the others those that the
    next one may still see. Give it the first positions together with their sink_mask, or each
    position by itself, without a mask.

    Shapes:  key (..., L, Dk), value (..., L, Dv), mostly (B, H, L, Dk); None before the first
    Raises:  TypeError, ValueError if a size is too small
    Source:  with a window and sinks: Xiao et al. 2024, §3.2
    """

    def __init__(self, window: int | None = None, n_sinks: int = 0) -> None:
        if window is not None:
            check_size("window", window)
        check_size("n_sinks", n_sinks, at_least=0)
        self.window, self.n_sinks = window, n_sinks
        self.length = 0  # positions seen, forgotten ones included: the number of the next
        self.rooms: list[Tensor] = []  # of keys and of values
        self.n_kept = 0  # rows that are in them; what lies behind is free

    @property
    def key(self) -> Tensor | None:
        return self.rooms[0][..., : self.n_kept, :] if self.rooms else None

    @property
    def value(self) -> Tensor | None:
        return self.rooms[1][..., : self.n_kept, :] if self.rooms else None

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of new positions at the end, and give back all of them.

        Shapes:  key (..., new, Dk), value (..., new, Dv) -> (..., L, Dk), (..., L, Dv)
        Raises:  ValueError if they do not continue what is there
        """
        for name, new, old in (("key", key, self.key), ("value", value, self.value)):
            check_rows(name, new)
            if old is None:
                continue
            check_alike(**{name: new, "the cache": old})
            if (new.shape[:-2], new.shape[-1]) != (old.shape[:-2], old.shape[-1]):
                raise ValueError(
                    f"{name} has shape {tuple(new.shape)} but the cache has {tuple(old.shape)}: "
                    "all but the length must be the same"
                )
        if key.shape[:-1] != value.shape[:-1]:
            raise ValueError(
                f"key has shape {tuple(key.shape)} but value has {tuple(value.shape)}: "
                "each key needs one value"
            )
        rooms = self.rooms or [new[..., :0, :] for new in (key, value)]
        pairs = zip(rooms, (key, value), strict=True)
        self.rooms = [_written(room, self.n_kept, new) for room, new in pairs]
        self.n_kept += key.size(-2)
        self.length += key.size(-2)
        key, value = (room[..., : self.n_kept, :] for room in self.rooms)
        self._forget()
        return key, value

    def _forget(self) -> None:
        """Keep the sinks, and the window less the place of the next one."""
        if self.window is None or self.n_kept < self.n_sinks + self.window:
            return
        newest = slice(self.n_kept - self.window + 1, self.n_kept)
        self.rooms = [
            torch.cat((room[..., : self.n_sinks, :], room[..., newest, :]), dim=-2)
            for room in self.rooms
        ]
        self.n_kept = self.n_sinks + self.window - 1

    def select(self, rows: Tensor) -> None:
        """Keep of the batch these rows, in this order; one may come twice, as in a beam."""
        self.rooms = [room[rows] for room in self.rooms]


def _written(room: Tensor, start: int, new: Tensor) -> Tensor:
    """The room with new rows from `start` on: itself, or a larger one if they do not fit in."""
    end = start + new.size(-2)
    if end > room.size(-2) or torch.is_grad_enabled():
        larger = new.new_empty(*new.shape[:-2], 2 * end, new.size(-1))
        larger[..., :start, :] = room[..., :start, :]
        room = larger
    room[..., start:end, :] = new
    return room


def apply_rotary(x: Tensor, positions: Tensor) -> Tensor:
    """Turn each row of queries or keys by an angle that grows with its position.

    Columns 2k and 2k + 1 are one arrow, and it turns by position · ω_k, as hand k of the sinusoids
    does: row t becomes x_t @ rotation_matrix(t, Dk), in two products a number instead of Dk. A turn
    keeps every length, and of two turns a dot product keeps the difference alone. (Llama pairs
    column k with column k + Dk / 2: the same, with the columns in another order.)

    Shapes:  x (..., L, Dk)   positions (L,), or broadcastable to (..., L); any real numbers
    Returns: (..., L, Dk), in the dtype of x; the angles are computed in float64
    Raises:  TypeError, ValueError if Dk is odd or positions do not fit
    Source:  Su et al. 2021, eqs. 14-16 and 34
    """
    check_rows("x", x)
    check_even("the width of x", x.size(-1))
    check_tensor("positions", positions)
    rows = tuple(x.shape[:-1])
    if not fits(tuple(positions.shape), rows):
        raise ValueError(
            f"positions of shape {tuple(positions.shape)} do not broadcast to the rows of x, {rows}"
        )
    hands = sinusoids(positions, x.size(-1)).to(x).unflatten(-1, (-1, 2))
    sin, cos = hands.unbind(-1)  # (..., L, Dk / 2)
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def alibi_slopes(n_heads: int) -> Tensor:
    """How much each head minds one step of distance: a geometric series that ends at 1/256.

    A number of heads that is no power of two takes the series of the next lower power, then every
    second slope of the next higher one, as the authors' code does.

    Returns: (n_heads,)
    Source:  Press et al. 2022, §3
    """
    check_size("n_heads", n_heads)
    whole = 2 ** (n_heads.bit_length() - 1)
    steps = torch.arange(1, 2 * whole + 1, dtype=torch.float64) / (2 * whole)
    slopes = 2 ** (-8 * steps)  # those of twice as many heads: every second one is ours
    return torch.cat((slopes[1::2], slopes[::2]))[:n_heads].to(torch.get_default_dtype())


def alibi_bias(n_heads: int, lq: int, lk: int) -> Tensor:
    """Take from each score the distance of its key, times the slope of its head.

    The queries are the last lq of the lk positions, as with a cache. (The paper looks back only;
    with a mask that lets a query look ahead, ours takes the distance there too.)

    Returns: (n_heads, lq, lk), to be passed as `bias=`
    Raises:  TypeError, ValueError if a size does not fit or there are more queries than keys
    Source:  Press et al. 2022, §3
    """
    check_size("lq", lq, at_least=0)
    check_size("lk", lk, at_least=0)
    if lq > lk:
        raise ValueError(f"lq={lq} but lk={lk}: the queries are the last of the keys' positions")
    keys = torch.arange(lk)
    distance = (keys[lk - lq :, None] - keys).abs()  # (Lq, Lk)
    return -alibi_slopes(n_heads)[:, None, None] * distance  # (H, Lq, Lk)


def sink_mask(length: int, window: int, n_sinks: int) -> Tensor:
    """Let position i look at the last `window` positions, its own included, and at the first ones.

    Returns: (length, length) boolean, causal
    Raises:  TypeError, ValueError if a size is too small
    Source:  Xiao et al. 2024, §3
    """
    check_size("length", length, at_least=0)
    check_size("window", window)
    check_size("n_sinks", n_sinks, at_least=0)
    keys = torch.arange(length)
    ago = keys[:, None] - keys  # (L, L), i - j
    return (ago >= 0) & ((ago < window) | (keys < n_sinks))


class GroupedQueryAttention(nn.Module):
    """Self-attention in which several heads ask the same keys: fewer keys and values to keep.

    With n_kv_heads = n_heads it is MultiHeadAttention without biases; with 1, multi-query
    attention. Query head h asks key head h // (n_heads / n_kv_heads).

    Shapes:  w_q, w_o (d_model -> d_model)   w_k, w_v (d_model -> n_kv_heads · Dk)
             Dk = d_model / n_heads, and even if `rotary` turns queries and keys
    Raises:  ValueError if n_heads does not divide d_model, or n_kv_heads not n_heads
    Source:  Shazeer 2019; Ainslie et al. 2023, §2.2; Touvron et al. 2023
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        *,
        rotary: bool = False,
        attend: Attend = scaled_dot_product_attention,
    ) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        check_size("n_kv_heads", n_kv_heads)
        if n_heads % n_kv_heads:
            raise ValueError(
                f"n_heads={n_heads} is not divisible by n_kv_heads={n_kv_heads}: "
                "each key head serves equally many queries"
            )
        d_k = d_model // n_heads
        if rotary:
            check_even("the width of a head", d_k)
        self.d_model, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        self.rotary, self.attend = rotary, attend
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, n_kv_heads * d_k, bias=False)
        self.w_v = nn.Linear(d_model, n_kv_heads * d_k, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Attend from the rows of x to themselves and to what the cache has kept before them.

        Shapes:  x (B, L, d_model)   B may be missing; Lk = rows kept + L
                 mask (L, Lk), or (B, 1 or L, Lk), or (B, 1 or H, L, Lk); True = may look
                 bias broadcastable to (B, H, L, Lk)
        Returns: output (B, L, d_model), weights (B, H, L, Lk); x's keys and values are in the cache
        """
        check_width("x", x, self.d_model, "d_model")
        check_sequences(x=x)
        q = split_heads(self.w_q(x), self.n_heads)  # (B, H, L, Dk)
        k = split_heads(self.w_k(x), self.n_kv_heads)  # (B, Hkv, L, Dk)
        v = split_heads(self.w_v(x), self.n_kv_heads)  # (B, Hkv, L, Dk)
        if self.rotary:
            start = 0 if cache is None else cache.length
            positions = torch.arange(start, start + x.size(-2), device=x.device)
            q, k = apply_rotary(q, positions), apply_rotary(k, positions)
        if cache is not None:
            k, v = cache.append(k, v)  # (B, Hkv, Lk, Dk)
        mask = insert_head_axis(mask, x, k[..., 0, :, :], self.n_heads)
        shared = self.n_heads // self.n_kv_heads
        if shared > 1:
            k, v = (kept.repeat_interleave(shared, dim=-3) for kept in (k, v))  # (B, H, Lk, Dk)
        output, weights = self.attend(q, k, v, mask, bias)
        return self.w_o(merge_heads(output)), weights  # (B, L, d_model), (B, H, L, Lk)
