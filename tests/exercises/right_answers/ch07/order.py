"""More right answers to 07.order."""

import torch

from attnbook import scaled_dot_product_attention
from attnbook.positions.absolute import sinusoidal_encoding


def after_shuffle_computed(situation):
    generator = torch.Generator().manual_seed(0)
    x, order = torch.randn(6, 8, generator=generator), torch.tensor([3, 0, 4, 1, 2, 5])
    p = sinusoidal_encoding(6, 8)

    def attend(query, key=None, value=None):
        key = query if key is None else key
        return scaled_dot_product_attention(query, key, key if value is None else value)[0]

    before, after = {
        "bare": lambda: (attend(x), attend(x[order])),
        "positions": lambda: (attend(x + p), attend(x[order] + p)),
        "baggage": lambda: (attend(x + p), attend((x + p)[order])),
        "context": lambda: (attend(p, x), attend(p, x[order])),
        "torn": lambda: (attend(p, x, x), attend(p, x[order], x)),
    }[situation]()
    if torch.allclose(before, after, atol=1e-5):
        return "same"
    return "reordered" if torch.allclose(before[order], after, atol=1e-5) else "other"


RIGHT = (after_shuffle_computed,)
