"""The Transformer: attention and a small network per row, each with a way around it, N times."""

import copy
import math
from typing import Any, Self

import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.attention import scaled_dot_product_attention
from attnbook.checks import check_size
from attnbook.heads import Attend, MultiHeadAttention, merge_heads, split_heads
from attnbook.masks import causal_mask
from attnbook.modern import KVCache
from attnbook.positions import SinusoidalPositions

Cache = list[tuple[KVCache, KVCache]]  # for each layer: of the target so far, of the source


class FeedForward(nn.Module):
    """Two matrices with a ReLU between them, applied to each row by itself.

    Shapes:  x (..., d_model) -> (..., d_ff) -> (..., d_model)
    Source:  Vaswani et al. 2017, eq. 2; S4
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        check_size("d_model", d_model)
        check_size("d_ff", d_ff)
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Widen, drop what is negative, narrow again."""
        return self.outer(self.dropout(F.relu(self.inner(x))))


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network; each is added to what went in.

    norm_first=False normalizes each sum, as in the paper; True normalizes what each part reads.
    Dropout falls on what each part adds and inside the feed-forward network. (PyTorch's layer drops
    attention weights too; the paper does not name that.)

    Shapes:  x (B, L, d_model)   mask as in MultiHeadAttention
    Returns: x (B, L, d_model), weights (B, H, L, L)
    Source:  Vaswani et al. 2017, §3.1; S4
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        attend: Attend = scaled_dot_product_attention,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, attend=attend)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Let the rows look at one another, then let each think by itself."""
        if self.norm_first:
            seen, weights = self.attention(self.norm1(x), mask=mask)
            x = x + self.dropout(seen)
            return x + self.dropout(self.feed_forward(self.norm2(x))), weights
        seen, weights = self.attention(x, mask=mask)
        x = self.norm1(x + self.dropout(seen))
        return self.norm2(x + self.dropout(self.feed_forward(x))), weights

    @classmethod
    def from_torch(cls, other: nn.TransformerEncoderLayer) -> Self:
        """Build a layer with the parameters of PyTorch's, copied. Ours is batch first, always.

        Raises:  TypeError if it is another class; ValueError if its activation is not ReLU
        """
        sizes = _sizes(other, nn.TransformerEncoderLayer)
        layer = cls(*sizes, dropout=other.dropout.p, norm_first=other.norm_first)
        layer.attention = MultiHeadAttention.from_torch(other.self_attn)
        _copy_rest(layer, other, ("norm1", "norm2"))
        return layer


def look(
    attention: MultiHeadAttention,
    x: Tensor,
    z: Tensor | None,
    mask: Tensor | None,
    cache: KVCache | None,
) -> tuple[Tensor, Tensor]:
    """Attend from x to z, or to x itself; with a cache, make each key and value only once.

    Without z the cache grows by the rows of x, and they look at all in it. The rows of z stay the
    same at every step: their keys and values are made when the cache is empty.
    """
    if cache is None:
        return attention(x, z, mask=mask)
    if z is None or cache.length == 0:
        rows = x if z is None else z
        new_keys, new_values = attention.w_k(rows), attention.w_v(rows)
        cache.append(*(split_heads(new, attention.n_heads) for new in (new_keys, new_values)))
    query = split_heads(attention.w_q(x), attention.n_heads)
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    output, weights = attention.attend(query, cache.key, cache.value, mask, None)
    return attention.w_o(merge_heads(output)), weights


class DecoderLayer(nn.Module):
    """Masked self-attention, then attention to z from the encoder, then the feed-forward network.

    Shapes:  x (B, Lt, d_model)   z (B, Ls, d_model)   masks as in MultiHeadAttention
             cache: of this layer, for rows that come one by one; then x holds the new rows only
    Returns: x (B, Lt, d_model), its weights (B, H, Lt, Lt), those to z (B, H, Lt, Ls)
    Source:  Vaswani et al. 2017, §3.1; S4
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        attend: Attend = scaled_dot_product_attention,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, attend=attend)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attend=attend)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(
        self,
        x: Tensor,
        z: Tensor,
        mask: Tensor | None = None,
        z_mask: Tensor | None = None,
        cache: tuple[KVCache, KVCache] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Look back at the target, look across at the source, then think."""
        own, other = cache or (None, None)
        if self.norm_first:
            seen, weights = look(self.attention, self.norm1(x), None, mask, own)
            x = x + self.dropout(seen)
            found, z_weights = look(self.cross_attention, self.norm2(x), z, z_mask, other)
            x = x + self.dropout(found)
            return x + self.dropout(self.feed_forward(self.norm3(x))), weights, z_weights
        seen, weights = look(self.attention, x, None, mask, own)
        x = self.norm1(x + self.dropout(seen))
        found, z_weights = look(self.cross_attention, x, z, z_mask, other)
        x = self.norm2(x + self.dropout(found))
        return self.norm3(x + self.dropout(self.feed_forward(x))), weights, z_weights

    @classmethod
    def from_torch(cls, other: nn.TransformerDecoderLayer) -> Self:
        """Build a layer with the parameters of PyTorch's, copied, as EncoderLayer does."""
        sizes = _sizes(other, nn.TransformerDecoderLayer)
        layer = cls(*sizes, dropout=other.dropout.p, norm_first=other.norm_first)
        layer.attention = MultiHeadAttention.from_torch(other.self_attn)
        layer.cross_attention = MultiHeadAttention.from_torch(other.multihead_attn)
        _copy_rest(layer, other, ("norm1", "norm2", "norm3"))
        return layer


class Encoder(nn.Module):
    """N encoder layers, one after the other; where they normalize first, a last norm.

    Shapes:  x (B, L, d_model), mask as in MultiHeadAttention
    Returns: z (B, L, d_model), the weights of each layer, N times (B, H, L, L)
    """

    def __init__(
        self, d_model: int, n_heads: int, n_layers: int, d_ff: int, **options: Any
    ) -> None:
        """Options: dropout, norm_first, attend, as in EncoderLayer."""
        super().__init__()
        check_size("n_layers", n_layers)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, d_ff, **options) for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(d_model) if options.get("norm_first") else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """Pass the rows through every layer."""
        maps = []
        for layer in self.layers:
            x, weights = layer(x, mask)
            maps.append(weights)
        return self.norm(x), maps


class Decoder(nn.Module):
    """N decoder layers, each of which sees the same z; where they normalize first, a last norm.

    Shapes:  x (B, Lt, d_model)   z (B, Ls, d_model)   masks as in MultiHeadAttention
    Returns: x (B, Lt, d_model), N times weights (B, H, Lt, Lt), N times those to z (B, H, Lt, Ls)
    """

    def __init__(
        self, d_model: int, n_heads: int, n_layers: int, d_ff: int, **options: Any
    ) -> None:
        """Options: dropout, norm_first, attend, as in DecoderLayer."""
        super().__init__()
        check_size("n_layers", n_layers)
        self.layers = nn.ModuleList(
            DecoderLayer(d_model, n_heads, d_ff, **options) for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(d_model) if options.get("norm_first") else nn.Identity()

    def forward(
        self,
        x: Tensor,
        z: Tensor,
        mask: Tensor | None = None,
        z_mask: Tensor | None = None,
        cache: Cache | None = None,
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Pass the rows through every layer, z beside them."""
        maps, z_maps = [], []
        for i, layer in enumerate(self.layers):
            x, weights, z_weights = layer(x, z, mask, z_mask, cache[i] if cache else None)
            maps.append(weights)
            z_maps.append(z_weights)
        return self.norm(x), maps, z_maps


class Transformer(nn.Module):
    """From the words of a source and of a target so far to scores for the target's next word.

    Words become rows: a table each, times √d_model, plus sinusoidal positions. The tables start at
    variance 1 / d_model, so that a word weighs about as much as its position. The last matrix
    gives each word of the target's vocabulary a score (a logit).

    Shapes:  source (B, Ls), target (B, Lt): numbers of words   source_mask (B, 1, Ls)
    Source:  Vaswani et al. 2017; S4
    """

    def __init__(
        self,
        source_size: int,
        target_size: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        **options: Any,
    ) -> None:
        """Options: norm_first, attend, as in EncoderLayer."""
        super().__init__()
        check_size("source_size", source_size)
        check_size("target_size", target_size)
        self.d_model = d_model
        self.source_table = nn.Embedding(source_size, d_model)
        self.target_table = nn.Embedding(target_size, d_model)
        for table in (self.source_table, self.target_table):
            nn.init.normal_(table.weight, std=d_model**-0.5)
        self.positions = SinusoidalPositions(d_model)
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(d_model, n_heads, n_layers, d_ff, dropout=dropout, **options)
        self.decoder = Decoder(d_model, n_heads, n_layers, d_ff, dropout=dropout, **options)
        self.to_words = nn.Linear(d_model, target_size)

    def encode(
        self, source: Tensor, source_mask: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Returns: z (B, Ls, d_model), the weights of each layer."""
        return self.encoder(self._rows(self.source_table, source), source_mask)

    def decode(
        self,
        target: Tensor,
        z: Tensor,
        source_mask: Tensor | None = None,
        cache: Cache | None = None,
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Score the word after each word of the target, none of which sees a later one.

        With a cache, target (B, new) holds only the words that came since the last call.

        Returns: logits (B, Lt, target_size), each layer's weights, each layer's weights to z
        """
        start = cache[0][0].length if cache else 0
        mask = causal_mask(start + target.size(-1)).to(z.device)[start:]  # (new, Lt)
        rows = self._rows(self.target_table, target, start)
        x, maps, z_maps = self.decoder(rows, z, mask, source_mask, cache)
        return self.to_words(x), maps, z_maps

    def forward(self, source: Tensor, target: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Returns: logits (B, Lt, target_size)."""
        return self.decode(target, self.encode(source, source_mask)[0], source_mask)[0]

    def new_cache(self) -> Cache:
        """An empty cache for `decode`."""
        return [(KVCache(), KVCache()) for _ in self.decoder.layers]

    def _rows(self, table: nn.Embedding, words: Tensor, start: int = 0) -> Tensor:
        return self.dropout(self.positions(table(words) * math.sqrt(self.d_model), start))


Theirs = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def _sizes(other: Theirs, kind: type[nn.Module]) -> tuple[int, int, int]:
    """Of PyTorch's layer: d_model, n_heads, d_ff."""
    if not isinstance(other, kind):
        raise TypeError(f"expected torch.nn.{kind.__name__}, got {type(other).__name__}")
    if other.activation is not F.relu and not isinstance(other.activation, nn.ReLU):
        raise ValueError(f"the activation is {other.activation}: ours is ReLU")
    return other.linear1.in_features, other.self_attn.num_heads, other.linear1.out_features


def _copy_rest(layer: EncoderLayer | DecoderLayer, other: Theirs, norms: tuple[str, ...]) -> None:
    """Copy the feed-forward network and the norms, which have the same form in both."""
    layer.feed_forward.inner = copy.deepcopy(other.linear1)
    layer.feed_forward.outer = copy.deepcopy(other.linear2)
    for name in norms:
        setattr(layer, name, copy.deepcopy(getattr(other, name)))
    layer.train(other.training)
