"""More right answers to 10.running, and mutants that are still right, with the reasons."""

import torch

from attnbook.exercises.chapters.ch10.running import my_running
from tests.support.mutants import changed


def running_sums(query, key, value):
    states = torch.einsum("...lk,...lv->...lkv", key, value).cumsum(-3)
    read = torch.einsum("...lk,...lkv->...lv", query, states)
    return read / torch.einsum("...lk,...lk->...l", query, key.cumsum(-2))[..., None]


def running_words(query, key, value):
    outputs = []
    for i in range(query.size(-2)):
        weights = query[..., i : i + 1, :] @ key[..., : i + 1, :].mT
        outputs.append(weights / weights.sum(-1, keepdim=True) @ value[..., : i + 1, :])
    return torch.cat(outputs, dim=-2)


def running_log(query, key, value):
    """Use ordinary attention whose scores are the logarithms of the weights."""
    causal = torch.ones(query.size(-2), query.size(-2), device=query.device).tril().bool()
    scores = (query @ key.mT).log().masked_fill(~causal, -torch.inf)
    return scores.softmax(-1) @ value


RIGHT = (running_sums, running_words, running_log)

EQUIVALENT = {
    changed(my_running, ", strict=True", ""): "as many queries as keys and values",
    changed(my_running, "strict=True", "strict=False"): "as many queries as keys and values",
}
