"""More right answers to 08.norm."""

import torch
import torch.nn.functional as F

# --- 08.norm ---------------------------------------------------------------------------------


def norm_library(x, gain, shift, eps):
    return F.layer_norm(x, gain.shape, gain, shift, eps)


def norm_loop(x, gain, shift, eps):
    rows = []
    for row in x.reshape(-1, x.size(-1)):
        centered = row - row.sum() / len(row)
        rows.append(gain * centered / (centered @ centered / len(row) + eps) ** 0.5 + shift)
    return torch.stack(rows).reshape(x.shape)


def norm_by_squares(x, gain, shift, eps):
    """Compute the variance as the mean of the squares minus the square of the mean."""
    mean = x.mean(-1, keepdim=True)
    variance = x.square().mean(-1, keepdim=True) - mean.square()
    return torch.addcmul(shift, (x - mean) / torch.sqrt(variance + eps), gain)


RIGHT = (norm_library, norm_loop, norm_by_squares)
