"""More right answers to 04.experiment."""

import torch

from attnbook import merge_heads, split_heads


def is_right_column_by_column(cut):
    """Give every number a different value, and check where each one ends up."""
    for shape in ((4, 6), (3, 4, 6), (2, 3, 4, 6)):
        x = torch.arange(float(torch.Size(shape).numel())).view(shape) + torch.rand(())
        pieces = cut(x, 3)
        for h in range(3):
            if pieces.dim() != x.dim() + 1 or pieces.size(-3) != 3:
                return False
            if not pieces.select(-3, h).equal(x[..., 2 * h : 2 * h + 2]):
                return False
    return True


def is_right_merged(cut):
    """The right merge undoes the split and restores x."""
    shapes = (5, 12), (2, 5, 12), (2, 3, 5, 12)
    xs = [torch.rand(shape, dtype=torch.float64) for shape in shapes]
    return all(
        cut(x, 4).dim() == x.dim() + 1 and torch.equal(merge_heads(cut(x, 4)), x) for x in xs
    )


def is_right_compared(cut):
    for b in (1, 3):
        for h in (1, 3, 5):
            for shape in ((7, 30), (b, 7, 30), (2, b, 7, 30)):
                x = torch.randn(shape)
                one, other = cut(x, h), split_heads(x, h)
                if one.shape != other.shape or (one != other).any():
                    return False
    return True


RIGHT = (is_right_column_by_column, is_right_merged, is_right_compared)
