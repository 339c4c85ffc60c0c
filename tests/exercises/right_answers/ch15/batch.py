"""More right answers to 15.batch, and mutants that are still right, with the reasons."""

import math

import torch

from attnbook.exercises.chapters.ch15.batch import batch_step
from attnbook.positions.rotary import apply_rotary
from tests.support.mutants import changed


def step_by_hand(x, keep, keys, values, w_q, w_k, w_v):
    new = x.size(1)
    at = keep.sum(1)[:, None] + torch.arange(new, device=x.device)
    query = apply_rotary(x @ w_q, at) / math.sqrt(w_q.size(1))
    old = (query @ keys.mT).masked_fill(~keep[:, None], -torch.inf)
    among = query @ apply_rotary(x @ w_k, at).mT
    among = among.masked_fill(torch.ones_like(among).triu(1).bool(), -torch.inf)
    weights = torch.cat((old, among), dim=-1).softmax(-1)
    return weights @ torch.cat((values, x @ w_v), dim=1)


def step_by_distance(x, keep, keys, values, w_q, w_k, w_v):
    """Move everything by the padding: only differences of positions count."""
    old, new = keys.size(1), x.size(1)
    padding = (~keep).sum(1, keepdim=True)
    moved = apply_rotary(keys, padding.expand(-1, old))
    slots = torch.arange(old, old + new, device=x.device)
    query, key = apply_rotary(x @ w_q, slots), apply_rotary(x @ w_k, slots)
    all_keys = torch.cat((moved, key), dim=1)
    all_values = torch.cat((values, x @ w_v), dim=1)
    at = torch.arange(old + new, device=x.device)
    may = (at >= padding)[:, None] & (at <= slots[:, None])
    scores = query @ all_keys.mT / math.sqrt(w_q.size(1))
    return scores.masked_fill(~may, -torch.inf).softmax(-1) @ all_values


RIGHT = (step_by_hand, step_by_distance)

EQUIVALENT = {
    changed(batch_step, "(keys.size(1),", "(keys.size(-2),"): "the same axis",
    changed(batch_step, "x.size(1))", "x.size(-2))"): "the same axis",
    changed(batch_step, "(keys.size(1),", "(keep.size(1),"): "the same size",
    changed(batch_step, "(keys.size(1),", "(values.size(1),"): "the same size",
    changed(batch_step, "(keys, key), dim=1", "(keys, key), dim=-2"): "the same axis",
    changed(batch_step, "x @ w_v), dim=1", "x @ w_v), dim=-2"): "the same axis",
}
