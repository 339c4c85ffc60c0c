"""More right answers to 08.moves."""

import copy

import torch
from torch import nn

from attnbook.attention.masks import causal_mask

# --- 08.moves --------------------------------------------------------------------------------


def moves_measured(change):
    """Build the model from PyTorch's layers, change it, and see which rows change."""
    torch.manual_seed(0)
    source, target = torch.randn(1, 5, 8).double(), torch.randn(1, 4, 8).double()
    encoder = [nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True) for _ in range(2)]
    decoder = [nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True) for _ in range(2)]
    encoder, decoder = nn.ModuleList(encoder).double(), nn.ModuleList(decoder).double()
    padding, future = torch.tensor([[False] * 4 + [True]]), ~causal_mask(4)
    for layer in decoder:  # make the attention's output 0, including the bias
        cut = {"f": layer.multihead_attn, "g": layer.self_attn}.get(change)
        if cut:
            nn.init.zeros_(cut.out_proj.weight)
            nn.init.zeros_(cut.out_proj.bias)

    def run(z, y):
        for layer in encoder:
            z = layer(z, src_key_padding_mask=padding)
        for i, layer in enumerate(decoder):
            seen = {"memory_key_padding_mask": None if change == "d" else padding}
            y = layer(y, z, None if (change, i) == ("h", 1) else future, **seen)
        return y[0]

    changed_source, changed_target = copy.deepcopy((source, target))
    if change in "afbd":
        changed_source[0, 1 if change in "af" else 4] = torch.randn(8).double()
    elif change == "e":
        changed_source = source[:, [1, 0, 2, 3, 4]]
    else:
        changed_target[0, 2] = torch.randn(8).double()
    before, after = run(source, target), run(changed_source, changed_target)
    moved = ((before - after).abs() > 1e-9).any(-1).tolist()
    found = {(1, 1, 1, 1): "all", (0, 0, 0, 0): "none", (0, 0, 1, 0): "own", (0, 0, 1, 1): "later"}
    return found[tuple(map(int, moved))]


RIGHT = (moves_measured,)
