"""Shared by exercises of chapter 13: small attention layers and their heads."""

import torch
from torch import Generator, Tensor

from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.exercises.exercise import draw
from attnbook.notebook.show import device


def some_layer(generator: Generator, width: int, n_heads: int) -> MultiHeadAttention:
    """A layer with random, frozen weights."""
    layer = MultiHeadAttention(width, n_heads, bias=False).double().requires_grad_(False)
    for weight in layer.parameters():
        weight.copy_(draw(generator, *weight.shape) / width**0.5)
    return layer.to(device())


def head_is(head: int, outputs: Tensor) -> Tensor:
    """A mask that is True for one head of (B, H, L, Dv). Head −1 is the last."""
    heads = torch.arange(outputs.size(1), device=outputs.device)
    return (heads == head % len(heads))[:, None, None]
