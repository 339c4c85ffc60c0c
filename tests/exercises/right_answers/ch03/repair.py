"""More right answers to 03.repair, and mutants that are still right, with the reasons."""

import torch
import torch.nn.functional as F

from attnbook.exercises.chapters.ch03.repair import attend
from tests.support.mutants import changed


def attend_loop(query, key, value):
    rows = []
    for i in range(query.size(-2)):
        scores = (query[..., i : i + 1, :] * key).sum(-1) / query.size(-1) ** 0.5
        rows.append((scores.softmax(-1)[..., None] * value).sum(-2))
    return torch.stack(rows, dim=-2)


def attend_einsum(query, key, value):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.size(-1) ** -0.5
    return torch.einsum("...qk,...kv->...qv", F.softmax(scores, -1), value)


RIGHT = (attend_loop, attend_einsum)

EQUIVALENT = {changed(attend, "(query.size", "(key.size"): "keys are as wide as queries"}
