"""More right answers to 08.clip."""

import torch
from torch import nn


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


def clip_into_new_tensors(gradients, limit):
    """These are float32, and the arguments float64."""
    norm = sum(float((g**2).sum()) for g in gradients) ** 0.5
    new = [torch.empty(g.shape, device=g.device) for g in gradients]
    for out, gradient in zip(new, gradients, strict=True):
        out[...] = gradient * (limit / norm if norm > limit else 1.0)
    return new


RIGHT = (clip_library, clip_ifs, clip_same_list, clip_into_new_tensors)
