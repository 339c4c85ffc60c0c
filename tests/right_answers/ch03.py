"""Right answers to the exercises of chapter 3, and the mutants of its references that are right."""

import math

import torch
import torch.nn.functional as F


def scores_loop(query, key):
    rows = [(query[..., i, None, :] * key).sum(-1) for i in range(query.size(-2))]
    return torch.stack(rows, dim=-2) / query.size(-1) ** 0.5


def scores_einsum(query, key):
    return torch.einsum("...id,...jd->...ij", query, key) / math.sqrt(query.shape[-1])


def scores_scaled_first(query, key):
    return torch.matmul(query / query.shape[-1] ** 0.5, key.transpose(-2, -1))


def scores_broadcast(query, key):
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1).div(math.sqrt(key.size(-1)))


def weights_logsumexp(scores):
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()


def weights_pytorch(scores):
    return F.softmax(scores, dim=-1)


def weights_loop(scores):
    rows = []
    for row in scores.reshape(-1, scores.size(-1)):
        powers = torch.exp(row - max(row))
        rows.append(powers / sum(powers))
    return torch.stack(rows).reshape(scores.shape)


def shapes_ifs(what, Lq, Lk, D, Dk, Dv):
    if what in ("scores", "weights"):
        return Lq, Lk
    return (Lq, Dv) if what == "output" else (D, Dv)


def shapes_computed(what, Lq, Lk, D, Dk, Dv):
    scores = torch.zeros(Lq, Dk) @ torch.zeros(Lk, Dk).mT
    w_v = torch.zeros(D, Dv)
    output = scores @ (torch.zeros(Lk, D) @ w_v)
    return {"scores": scores, "weights": scores, "output": output, "w_v": w_v}[what].shape


def shapes_list(what, Lq, Lk, D, Dk, Dv):
    return [Lq, Lk] if what[-1] == "s" else [{"output": Lq, "w_v": D}[what], Dv]


RIGHT = {
    "03.scores": (scores_loop, scores_einsum, scores_scaled_first, scores_broadcast),
    "03.weights": (weights_logsumexp, weights_pytorch, weights_loop),
    "03.shapes": (shapes_ifs, shapes_computed, shapes_list),
}

# A mutant that computes the same is no wrong answer: what it says instead, and why it is right.
EQUIVALENT = {
    "03.scores": {
        "def scores(query: Tensor, key: Tensor) -> Tensor:\n"
        "    return query @ key.mT / math.sqrt(key.size(-1))": "keys are as wide as queries",
    },
}
