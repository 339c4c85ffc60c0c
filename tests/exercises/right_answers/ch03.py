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


def read_ifs(question):
    if question in "cd":
        return "is"
    return "Life" if question == "b" else "short"


def read_computed(question):
    words = ["Life", "is", "short", "eat"]
    weights = torch.tensor(
        [[0.10, 0.20, 0.60, 0.10], [0.25] * 4, [0.05, 0.80, 0.05, 0.10], [0.40, 0.10, 0.30, 0.20]]
    )
    place = {
        "a": weights[0].argmax(),
        "b": weights[:, 2].argmax(),
        "c": weights.std(dim=1).argmin(),
        "d": weights.sum(dim=0).argmax(),
    }[question]
    return words[place]


def read_shouting(question):
    return ["SHORT", "LIFE", "IS ", " IS"]["abcd".index(question)]


def attend_loop(query, key, value):
    rows = []
    for i in range(query.size(-2)):
        scores = (query[..., i : i + 1, :] * key).sum(-1) / query.size(-1) ** 0.5
        rows.append((scores.softmax(-1)[..., None] * value).sum(-2))
    return torch.stack(rows, dim=-2)


def attend_pytorch(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


def attend_einsum(query, key, value):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.size(-1) ** -0.5
    return torch.einsum("...qk,...kv->...qv", F.softmax(scores, -1), value)


def push_back_jacobian(weights, d_weights):
    jacobian = torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]
    return (jacobian @ d_weights[..., None]).squeeze(-1)


def push_back_einsum(weights, d_weights):
    return (
        weights * d_weights
        - weights * torch.einsum("...j,...j->...", weights, d_weights)[..., None]
    )


def push_back_loop(weights, d_weights):
    rows = []
    for a, g in zip(weights.flatten(0, -2), d_weights.flatten(0, -2), strict=True):
        rows.append(a * (g - a.dot(g)))
    return torch.stack(rows).view_as(weights)


RIGHT = {
    "03.shapes": (shapes_ifs, shapes_computed, shapes_list),
    "03.scores": (scores_loop, scores_einsum, scores_scaled_first, scores_broadcast),
    "03.map": (read_ifs, read_computed, read_shouting),
    "03.weights": (weights_logsumexp, weights_pytorch, weights_loop),
    "03.repair": (attend_loop, attend_pytorch, attend_einsum),
    "03.backward": (push_back_jacobian, push_back_einsum, push_back_loop),
}

# A mutant that computes the same is no wrong answer: what it says instead, and why it is right.
EQUIVALENT = {
    "03.scores": {
        "def my_scores(query: Tensor, key: Tensor) -> Tensor:\n"
        "    return query @ key.mT / math.sqrt(key.size(-1))": "keys are as wide as queries",
    },
    "03.repair": {
        "def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:\n"
        "    scores = query @ key.mT / math.sqrt(key.size(-1))\n"
        "    weights = scores.softmax(dim=-1)\n"
        "    return weights @ value": "keys are as wide as queries",
    },
}
