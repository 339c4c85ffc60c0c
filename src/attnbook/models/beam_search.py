"""Beam search: decoding that keeps several sentences at each step instead of one."""

from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.checks.sizes import check_size
from attnbook.models.decoding import check_decoding, log_probabilities
from attnbook.models.transformer import Transformer


class Beams(NamedTuple):
    """The result of beam_search: `width` hypotheses for each sentence, the best first.

    tokens (B, width, L) as in greedy_decode; log_probs, scores (B, width). If there are fewer
    hypotheses than `width`, the empty slots have the score -inf. `steps` holds the beam after each
    step, as (parents, tokens, scores), each (B, width): parents are the indices of the hypotheses
    of the previous beam that were extended, and tokens the ids of the words added. A finished
    sentence is extended with END, which does not change its log-probability.
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
    """Keep the `width` best hypotheses at each step instead of one. Call `model.eval()` first.

    The score of a hypothesis is its log-probability / ((5 + n) / 6) ** length_penalty for n words,
    END included. With length_penalty=0, the score is the log-probability, which each word lowers. A
    finished sentence stays in the beam as long as its score is among the best.

    Shapes:  as in greedy_decode; a beam of width 1 gives the same sentences
    Raises:  as in greedy_decode; TypeError, ValueError if width is not a positive int
    Source:  Wu et al. 2016, §7 (the length penalty)
    """
    check_decoding(model, source, source_mask, begin, end, max_length)
    check_size("width", width)
    n, device = source.size(0), source.device
    z, _ = model.encode(source, source_mask)
    z = z.repeat_interleave(width, dim=0)  # (B * width, Ls, d_model)
    if source_mask is not None and source_mask.size(0) > 1:  # otherwise one mask serves all rows
        source_mask = source_mask.repeat_interleave(width, dim=0)
    cache = model.new_cache()
    tokens = torch.full((n, width, 1), begin, device=device)
    total = z.new_full((n, width), -torch.inf)
    total[:, 0] = 0.0  # at first there is one hypothesis, not `width` equal ones
    length, done = torch.zeros_like(total), torch.zeros_like(total, dtype=torch.bool)
    first = torch.arange(n, device=device)[:, None] * width  # each sentence's first row
    score, steps = total, []
    while tokens.size(2) <= max_length and not done.all():
        log_probs = log_probabilities(model, tokens.flatten(0, 1), z, source_mask, cache)
        log_probs = log_probs.unflatten(0, (n, width))  # (B, width, V)
        over = torch.full_like(log_probs, -torch.inf)
        over[..., end] = 0.0
        totals = total[..., None] + torch.where(done[..., None], over, log_probs)
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
