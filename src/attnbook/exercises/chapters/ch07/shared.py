"""Shared by exercises of chapter 7: how far each key is from each query."""

import torch
from torch import Tensor


def steps(length: int) -> Tensor:
    return torch.arange(length) - torch.arange(length)[:, None]
