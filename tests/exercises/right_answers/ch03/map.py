"""More right answers to 03.map."""

import torch


def read_computed(question):
    words = ["Life", "is", "short", "eat"]
    weights = torch.tensor(
        [[0.10, 0.20, 0.60, 0.10], [0.25] * 4, [0.05, 0.80, 0.05, 0.10], [0.40, 0.10, 0.30, 0.20]]
    )
    place = {
        "a": weights[0].argmax(),
        "b": weights[:, 2].argmax(),
        "c": weights.std(dim=1).argmin(),
        "d": weights.sum(dim=0).argmax(),
    }[question]
    return words[place]


RIGHT = (read_computed,)
