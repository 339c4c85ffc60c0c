"""Wrong answers to 12.perplexity, each with words of what the reader is told."""

import torch
import torch.nn.functional as F


def counted(tokens):
    """Mark the positions whose next token belongs to a target."""
    return ((tokens == 1).cumsum(1)[:, :-1] > 0) & (tokens[:, 1:] != 0)


def shifted_back(logits, tokens):
    labels = tokens[:, :-1]
    counts = ((labels == 1).cumsum(1) > 0) & (labels != 1) & (labels != 0)
    return F.cross_entropy(logits[:, 1:][counts], labels[counts]).exp().item()


def softmax_twice(logits, tokens):
    counts = counted(tokens)
    rows = logits[:, :-1].softmax(-1)[counts]
    return F.cross_entropy(rows, tokens[:, 1:][counts]).exp().item()


def of_the_most_probable(logits, tokens):
    shares = logits[:, :-1].softmax(-1)[counted(tokens)].max(-1).values
    return shares.log().mean().neg().exp().item()


def entropy(logits, tokens):
    rows = logits[:, :-1][counted(tokens)]
    return torch.distributions.Categorical(logits=rows).entropy().mean().exp().item()


def with_an_axis(logits, tokens):
    counts = counted(tokens)
    return F.cross_entropy(logits[:, :-1][counts], tokens[:, 1:][counts]).exp().view(1)


def one_for_each_row(logits, tokens):
    counts = counted(tokens)
    rows, targets = logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()
    nats = F.cross_entropy(rows, targets, reduction="none").view(counts.shape)
    return ((nats * counts).sum(-1) / counts.sum(-1)).exp()


WRONG = {
    shifted_back: "You compared the logits at position i + 1 with token i.",
    softmax_twice: "You took the softmax twice.",
    of_the_most_probable: "You took the probability of the most probable token.",
    entropy: "That is the entropy of the model's own distribution",
    with_an_axis: "returned a Tensor of shape (1,). It should return one number.",
    one_for_each_row: "of shape (1,). It should return one number.",
}
