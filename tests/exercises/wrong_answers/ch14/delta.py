"""Wrong answers to 14.delta, each with words of what the reader is told."""

import torch


def read_by_key(query, key, value, beta):
    state = torch.zeros(*key.shape[:-2], key.size(-1), value.size(-1)).to(key)
    outputs = []
    for t in range(key.size(-2)):
        k, v, b = key[..., t, :, None], value[..., t, None, :], beta[..., t, None, None]
        state = state + k * b * (v - k.mT @ state)
        outputs.append(k.mT @ state)
    return torch.cat(outputs, dim=-2)


WRONG = {read_by_key: "You read the new state with the word's key."}
