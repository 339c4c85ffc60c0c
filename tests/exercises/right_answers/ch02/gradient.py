"""More right answers to 02.gradient."""

import torch
import torch.nn.functional as F
from torch import nn


def gradient_measured(question):
    """Measure the gradient with autograd."""
    number = {"and": 0, "milk": 1, "or": 2, "sugar": 3, "tea": 4}
    ids = torch.tensor([number[word] for word in "tea and tea or milk".split()])
    embed = nn.Embedding(5, 4)
    x = embed(ids)
    loss = {
        "a": x.sum(),
        "b": x.sum(),
        "c": x.mean(0).sum(),
        "d": x.detach().sum() + x[1].sum(),
        "e": (F.one_hot(ids, 5).float() @ embed.weight).sum(),
    }[question]
    loss.backward()
    row = embed.weight.grad[number["sugar" if question == "b" else "tea"]]
    assert (row == row[0]).all()
    return round(row[0].item(), 4)


RIGHT = (gradient_measured,)
