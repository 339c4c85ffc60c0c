"""Right answers to chapter 2's exercises."""

import itertools
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from attnbook.corpus.sentence import vocabulary


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


def gradient_measured(question):
    """Measure the gradient with autograd."""
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


def notices_measured(summary):
    """Summarize pairs of sentences, and compare the two summaries of each pair."""
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


def look_up_indexed(ids, table):
    return table[ids]


def look_up_pytorch(ids, table):
    return F.embedding(ids, table)


def look_up_loop(ids, table):
    rows = torch.stack([table[i] for i in ids.flatten().tolist()])
    return rows.view(*ids.shape, -1)


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


def notices_order_by_chance(summary):
    """Shuffle a long sentence many times."""
    x = torch.randn(9, 4, dtype=torch.float64)
    first = summary(x)
    return any((summary(x[torch.randperm(9)]) - first).abs().max() > 1e-9 for _ in range(30))


def notices_order_by_swaps(summary):
    """Every permutation is a product of swaps: if no swap has an effect, no permutation does."""
    x = torch.rand(6, 7).double()
    pairs = itertools.combinations(range(6), 2)

    def swapped(i, j):
        order = list(range(6))
        order[i], order[j] = j, i
        return x[order]

    same = [torch.allclose(summary(swapped(i, j)), summary(x), rtol=1e-9) for i, j in pairs]
    return not all(same)


def notices_order_many_sentences(summary):
    for _ in range(20):
        x, order = torch.randn(6, 3), torch.randperm(6)
        if not np.allclose(summary(x), summary(x[order]), rtol=1e-4, atol=1e-5):
            return np.bool_(True)
    return np.bool_(False)


RIGHT = {
    "02.encode": (encode_library, encode_loop),
    "02.gradient": (gradient_measured,),
    "02.order": (notices_measured,),
    "02.lookup": (look_up_indexed, look_up_pytorch, look_up_loop),
    "02.merge": (merge_step_chapter, merge_step_recursive),
    "02.experiment": (
        notices_order_by_chance,
        notices_order_by_swaps,
        notices_order_many_sentences,
    ),
}
