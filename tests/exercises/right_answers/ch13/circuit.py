"""More right answers to 13.circuit, and mutants that are still right, with the reasons."""

import torch

from attnbook.exercises.chapters.ch13.circuit import backwards
from tests.support.mutants import changed


def backwards_by_loops(tokens, block, run):
    size = 3 * tokens + 2 * block
    qk, ov = torch.zeros(size, size), torch.zeros(size, size)
    for letter in range(tokens):
        qk[letter, letter] = 100
        ov[tokens + letter, 2 * tokens + letter] = 1
    for i in range(block, 2 * block):
        for j in range(block):
            qk[3 * tokens + i, 3 * tokens + j] = 100
    return run(qk, ov)


def backwards_not_in_the_second_half(tokens, block, run):
    columns = torch.arange(3 * tokens + 2 * block)
    letter, previous, out, position = columns.split([tokens] * 3 + [2 * block])
    qk, ov = torch.zeros(2, len(columns), len(columns), dtype=torch.float64)
    qk[letter, letter] = 20
    qk[position[:, None], position[block:]] = -50
    ov[previous, out] = 1
    return run(qk, ov)


def backwards_in_numpy(tokens, block, run):
    columns = torch.arange(3 * tokens + 2 * block).numpy()
    qk, ov = torch.zeros(2, len(columns), len(columns)).numpy()
    letter, previous = columns[:tokens], columns[tokens : 2 * tokens]
    qk[letter, letter] = 100
    qk[columns[3 * tokens :], columns[3 * tokens :]] = -100
    ov[previous, previous + tokens] = 1
    return run(qk, ov)


RIGHT = (backwards_by_loops, backwards_not_in_the_second_half, backwards_in_numpy)

EQUIVALENT = {
    changed(backwards, where + " = 100", where + " = 101"): "any large number"
    for where in ("[letter, letter]", "[position[block:, None], position[:block]]")
}
