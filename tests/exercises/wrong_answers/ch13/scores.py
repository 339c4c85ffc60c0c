"""Wrong answers to 13.scores, each with words of what the reader is told."""

import torch


def previous_token(weights, ids):
    rows = [i for i, letter in enumerate(ids) if letter in ids[:i]]
    return torch.stack([weights[..., i, i - 1] for i in rows]).mean(0)


def fixed_distance(weights, ids):
    return weights.diagonal(-(len(ids) // 2 - 1), -2, -1).mean(-1)


def position_before(weights, ids):
    pairs = [(i, j - 1) for i in range(len(ids)) for j in range(1, i) if ids[i] == ids[j]]
    return torch.stack([weights[..., i, j] for i, j in pairs]).mean(0)


def largest(weights, ids):
    due = (ids[:, None] == ids).tril(-1).roll(1, -1)
    return weights[..., due].max(-1).values


def itself(weights, ids):
    due = torch.zeros(len(ids), len(ids), dtype=torch.bool, device=ids.device)
    due[:, 1:] = (ids[:, None] == ids).tril()[:, :-1]
    return weights[..., due].mean(-1)


def both_directions(weights, ids):
    n = len(ids)
    pairs = [(i, j + 1) for i in range(n) for j in range(n - 1) if ids[i] == ids[j] and i != j]
    rows, columns = zip(*pairs, strict=True)
    return weights[..., list(rows), list(columns)].mean(-1)


def next_query(weights, ids):
    same = (ids[:, None] == ids).tril(-1)
    return weights[..., 1:, 1:][..., same[:-1, :-1]].mean(-1)


def without_the_last_position(weights, ids):
    due = (ids[:, None] == ids).tril(-1).roll(1, -1)
    return weights[..., :-1, :][..., due[:-1]].mean(-1)


WRONG = {
    previous_token: "That is the previous-token score",
    fixed_distance: "You took the weight at a fixed distance",
    position_before: "You took the weight on j − 1",
    largest: "You took the largest of the weights.",
    itself: "You also compared each letter with itself.",
    both_directions: "You also counted later positions of the letter.",
    next_query: "You took the query at i + 1.",
    without_the_last_position: "You left out the last position.",
}
