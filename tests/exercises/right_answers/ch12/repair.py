"""Right answers to chapter 12's exercises."""

import math

import torch
import torch.nn.functional as F

from attnbook import keep_top_p
from attnbook.exercises.chapters.ch12.repair import my_top_p


def count_by_lists(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    width = d_model // n_heads
    query = output = d_model * n_heads * width
    key = value = d_model * n_kv_heads * width
    gate = up = down = d_model * d_ff
    block = sum([query, key, value, output, gate, up, down, d_model, d_model])
    tables = [vocabulary_size * d_model] * (2 - tied)
    return sum(tables) + n_layers * block + d_model


def count_by_shapes(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    small = d_model * n_kv_heads // n_heads
    shapes = [(vocabulary_size, d_model), (d_model,)]
    if not tied:
        shapes.append((d_model, vocabulary_size))
    for _ in range(n_layers):
        shapes += [(d_model, d_model), (d_model, small), (d_model, small), (d_model, d_model)]
        shapes += [(d_model, d_ff), (d_model, d_ff), (d_ff, d_model), (d_model,), (d_model,)]
    return sum(map(math.prod, shapes))


def count_in_float(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    share = n_kv_heads / n_heads
    per_row = 2 * d_model * (1 + share) + 3 * d_ff + 2
    return round(d_model * ((2 - int(tied)) * vocabulary_size + n_layers * per_row + 1))


def seen_by_counting(thing):
    source, target = "苹果 很 甜".split(), "BEGIN the apple is sweet".split()
    if thing == "a":
        return len(target[:4])
    if thing in ("b", "g"):
        return len(("the GAP is sweet today" if thing == "b" else "GAP apple is sweet").split())
    if thing in ("c", "d"):
        return len([*source, *target[:4]])
    return source.index("很") + 1 if thing == "e" else len(source)


def top_p_row_by_row(probabilities, p):
    answer = torch.zeros_like(probabilities)
    rows = probabilities.reshape(-1, probabilities.size(-1)).tolist()
    for i, row in enumerate(rows):
        total, kept = 0.0, []
        for word in sorted(range(len(row)), key=row.__getitem__, reverse=True):
            kept.append(word)
            total += row[word]
            if total >= p:
                break
        for word in kept:
            answer.view(-1, len(row))[i, word] = row[word] / total
    return answer


def top_p_by_ranks(probabilities, p):
    order = probabilities.argsort(-1, descending=True)
    ordered = probabilities.gather(-1, order)
    out = ordered.cumsum(-1) >= p
    out = torch.cat((torch.zeros_like(out[..., :1]), out[..., :-1]), dim=-1)
    kept = ordered.masked_fill(out, 0).gather(-1, order.argsort(-1))
    return F.normalize(kept, p=1, dim=-1)


def top_p_by_logits(probabilities, p):
    ordered = probabilities.sort(-1, descending=True).values
    n_kept = 1 + (ordered.cumsum(-1) < p).sum(-1, keepdim=True)
    smallest = ordered.gather(-1, n_kept - 1)
    return probabilities.log().masked_fill(probabilities < smallest, -math.inf).softmax(-1)


def perplexity_by_loops(logits, tokens):
    nats = []
    for row, scores in zip(tokens.tolist(), logits, strict=True):
        end = row.index(2)
        for i in range(row.index(1), end):
            nats.append(-scores[i].log_softmax(-1)[row[i + 1]].item())
    return math.exp(sum(nats) / len(nats))


@torch.no_grad()
def perplexity_by_cross_entropy(logits, tokens):
    labels = tokens.roll(-1, 1)
    labels[:, -1] = 0
    given = (labels == 1).flip(1).cumsum(1).flip(1) > 0
    labels = labels.masked_fill(given, -100).masked_fill(labels == 0, -100)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten()).exp()


def perplexity_from_probabilities(logits, tokens):
    b, i = ((tokens == 1).cumsum(1) * (tokens != 2) * (tokens != 0)).nonzero().T
    shares = logits.softmax(-1)[b, i, tokens[b, i + 1]]
    return shares.prod() ** (-1 / len(b))


def next_in_place(logits, done, temperature, p):
    logits = logits.clone()
    logits[:, 0] = -math.inf
    probabilities = keep_top_p(logits / temperature, p).softmax(-1)
    probabilities[done] = 0
    probabilities[done, 0] = 1
    return probabilities


def next_by_logits(logits, done, temperature, p):
    pad, words = logits[:, :1], logits[:, 1:]
    words = keep_top_p(words / temperature, p).masked_fill(done[:, None], -torch.inf)
    pad = torch.where(done[:, None], 0.0, torch.full_like(pad, -torch.inf))
    return torch.cat((pad, words), dim=1).softmax(dim=1)


def next_row_by_row(logits, done, temperature, p):
    rows = []
    for row, ended in zip(logits, done, strict=True):
        if ended:
            rows.append(F.one_hot(torch.tensor(0), len(row)).to(row))
        else:
            shares = my_top_p((row[1:] / temperature).softmax(-1), p)
            rows.append(torch.cat((torch.zeros_like(shares[:1]), shares)))
    return torch.stack(rows)


def draws_by_frequency(draw):
    ten = draw(torch.arange(10) / 1000, 50_000).bincount(minlength=10)
    if ten.max() == 50_000:
        return "greedy"
    numbers = [draw(torch.linspace(0, 1e-4, v), 100_000).unique().numel() for v in (50, 1000)]
    if numbers[0] == numbers[1]:
        return "top-k"
    if numbers[1] < 1000:
        return "top-p"
    counts = draw(torch.tensor([0.0, 1.0, 2.0]), 100_000).bincount(minlength=3) / 100_000
    expected = torch.tensor([0.0, 1.0, 2.0]).softmax(-1)
    return "plain" if (counts - expected).abs().max() < 0.01 else "temperature"


def draws_by_sets(draw):
    few = set(draw(torch.arange(60) * 1e-5, 10_000).tolist())
    many = set(draw(torch.arange(120) * 1e-5, 10_000).tolist())
    if len(few) == 1:
        return "greedy"
    if len(few) == 60:
        ids = draw([1.0, 0.0], 100_000).tolist()
        return "plain" if 2.5 < ids.count(0) / ids.count(1) < 3 else "temperature"
    return "top-k" if len(few) == len(many) else "top-p"


def draws_in_float64(draw):
    flat = torch.linspace(0, 0.001, 500, dtype=torch.float64)
    seen = len(set(draw(flat, 300_000).tolist()))
    if seen == 1:
        return "greedy"
    if seen <= 40:
        return "top-k"
    if seen < 500:
        return "top-p"
    first = (draw(torch.tensor([2.0, 0.0]), 40_000) == 0).double().mean().item()
    return "plain" if math.isclose(first, 1 / (1 + math.exp(-2)), abs_tol=0.02) else "temperature"


RIGHT = {
    "12.count": (count_by_lists, count_by_shapes, count_in_float),
    "12.sees": (seen_by_counting,),
    "12.top_p": (top_p_row_by_row, top_p_by_ranks, top_p_by_logits),
    "12.perplexity": (
        perplexity_by_loops,
        perplexity_by_cross_entropy,
        perplexity_from_probabilities,
    ),
    "12.repair": (next_in_place, next_by_logits, next_row_by_row),
    "12.experiment": (draws_by_frequency, draws_by_sets, draws_in_float64),
}
