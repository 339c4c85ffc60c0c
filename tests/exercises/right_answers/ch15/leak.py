"""More right answers to 15.leak, and mutants that are still right, with the reasons."""

import torch

from attnbook.exercises.chapters.ch15.leak import leaks_and_blind
from tests.support.mutants import changed


def detect_all_at_once(layer, x):
    n = len(x)
    changed = [x.index_fill(0, torch.tensor(j, device=x.device), 0.3) for j in range(n)]
    before = layer(x)
    moved = torch.stack([(layer(other) != before).any(1) for other in changed], dim=1)
    return moved.long() - torch.ones(n, n, dtype=torch.long, device=x.device).tril()


def detect_in_loops(layer, x):
    n = len(x)
    found = [[0] * n for _ in range(n)]
    for j in range(n):
        other = x.clone()
        other[j] = -other[j]
        difference = (layer(other) - layer(x)).abs().sum(1)
        for i in range(n):
            if difference[i] > 1e-10 and i < j:
                found[i][j] = 1
            if difference[i] < 1e-10 and i >= j:
                found[i][j] = -1
    return torch.tensor(found, device=x.device)


RIGHT = (detect_all_at_once, detect_in_loops)

EQUIVALENT = {
    changed(leaks_and_blind, "= 0", "= 1"): "another change of the row",
    changed(leaks_and_blind, "= 0", "= -1"): "another change of the row",
    changed(leaks_and_blind, "any(dim=-1)", "all(dim=-1)"): "all numbers of a row move",
    changed(leaks_and_blind, "any(dim=-1)", "any(dim=+1)"): "the rows have two axes",
}
