"""More right answers to 12.experiment."""

import math

import torch


def draws_by_frequency(draw):
    ten = draw(torch.arange(10) / 1000, 50_000).bincount(minlength=10)
    if ten.max() == 50_000:
        return "greedy"
    numbers = [draw(torch.linspace(0, 1e-4, v), 100_000).unique().numel() for v in (50, 1000)]
    if numbers[0] == numbers[1]:
        return "top-k"
    if numbers[1] < 1000:
        return "top-p"
    counts = draw(torch.tensor([0.0, 1.0, 2.0]), 100_000).bincount(minlength=3) / 100_000
    expected = torch.tensor([0.0, 1.0, 2.0]).softmax(-1)
    return "plain" if (counts - expected).abs().max() < 0.01 else "temperature"


def draws_by_sets(draw):
    few = set(draw(torch.arange(60) * 1e-5, 10_000).tolist())
    many = set(draw(torch.arange(120) * 1e-5, 10_000).tolist())
    if len(few) == 1:
        return "greedy"
    if len(few) == 60:
        ids = draw([1.0, 0.0], 100_000).tolist()
        return "plain" if 2.5 < ids.count(0) / ids.count(1) < 3 else "temperature"
    return "top-k" if len(few) == len(many) else "top-p"


def draws_in_float64(draw):
    flat = torch.linspace(0, 0.001, 500, dtype=torch.float64)
    seen = len(set(draw(flat, 300_000).tolist()))
    if seen == 1:
        return "greedy"
    if seen <= 40:
        return "top-k"
    if seen < 500:
        return "top-p"
    first = (draw(torch.tensor([2.0, 0.0]), 40_000) == 0).double().mean().item()
    return "plain" if math.isclose(first, 1 / (1 + math.exp(-2)), abs_tol=0.02) else "temperature"


RIGHT = (draws_by_frequency, draws_by_sets, draws_in_float64)
