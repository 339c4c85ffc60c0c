"""Wrong answers to 12.repair, each with words of what the reader is told."""

import torch

from attnbook.corpus.translation import PAD
from attnbook.models.sampling import keep_top_p


def cut(logits, temperature, p):
    words = logits.clone()
    words[:, PAD] = -torch.inf
    return keep_top_p(words / temperature, p)


def replaced(rows, done):
    ended = torch.zeros_like(rows)
    ended[:, PAD] = 1
    return torch.where(done[:, None], ended, rows)


def log_probabilities(logits, done, temperature, p):
    return replaced(cut(logits, temperature, p).log_softmax(-1), done)


def logarithms_of_all(logits, done, temperature, p):
    return replaced(cut(logits, temperature, p).softmax(-1), done).log()


def no_softmax(logits, done, temperature, p):
    return replaced(cut(logits, temperature, p), done)


WRONG = {
    log_probabilities: "These are logarithms of probabilities.",
    logarithms_of_all: "These are logarithms of probabilities.",
    no_softmax: "These are logits.",
}
