"""The Transformer: from tokens through an encoder and a decoder to next-token logits."""

import math
from typing import Any

from torch import Tensor, nn

from attnbook.attention.kv_cache import KVCache
from attnbook.checks.masks import check_source_mask
from attnbook.checks.sizes import check_size
from attnbook.checks.tensors import check_ids
from attnbook.models.causal import causal_rows
from attnbook.models.stacks import Decoder, DecoderCache, Encoder, Weights
from attnbook.positions.absolute import SinusoidalPositions


class Transformer(nn.Module):
    """A model that maps a source and the target so far to logits for the target's next token.

    A word's vector is its embedding times √d_model, plus a sinusoidal positional encoding. The
    embeddings are initialized with variance 1 / d_model, which makes the scaled ones about as large
    as the encoding. The last matrix gives each word of the target vocabulary a score (a logit).

    Shapes:  source (B, Ls), target (B, Lt): ids of words
             source_mask (B, 1, Ls), or (1, Ls) for all sentences; True = may look
    Raises:  TypeError, ValueError if source or target is not a batch of ids of its vocabulary, or
             the mask does not fit
    Source:  Vaswani et al. 2017; S4
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        **options: Any,
    ) -> None:
        """The options are norm_first and attend, as in EncoderLayer."""
        super().__init__()
        check_size("source_vocab_size", source_vocab_size)
        check_size("target_vocab_size", target_vocab_size)
        self.positions = SinusoidalPositions(d_model)  # also checks that d_model is a positive int
        self.d_model = d_model
        self.source_embedding = nn.Embedding(source_vocab_size, d_model)
        self.target_embedding = nn.Embedding(target_vocab_size, d_model)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=d_model**-0.5)
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(d_model, n_heads, n_layers, d_ff, dropout=dropout, **options)
        self.decoder = Decoder(d_model, n_heads, n_layers, d_ff, dropout=dropout, **options)
        self.to_logits = nn.Linear(d_model, target_vocab_size)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> tuple[Tensor, Weights]:
        """Turn each source word into a row that depends on the others.

        Padding belongs on the right: on the left, it would move the words to other positions.
        Returns: z (B, Ls, d_model), the weights of each layer
        """
        check_ids("source", source, self.source_embedding.num_embeddings)
        check_source_mask(source_mask, *source.shape)
        return self.encoder(self._embed(self.source_embedding, source), source_mask)

    def decode(
        self,
        target: Tensor,
        z: Tensor,
        source_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> tuple[Tensor, Weights, Weights]:
        """Score the next word at each position of the target, without looking at later words.

        With a cache, target (B, new) holds only the words since the last call. Only the first call
        reads z, and the later ones require the same z.
        Returns: logits (B, Lt, target_vocab_size), each layer's weights, each layer's weights to z
        """
        check_ids("target", target, self.target_embedding.num_embeddings)
        check_source_mask(source_mask, target.size(0), z.size(-2))
        own_cache = cache[0][0] if cache else None
        x = self._embed(self.target_embedding, target, own_cache.length if own_cache else 0)
        mask = causal_rows(target, own_cache)  # (new, Lt)
        x, weights, z_weights = self.decoder(x, z, mask, source_mask, cache)
        return self.to_logits(x), weights, z_weights

    def forward(self, source: Tensor, target: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Returns: logits (B, Lt, target_vocab_size)."""
        return self.decode(target, self.encode(source, source_mask)[0], source_mask)[0]

    def new_cache(self) -> DecoderCache:
        """An empty cache for `decode`."""
        return [(KVCache(), KVCache()) for _ in self.decoder.layers]

    def _embed(self, embedding: nn.Embedding, words: Tensor, start: int = 0) -> Tensor:
        return self.dropout(self.positions(embedding(words) * math.sqrt(self.d_model), start))
