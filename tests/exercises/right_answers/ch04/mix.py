"""More right answers to 04.mix."""

import torch


def mix_einsum(contexts, w_o):
    blocks = w_o.view(contexts.size(-3), contexts.size(-1), -1)
    return torch.einsum("...hlv,hvd->...ld", contexts, blocks)


def mix_cat(contexts, w_o):
    return torch.cat(contexts.unbind(dim=-3), dim=-1) @ w_o


RIGHT = (mix_einsum, mix_cat)
