"""Decoding: from scores for the next word to a sentence, one word after the other."""

from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.checks import check_size
from attnbook.transformer import DecoderCache, Transformer


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
    """Take the likeliest next word, again and again, until END. Call `model.eval()` before.

    Shapes:  source (B, Ls)   source_mask (B, 1, Ls)
             begin, end: the numbers of BEGIN and END in the target's vocabulary
             cached=False computes every earlier word again at each step, with the same result
    Returns: tokens (B, L) without BEGIN, L <= max_length, END wherever a sentence is over;
             log_probs (B,), the natural logarithm of each whole sentence's probability
    """
    check_size("max_length", max_length)
    z, _ = model.encode(source, source_mask)
    cache = model.new_cache() if cached else None
    tokens = torch.full((source.size(0), 1), begin, device=source.device)
    total = z.new_zeros(source.size(0))
    done = torch.zeros_like(total, dtype=torch.bool)
    while tokens.size(1) <= max_length and not done.all():
        next_words = log_probabilities(model, tokens, z, source_mask, cache)  # (B, V)
        best, token = next_words.max(-1)
        total = total + best.masked_fill(done, 0.0)
        token = token.masked_fill(done, end)
        tokens = torch.cat((tokens, token[:, None]), dim=1)
        done = done | (token == end)
    return tokens[:, 1:], total


class Beams(NamedTuple):
    """What beam_search found, for each sentence its `width` hypotheses, the best first.

    tokens (B, width, L) as in greedy_decode; log_probs, scores (B, width). Where there were fewer
    hypotheses than `width`, the rest have the score -inf. steps: for each step the beam after it,
    as (parents, tokens, scores), each (B, width): parents says which place of the beam before was
    extended, tokens by what. A sentence that is over is carried on by END, at no cost.
    """

    tokens: Tensor
    log_probs: Tensor
    scores: Tensor
    steps: list[tuple[Tensor, Tensor, Tensor]]


@torch.no_grad()
def beam_search(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor | None = None,
    *,
    begin: int,
    end: int,
    width: int,
    max_length: int,
    length_penalty: float = 0.0,
) -> Beams:
    """Keep at each step the `width` best beginnings instead of one. Call `model.eval()` before.

    A beginning's score is its log-probability / ((5 + n) / 6) ** length_penalty for n words, END
    included; with 0 that is the log-probability, and each word makes a sentence worse. Sentences
    that are over keep their place in the beam as long as their score does.

    Shapes:  as in greedy_decode, which a beam of width 1 equals
    Source:  Wu et al. 2016, §7 (its length penalty)
    """
    check_size("max_length", max_length)
    check_size("width", width)
    n, device = source.size(0), source.device
    z, _ = model.encode(source, source_mask)
    z = z.repeat_interleave(width, dim=0)  # (B * width, Ls, d_model)
    if source_mask is not None:
        source_mask = source_mask.expand(n, -1, -1).repeat_interleave(width, dim=0)
    cache = model.new_cache()
    tokens = torch.full((n, width, 1), begin, device=device)
    total = z.new_full((n, width), -torch.inf)
    total[:, 0] = 0.0  # at first there is one beginning, not `width` equal ones
    length, done = torch.zeros_like(total), torch.zeros_like(total, dtype=torch.bool)
    first = torch.arange(n, device=device)[:, None] * width  # of each sentence, in B * width
    steps = []
    while tokens.size(2) <= max_length and not done.all():
        next_words = log_probabilities(model, tokens.flatten(0, 1), z, source_mask, cache)
        next_words = next_words.unflatten(0, (n, width))  # (B, width, V)
        over = torch.full_like(next_words, -torch.inf)
        over[..., end] = 0.0
        totals = total[..., None] + torch.where(done[..., None], over, next_words)
        lengths = length + ~done
        scores = totals / ((5 + lengths[..., None]) / 6) ** length_penalty
        score, place = scores.flatten(1).topk(width)  # (B, width), the best first
        parent, token = place // scores.size(-1), place % scores.size(-1)
        total, length = totals.flatten(1).gather(1, place), lengths.gather(1, parent)
        done = done.gather(1, parent) | (token == end)
        kept = tokens.gather(1, parent[..., None].expand_as(tokens))
        tokens = torch.cat((kept, token[..., None]), dim=2)
        for layer_caches in cache:
            for layer_cache in layer_caches:
                layer_cache.reorder((first + parent).flatten())
        steps.append((parent, token, score))
    return Beams(tokens[..., 1:], total, score, steps)


def log_probabilities(
    model: Transformer,
    tokens: Tensor,
    z: Tensor,
    source_mask: Tensor | None,
    cache: DecoderCache | None,
) -> Tensor:
    """Of each word to come next: (B, V). With a cache, from the last word alone."""
    new = tokens if cache is None else tokens[:, -1:]
    return model.decode(new, z, source_mask, cache)[0][:, -1].log_softmax(-1)
