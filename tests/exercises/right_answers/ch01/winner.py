"""More right answers to 01.winner."""

import torch
import torch.nn.functional as F


def winner_computed(what):
    cards = torch.tensor([[3.0, 0], [4, 4], [0, 9]])
    query = {"shout": 10, "flip": -1, "mute": 0}.get(what, 1) * torch.tensor([1.0, 0])
    if what == "cosine":
        cards = F.normalize(cards)
    scores = (cards @ query).tolist()
    return "tie" if len(set(scores)) == 1 else "ABC"[scores.index(max(scores))]


RIGHT = (winner_computed,)
