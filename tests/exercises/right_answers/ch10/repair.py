"""Right answers to chapter 10's exercises, and mutated reference solutions that are still right."""

import math

import torch

from attnbook.exercises.chapters.ch10.repair import (
    HOPS,
    TEXTS,
    my_chunked,
    my_pattern,
    my_running,
)
from tests.support.mutants import changed


def pattern_loop(length, window, global_tokens):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        for j in range(length):
            mask[i, j] = abs(i - j) <= window or i in global_tokens or j in global_tokens
    return mask


def pattern_by_lists(length, window, global_tokens):
    mask = torch.ones(length, length).triu(-window).tril(window)
    mask[list(global_tokens)] = 1
    mask[:, list(global_tokens)] = 1
    return mask > 0


def cheapest_computed(text):
    length, width, window, known = TEXTS[text]
    cost = {
        "dense": 2 * length**2 * width,
        "window": 2 * length * (2 * window + 1 + 2 * known) * width,
        "linear": 2 * length * width**2,
    }
    return min(cost, key=cost.get)


def masks():
    """Return the card's six masks as boolean matrices."""
    blocks = HOPS.prompt.split("```")[1].split("\n\n")
    found = {}
    for block in blocks:
        rows = [line[1:].split() for line in block.strip("\n").splitlines() if line[:1].isdigit()]
        names = next(line for line in block.splitlines() if line.strip() and not line[:1].isdigit())
        for place, name in enumerate(names.split()):
            cells = [[cell == "x" for cell in row[9 * place : 9 * place + 9]] for row in rows]
            found[name] = torch.tensor(cells)
    return found


def layers_measured(pattern):
    """Multiply the card's mask by itself until the first word reaches the last."""
    mask = masks()[pattern].double()
    reached = mask
    for layers in range(1, 12):
        if reached[8, 0]:
            return layers
        reached = mask @ reached
    return 0


def layers_walked(pattern):
    mask, known = masks()[pattern], {8}
    for layers in range(1, 9):
        known = {j for i in known for j in range(9) if mask[i, j]}
        if 0 in known:
            return layers
    return 0


def merge_by_logaddexp(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    return (lse_a - lse).exp()[..., None] * output_a + (lse_b - lse).exp()[..., None] * output_b


def merge_by_hand(output_a, lse_a, output_b, lse_b):
    largest = torch.maximum(lse_a, lse_b)
    a, b = (lse_a - largest).exp().unsqueeze(-1), (lse_b - largest).exp().unsqueeze(-1)
    return (a * output_a + b * output_b) / (a + b)


def merge_as_attention(output_a, lse_a, output_b, lse_b):
    """Treat the chunks as keys, their lse as scores, and their outputs as values."""
    weights = torch.stack((lse_a, lse_b), dim=-1).softmax(-1)
    return (weights.unsqueeze(-2) @ torch.stack((output_a, output_b), dim=-2)).squeeze(-2)


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


def chunked_two_passes(query, key, value, chunk):
    """Find the maximum first, then add up the exponentials."""
    root = math.sqrt(query.size(-1))
    pieces = list(zip(key.split(chunk, -2), value.split(chunk, -2), strict=True))
    largest = torch.cat([(query @ k.mT / root).amax(-1, keepdim=True) for k, _ in pieces], -1)
    largest = largest.amax(-1, keepdim=True)
    total, output = 0, 0
    for k, v in pieces:
        powers = (query @ k.mT / root - largest).exp()
        total, output = total + powers.sum(-1, keepdim=True), output + powers @ v
    return output / total


def chunked_normalized(query, key, value, chunk):
    """Keep the output normalized, and merge each chunk into it."""
    output, lse = None, None
    for k, v in zip(key.split(chunk, -2), value.split(chunk, -2), strict=True):
        scores = query @ k.mT / query.size(-1) ** 0.5
        here, mine = scores.softmax(-1) @ v, scores.logsumexp(-1, keepdim=True)
        if output is None:
            output, lse = here, mine
            continue
        share = torch.sigmoid(mine - lse)
        output, lse = output + share * (here - output), torch.logaddexp(lse, mine)
    return output


def chunked_query_by_query(query, key, value, chunk):
    """Process one query at a time, chunk by chunk, and multiply by broadcasting."""
    rows = []
    for q in query.unbind(-2):
        largest, total, output = torch.tensor(-math.inf, device=q.device), 0, 0
        for k, v in zip(key.split(chunk, -2), value.split(chunk, -2), strict=True):
            scores = (q[..., None, :] * k).sum(-1, keepdim=True) / math.sqrt(q.size(-1))
            new = torch.maximum(largest, scores.amax(-2, keepdim=True))
            old, powers, largest = (largest - new).exp(), (scores - new).exp(), new
            total = total * old + powers.sum(-2, keepdim=True)
            output = output * old + (powers * v).sum(-2, keepdim=True)
        rows.append(output / total)
    return torch.cat(rows, dim=-2)


def what_is_by_rank(attend):
    """The rank of the matrix of all products φ(q) · φ(k) is at most the width of φ."""
    torch.manual_seed(0)
    query, key = torch.randn(2, 60, 3, dtype=torch.float64)
    weights = attend(query, key, torch.eye(60, dtype=torch.float64))
    seen = weights > 0
    if not seen[50, :20].all():
        return "global" if seen[50, :20].any() else "window"
    return "linear" if torch.linalg.matrix_rank(weights[40:, :20]) <= 3 else "softmax"


def what_is_one_value(attend):
    """Mark one value at a time, and observe the last output."""
    query, key = torch.ones(64, 2), torch.ones(64, 2)

    def noticed(word, loud=1.0):
        value, marked = torch.zeros(64, 1), key.clone()
        value[word], marked[word] = 1.0, 4.0
        return attend(loud * query, marked, value)[-1].item()

    if noticed(15) > 0:
        return "softmax" if noticed(15, loud=100.0) > 0.9 else "linear"
    return "global" if any(noticed(word) > 0 for word in range(8)) else "window"


def what_is_by_gradients(attend):
    query, key = torch.randn(2, 64, 4)
    value = torch.zeros(64, 1, requires_grad=True)
    (weights,) = torch.autograd.grad(attend(query, key, value)[-1, 0], value)
    far = weights[:40].ne(0)
    if not far.all():
        return "global" if far.any() else "window"
    twice = torch.zeros(64, 1, requires_grad=True)
    (louder,) = torch.autograd.grad(attend(1e6 * query, key, twice)[-1, 0], twice)
    return "softmax" if louder.max() > 0.99 else "linear"


RIGHT = {
    "10.pattern": (pattern_loop, pattern_by_lists),
    "10.cheapest": (cheapest_computed,),
    "10.hops": (layers_measured, layers_walked),
    "10.merge": (merge_by_logaddexp, merge_by_hand, merge_as_attention),
    "10.running": (running_sums, running_words, running_log),
    "10.repair": (chunked_two_passes, chunked_normalized, chunked_query_by_query),
    "10.experiment": (what_is_by_rank, what_is_one_value, what_is_by_gradients),
}

FORGOTTEN = "the first chunk multiplies it by e^(−∞), 0"
EQUIVALENT = {
    "10.pattern": {
        changed(
            my_pattern, "position - position[:, None]", "position[:, None] - position"
        ): "a distance",
    },
    "10.running": {
        changed(my_running, ", strict=True", ""): "as many queries as keys and values",
        changed(my_running, "strict=True", "strict=False"): "as many queries as keys and values",
    },
    "10.repair": {
        changed(my_chunked, "total: Any = 0", "total: Any = 1"): FORGOTTEN,
        changed(my_chunked, "total: Any = 0", "total: Any = -1"): FORGOTTEN,
        changed(my_chunked, "output: Any = 0", "output: Any = 1"): FORGOTTEN,
        changed(my_chunked, "output: Any = 0", "output: Any = -1"): FORGOTTEN,
        changed(my_chunked, "key.size(-2)", "value.size(-2)"): "as many values as keys",
        changed(my_chunked, "math.sqrt(query", "math.sqrt(key"): "queries as wide as keys",
    },
}
