"""More right answers to 01.temperature."""

import torch


def temper_multiplier(scores, temperature):
    return torch.softmax((1 / temperature) * scores, -1)


def temper_powers_of_weights(scores, temperature):
    return (scores.log_softmax(-1) / temperature).softmax(-1)


def temper_loop(scores, temperature):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        powers = ((row - row.max()) / temperature).exp()
        rows.append(powers / sum(powers))
    return torch.stack(rows).reshape(scores.shape)


RIGHT = (temper_multiplier, temper_powers_of_weights, temper_loop)
