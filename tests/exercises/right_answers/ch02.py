"""Right answers to the exercises of chapter 2, and the mutants of its references that are right."""

import itertools
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

from attnbook.sentence import vocabulary


def encode_library(words, corpus):
    number = vocabulary(corpus)
    return torch.tensor([number.get(word, len(number)) for word in words])


def encode_loop(words, corpus):
    known = []
    for word in sorted(corpus):
        if word not in known:
            known.append(word)
    ids = torch.full((len(words),), len(known))
    for i, word in enumerate(words):
        if word in known:
            ids[i] = known.index(word)
    return ids


def encode_smaller(words, corpus):
    known = set(corpus)
    return torch.tensor(
        [sum(k < word for k in known) if word in known else len(known) for word in words]
    )


def gradient_measured(question):
    """Ask autograd."""
    number = {"and": 0, "milk": 1, "or": 2, "sugar": 3, "tea": 4}
    ids = torch.tensor([number[word] for word in "tea and tea or milk".split()])
    embed = nn.Embedding(5, 4)
    x = embed(ids)
    loss = {
        "a": x.sum(),
        "b": x.sum(),
        "c": x.mean(0).sum(),
        "d": x.detach().sum() + x[1].sum(),
        "e": (F.one_hot(ids, 5).float() @ embed.weight).sum(),
    }[question]
    loss.backward()
    row = embed.weight.grad[number["sugar" if question == "b" else "tea"]]
    assert (row == row[0]).all()
    return round(row[0].item(), 4)


def gradient_ifs(question):
    if question in "bd":
        return 0
    return 2 / 5 if question == "c" else 2


def gradient_list(question):
    return torch.tensor([2.0, 0.0, 0.4, 0.0, 2.0], dtype=torch.float64)["abcde".index(question)]


def notices_measured(summary):
    """Make the four summaries and compare."""
    number = vocabulary("dog bites man very good".split())
    table = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def make(sentence):
        ids = torch.tensor([number[word] for word in sentence.split()])
        x = table[ids]
        return {
            "a": x.mean(0),
            "b": x.amax(0),
            "c": x.flatten(),
            "d": x[0],
            "e": F.one_hot(ids, 5).amax(0).double(),
        }[summary]

    def differ(one, two):
        one, two = make(one), make(two)
        return one.shape != two.shape or not torch.allclose(one, two)

    order = differ("dog bites man", "man bites dog")
    count = differ("very very good", "very good")
    return {(0, 0): "neither", (0, 1): "count", (1, 0): "order", (1, 1): "both"}[order, count]


def notices_ifs(summary):
    if summary in "be":
        return "neither"
    return "count" if summary == "a" else "both" if summary == "c" else "order"


def notices_list(summary):
    return ["Count", "NEITHER", "both ", "order", " neither"]["abcde".index(summary)]


def look_up_compared(ids, table):
    one_hot = ids[..., None] == torch.arange(len(table), device=ids.device)
    return one_hot.to(table) @ table


def look_up_indexed(ids, table):
    return table[ids]


def look_up_pytorch(ids, table):
    return F.embedding(ids, table)


def look_up_identity(ids, table):
    eye = torch.eye(table.size(0), dtype=table.dtype, device=table.device)
    return torch.einsum("...n,nd->...d", eye[ids], table)


def look_up_loop(ids, table):
    rows = torch.stack([table[i] for i in ids.flatten().tolist()])
    return rows.view(*ids.shape, -1)


def cosines_pytorch(words, table):
    return F.cosine_similarity(words[:, None], table[None], dim=-1)


def cosines_normalized(words, table):
    return F.normalize(words, dim=1) @ F.normalize(table, dim=1).T


def cosines_divided(words, table):
    lengths = words.norm(dim=1)[:, None] * table.norm(dim=1)[None]
    return torch.einsum("ld,nd->ln", words, table) / lengths


def cosines_loop(words, table):
    rows = [[a.dot(b) / (a.dot(a) * b.dot(b)).sqrt() for b in table] for a in words]
    return torch.stack([torch.stack(row) for row in rows])


def merge_step_chapter(corpus):
    def merge(pieces, pair):
        out = []
        for piece in pieces:
            if out and (out[-1], piece) == pair:
                out[-1] += piece
            else:
                out.append(piece)
        return out

    pairs = Counter(pair for word in corpus for pair in itertools.pairwise(word))
    (best, _), *_ = pairs.most_common(1)
    return [merge(word, best) for word in corpus]


def merge_step_index(corpus):
    counts = {}
    for word in corpus:
        for i in range(len(word) - 1):
            counts[word[i], word[i + 1]] = counts.get((word[i], word[i + 1]), 0) + 1
    left, right = max(counts, key=counts.get)
    made = []
    for word in corpus:
        word, i = list(word), 0
        while i < len(word) - 1:
            if word[i] == left and word[i + 1] == right:
                word[i : i + 2] = [left + right]
            i += 1
        made.append(word)
    return made


def merge_step_recursive(corpus):
    seen = [pair for word in corpus for pair in itertools.pairwise(word)]
    best = max(seen, key=seen.count)

    def merged(word):
        if len(word) < 2:
            return list(word)
        if (word[0], word[1]) == best:
            return [word[0] + word[1], *merged(word[2:])]
        return [word[0], *merged(word[1:])]

    return tuple(merged(word) for word in corpus)


RIGHT = {
    "02.encode": (encode_library, encode_loop, encode_smaller),
    "02.gradient": (gradient_measured, gradient_ifs, gradient_list),
    "02.order": (notices_measured, notices_ifs, notices_list),
    "02.lookup": (
        look_up_compared,
        look_up_indexed,
        look_up_pytorch,
        look_up_identity,
        look_up_loop,
    ),
    "02.cosines": (cosines_pytorch, cosines_normalized, cosines_divided, cosines_loop),
    "02.merge": (merge_step_chapter, merge_step_index, merge_step_recursive),
}

# A mutant that computes the same is no wrong answer: what it says instead, and why it is right.
EQUIVALENT = {
    "02.cosines": {
        "def cosines(words: Tensor, table: Tensor) -> Tensor:\n"
        "    words = words / words.norm(dim=+1, keepdim=True)\n"
        "    table = table / table.norm(dim=-1, keepdim=True)\n"
        "    return words @ table.mT": "of two axes, 1 is the last",
        "def cosines(words: Tensor, table: Tensor) -> Tensor:\n"
        "    words = words / words.norm(dim=-1, keepdim=True)\n"
        "    table = table / table.norm(dim=+1, keepdim=True)\n"
        "    return words @ table.mT": "of two axes, 1 is the last",
    },
}
