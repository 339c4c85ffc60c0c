"""More right answers to 03.experiment."""

import math

import numpy as np
import torch


def divides_by_two_widths(head):
    """Use four times as many keys, then twice the width, and see what changes."""

    def divisor(d_k, n_keys):
        query, key = torch.zeros(1, d_k), torch.zeros(n_keys, d_k)
        query[0, 0], key[1, 0] = 3.0, 2.0
        value = torch.arange(float(n_keys))[:, None] == 1
        weight = head(query, key, value.float()).item()
        return 6 / math.log(weight / ((1 - weight) / (n_keys - 1)))

    if divisor(8, 16) > 1.1 * divisor(8, 4):
        return "root of Lk"
    growth = divisor(16, 4) / divisor(8, 4)
    return "nothing" if growth < 1.1 else "Dk" if growth > 1.9 else "root of Dk"


def divides_by_numpy(head):
    size = torch.ones(1, 7) / 7**0.5  # its dot product with itself is 1
    keys = torch.cat((size, torch.zeros(4, 7)))
    weights = head(size, keys, torch.eye(5)).numpy()[0]
    divisor = 1 / np.log(weights[0] / weights[1:].mean())
    named = {1: "nothing", 7: "Dk", 7**0.5: "root of Dk", 5**0.5: "root of Lk"}
    return named[min(named, key=lambda d: abs(d - divisor))].upper()


RIGHT = (divides_by_two_widths, divides_by_numpy)
