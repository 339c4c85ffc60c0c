"""More right answers to 02.order."""

import torch
import torch.nn.functional as F

from attnbook.corpus.sentence import vocabulary


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


RIGHT = (notices_measured,)
