"""A decoder-only language model: one stack, one causal mask, one sequence, as in Llama."""

from typing import Any

from torch import Tensor, nn

from attnbook.attention.kv_cache import KVCache
from attnbook.checks.masks import check_prompt_mask
from attnbook.checks.sizes import check_size
from attnbook.checks.tensors import check_ids
from attnbook.models.causal import causal_rows, unpadded_positions
from attnbook.models.feed_forward import GatedFeedForward
from attnbook.models.grouped_query import GroupedQueryAttention
from attnbook.positions.rotary import Rotary

EPSILON = 1e-5  # of each RMSNorm, as in Llama


class Block(nn.Module):
    """Grouped-query attention, then a gated feed-forward network, each with a residual connection.

    An RMSNorm normalizes the input of each part. Options: as in GroupedQueryAttention.

    Shapes:  x (B, L, d_model)   mask, cache and positions as in GroupedQueryAttention
    Returns: x (B, L, d_model), weights (B, H, L, Lk)
    """

    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int, d_ff: int, **options: Any
    ) -> None:
        super().__init__()
        self.attention = GroupedQueryAttention(d_model, n_heads, n_kv_heads, **options)
        self.feed_forward = GatedFeedForward(d_model, d_ff)
        self.norm1, self.norm2 = (nn.RMSNorm(d_model, eps=EPSILON) for _ in range(2))

    def forward(
        self, x: Tensor, mask: Tensor | None = None, **options: Any
    ) -> tuple[Tensor, Tensor]:
        """Let the rows attend to earlier ones, then transform each row separately."""
        seen, weights = self.attention(self.norm1(x), mask, **options)
        x = x + seen
        return x + self.feed_forward(self.norm2(x)), weights


class LanguageModel(nn.Module):
    """A model that gives logits for the next token at each position, from the tokens so far.

    The parts are those of Llama. With `tied`, the embedding table is also the last matrix,
    as in the smallest models of Llama 3.2. The table is initialized with variance 1 / d_model.

    Shapes:  tokens (B, L): ids from 0 to vocabulary_size - 1
             options: as in GroupedQueryAttention; rotary is Rotary() by default
    Raises:  TypeError, ValueError if a size is wrong, or tokens are not a batch of ids
    Source:  Liu et al. 2018, Radford et al. 2018 (decoder-only); Touvron et al. 2023 (its parts)
    """

    def __init__(
        self,
        vocabulary_size: int,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        n_layers: int,
        d_ff: int,
        *,
        tied: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        options = {"rotary": Rotary()} | options
        for name, size in (("vocabulary_size", vocabulary_size), ("d_model", d_model)):
            check_size(name, size)
        check_size("n_layers", n_layers)
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.rotary = options["rotary"]
        sizes = d_model, n_heads, n_kv_heads, d_ff
        self.blocks = nn.ModuleList(Block(*sizes, **options) for _ in range(n_layers))
        self.norm = nn.RMSNorm(d_model, eps=EPSILON)
        self.to_logits = nn.Linear(d_model, vocabulary_size, bias=False)
        if tied:
            self.to_logits.weight = self.embedding.weight

    def forward(
        self,
        tokens: Tensor,
        cache: list[KVCache] | None = None,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Score the next token at each position. With a cache, `tokens` holds only the new tokens.

        With caches that have a window, each token attends to the sinks and to its window only.
        A mask hides the padding of texts of different lengths, on either side. Each text then gets
        the same logits as alone, and those at padding mean nothing.

        Shapes:  positions (L,) or (B, L); by default they continue those in the cache, and with a
                 mask they do not count padding
                 mask (B, 1, Lk), False at padding; Lk = tokens in the cache + L
        Returns: logits (B, L, vocabulary_size)
        Raises:  ValueError if the mask does not fit, or a cache has a window
        """
        check_ids("tokens", tokens, self.embedding.num_embeddings)
        if mask is not None:
            windows = [each.window for each in cache or () if each.window is not None]
            check_prompt_mask(mask, tokens, cache[0].n_kept if cache else 0, windows)
            if positions is None and self.rotary is not None:
                positions = unpadded_positions(mask, tokens.size(1))
        x = self.embedding(tokens)  # (B, L, d_model)
        for i, block in enumerate(self.blocks):
            own_cache = cache[i] if cache else None
            rows = causal_rows(tokens, own_cache)  # (L, Lk)
            rows = rows if mask is None else rows & mask  # (B, L, Lk)
            x, _ = block(x, rows, cache=own_cache, positions=positions)
        return self.to_logits(self.norm(x))  # (B, L, vocabulary_size)

    def new_cache(self) -> list[KVCache]:
        """An empty cache for each block."""
        return [KVCache() for _ in self.blocks]
