"""What MiniLM computes for some sentences, and what it would compute with a head changed."""

from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import device, head_outputs, split_heads
from attnbook.pretrained import Bert, load_minilm

PREVIOUS = (0, 2)  # layer and head, both from 0
RESTING = [(1, 10), (2, 7), (3, 4), (4, 2), (4, 5)]  # those of the section's last table
# The heads of the exercise 13.heads.
HEADS = {"A": (2, 11), "B": (1, 8), "C": (4, 5), "D": (5, 11), "E": PREVIOUS, "F": (2, 8)}


@pytest.fixture(scope="module")
def minilm():
    model, tokenizer = load_minilm()
    return model.to(device()).requires_grad_(False), tokenizer


class Read(NamedTuple):
    """Sentences that the model has read: which tokens are real and which words, and all streams."""

    model: Bert
    real: Tensor  # (B, L)
    words: Tensor  # (B, L), real and not special
    streams: list[Tensor]  # 7 of (B, L, 384)
    maps: list[Tensor]  # 6 of (B, 12, L, L)

    def means(self, x: Tensor) -> Tensor:
        """The means of the sentences' rows, (B, 384)."""
        real = self.real[..., None]
        return (x * real).sum(1) / real.sum(1)

    @property
    def end(self) -> Tensor:
        """The sentence vectors of the whole model."""
        return self.means(self.streams[-1])

    def mean(self, of_queries: Tensor) -> Tensor:
        """The mean of a (B, 12, L) over the words, for each head."""
        words = self.words[:, None]
        return (of_queries * words).sum((0, 2)) / words.sum()

    def without(self, n: int, head: int, new) -> Tensor:
        """1 - cosine of each sentence vector, in thousandths, if `new` replaces a head's output."""
        return 1000 * (1 - F.cosine_similarity(self.changed(n, head, new), self.end))

    @torch.no_grad()
    def changed(self, n: int, head: int, new) -> Tensor:
        """The sentence vectors if `new` replaces a head's output."""

        def replace(outputs):
            changed = outputs.clone()
            changed[:, head] = new(outputs)[:, head]
            return changed

        mask, layers = self.real[:, None], self.model.encoder.layers[n:]
        with head_outputs(layers[0].attention, replace):
            x, _ = layers[0](self.streams[n], mask)
        for layer in layers[1:]:
            x, _ = layer(x, mask)
        return self.means(x)

    def only_words(self, n: int, share: bool) -> Tensor:
        """What the words contribute to the heads' outputs, without or with all the weight."""
        weights = self.maps[n] * self.words[:, None, None]
        if share:
            weights = weights / weights.sum(-1, keepdim=True)
        layer = self.model.encoder.layers[n].attention
        return weights @ split_heads(layer.w_v(self.streams[n]), 12)


@torch.no_grad()
def read(model: Bert, tokenizer, sentences: list[str]) -> Read:
    rows = tokenizer.encode_batch(sentences)
    ids = torch.tensor([row.ids for row in rows], device=device())
    real = torch.tensor([row.attention_mask for row in rows], device=device()).bool()
    x, streams, maps = model.embed(ids), [], []
    for layer in model.encoder.layers:
        streams.append(x)
        x, weights = layer(x, real[:, None])
        maps.append(weights)
    special = torch.tensor([row.special_tokens_mask for row in rows], device=device()).bool()
    return Read(model, real, real & ~special, [*streams, x], maps)


def zero(outputs: Tensor) -> Tensor:
    return torch.zeros_like(outputs)
