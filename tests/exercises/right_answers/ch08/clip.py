"""More right answers to 08.clip."""

import torch
from torch import nn

# --- 08.clip ---------------------------------------------------------------------------------


def clip_library(gradients, limit):
    parameters = [nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    nn.utils.clip_grad_norm_(parameters, limit)
    return [parameter.grad for parameter in parameters]


def clip_ifs(gradients, limit):
    total = 0.0
    for gradient in gradients:
        total += gradient.pow(2).sum().item()
    if total <= limit**2:
        return list(gradients)
    return tuple(gradient / total**0.5 * limit for gradient in gradients)


def clip_same_list(gradients, limit):
    length = torch.cat([g.flatten() for g in gradients]).norm()
    return gradients if length <= limit else [g * limit / length for g in gradients]


RIGHT = (clip_library, clip_ifs, clip_same_list)
