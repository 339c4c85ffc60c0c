"""More right answers to 10.repair, and mutants that are still right, with the reasons."""

import math

import torch

from attnbook.exercises.chapters.ch10.repair import my_chunked
from tests.support.mutants import changed


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


FORGOTTEN = "the first chunk multiplies it by e^(−∞), 0"


RIGHT = (chunked_two_passes, chunked_normalized, chunked_query_by_query)

EQUIVALENT = {
    changed(my_chunked, "total: Any = 0", "total: Any = 1"): FORGOTTEN,
    changed(my_chunked, "total: Any = 0", "total: Any = -1"): FORGOTTEN,
    changed(my_chunked, "output: Any = 0", "output: Any = 1"): FORGOTTEN,
    changed(my_chunked, "output: Any = 0", "output: Any = -1"): FORGOTTEN,
    changed(my_chunked, "key.size(-2)", "value.size(-2)"): "as many values as keys",
    changed(my_chunked, "math.sqrt(query", "math.sqrt(key"): "queries as wide as keys",
}
