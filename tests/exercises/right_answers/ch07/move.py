"""More right answers to 07.move."""

import torch


def move_matrix(p, angles):
    blocks = [torch.stack((a.cos(), -a.sin(), a.sin(), a.cos())).view(2, 2) for a in angles]
    return p @ torch.block_diag(*blocks)


def move_complex(p, angles):
    hands = torch.view_as_complex(p.unflatten(-1, (-1, 2)).flip(-1).contiguous())
    turned = hands * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flip(-1).flatten(-2)


def move_swapped(p, angles):
    swapped = torch.stack((p[..., 1::2], -p[..., ::2]), dim=-1).flatten(-2)
    wide = angles.repeat_interleave(2)
    return p * wide.cos() + swapped * wide.sin()


RIGHT = (move_matrix, move_complex, move_swapped)
