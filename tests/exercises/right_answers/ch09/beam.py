"""More right answers to 09.beam, and mutants that are still right, with the reasons."""

import torch

from attnbook.exercises.chapters.ch09.beam import my_beam_step
from tests.support.mutants import changed


def beam_candidates(totals, logs, done):
    """Take the k best continuations of each sentence, then the k best of those."""
    k = len(totals)
    logs = logs.masked_fill(done[:, None], -torch.inf)
    logs[:, 0] = torch.where(done, torch.zeros_like(totals), logs[:, 0])
    each, words = logs.topk(min(k, logs.size(1)), dim=1)
    sums = (each + totals[:, None]).flatten()
    order = sums.argsort(descending=True)[:k]
    return sums[order], order // each.size(1), words.flatten()[order]


def beam_sort(totals, logs, done):
    free = torch.zeros_like(logs)
    free[:, 1:] = -torch.inf
    every = (totals + torch.where(done[:, None], free, logs).T).T
    best, order = every.reshape(-1).sort(descending=True)
    k, v = logs.shape
    beams = torch.arange(k, device=logs.device).repeat_interleave(v)
    words = torch.arange(v, device=logs.device).repeat(k)
    return best[:k], beams[order[:k]], words[order[:k]]


RIGHT = (beam_candidates, beam_sort)

EQUIVALENT = {
    changed(my_beam_step, "topk(len(totals))", "topk(len(logs))"): "logs has k rows",
    changed(my_beam_step, "topk(len(totals))", "topk(len(done))"): "done has k places",
}
