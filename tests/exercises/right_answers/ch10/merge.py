"""More right answers to 10.merge."""

import torch


def merge_by_logaddexp(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    return (lse_a - lse).exp()[..., None] * output_a + (lse_b - lse).exp()[..., None] * output_b


def merge_by_hand(output_a, lse_a, output_b, lse_b):
    largest = torch.maximum(lse_a, lse_b)
    a, b = (lse_a - largest).exp().unsqueeze(-1), (lse_b - largest).exp().unsqueeze(-1)
    return (a * output_a + b * output_b) / (a + b)


def merge_as_attention(output_a, lse_a, output_b, lse_b):
    """Treat the chunks as keys, their lse as scores, and their outputs as values."""
    weights = torch.stack((lse_a, lse_b), dim=-1).softmax(-1)
    return (weights.unsqueeze(-2) @ torch.stack((output_a, output_b), dim=-2)).squeeze(-2)


RIGHT = (merge_by_logaddexp, merge_by_hand, merge_as_attention)
