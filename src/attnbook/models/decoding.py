"""Greedy decoding: from scores for the next word to a sentence, one word at a time."""

import torch
from torch import Tensor

from attnbook.checks.masks import check_source_mask
from attnbook.checks.models import check_evaluating
from attnbook.checks.sizes import check_size
from attnbook.checks.tensors import check_ids
from attnbook.models.stacks import DecoderCache
from attnbook.models.transformer import Transformer


@torch.no_grad()
def greedy_decode(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor | None = None,
    *,
    begin: int,
    end: int,
    max_length: int,
    cached: bool = True,
) -> tuple[Tensor, Tensor]:
    """Choose the most probable next word at each step, until END. Call `model.eval()` first.

    Shapes:  source (B, Ls)   source_mask (B, 1, Ls), or (1, Ls) for all sentences
             begin, end: the ids of BEGIN and END (BOS and EOS) in the target vocabulary
             cached=False recomputes every earlier word at each step, with the same result
    Returns: tokens (B, L) without BEGIN, L <= max_length, filled with END after a sentence ends;
             log_probs (B,), the natural logarithm of the probability of each sentence
    Raises:  TypeError, ValueError if the model is in training mode, source is not a batch of ids,
             the mask does not fit, or begin, end or a size is wrong
    """
    check_decoding(model, source, source_mask, begin, end, max_length)
    z, _ = model.encode(source, source_mask)
    cache = model.new_cache() if cached else None
    tokens = torch.full((source.size(0), 1), begin, device=source.device)
    total = z.new_zeros(source.size(0))
    done = torch.zeros_like(total, dtype=torch.bool)
    while tokens.size(1) <= max_length and not done.all():
        log_probs = log_probabilities(model, tokens, z, source_mask, cache)  # (B, V)
        best, token = log_probs.max(-1)
        total = total + best.masked_fill(done, 0.0)
        token = token.masked_fill(done, end)
        tokens = torch.cat((tokens, token[:, None]), dim=1)
        done = done | (token == end)
    return tokens[:, 1:], total


def log_probabilities(
    model: Transformer,
    tokens: Tensor,
    z: Tensor,
    source_mask: Tensor | None,
    cache: DecoderCache | None,
) -> Tensor:
    """Log-probabilities of the next word, (B, V). With a cache, only the last token is read."""
    new = tokens if cache is None else tokens[:, -1:]
    return model.decode(new, z, source_mask, cache)[0][:, -1].log_softmax(-1)


def check_decoding(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor | None,
    begin: int,
    end: int,
    max_length: int,
) -> None:
    """Require evaluation mode, ids, a mask for them, two ids of the target vocabulary, a step."""
    check_evaluating(model)
    check_ids("source", source, model.source_embedding.num_embeddings)
    check_source_mask(source_mask, *source.shape)
    for name, token in (("begin", begin), ("end", end)):
        check_size(name, token, at_least=0)
        if token >= (size := model.target_embedding.num_embeddings):
            raise ValueError(
                f"{name}={token}: the target's vocabulary has ids from 0 to {size - 1}"
            )
    check_size("max_length", max_length)
