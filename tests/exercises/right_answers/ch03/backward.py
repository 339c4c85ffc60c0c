"""More right answers to 03.backward."""

import torch


def push_back_loop(weights, d_weights):
    rows = []
    for a, g in zip(weights.flatten(0, -2), d_weights.flatten(0, -2), strict=True):
        rows.append(a * (g - a.dot(g)))
    return torch.stack(rows).view_as(weights)


def push_back_autograd(weights, d_weights):
    scores = weights.clamp_min(1e-300).log().requires_grad_()  # one choice of scores
    return torch.autograd.grad(scores.softmax(-1), scores, d_weights)[0]


RIGHT = (push_back_loop, push_back_autograd)
