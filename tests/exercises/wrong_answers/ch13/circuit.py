"""Wrong answers to 13.circuit, each with words of what the reader is told."""

import torch


def as_in_the_chapter(tokens, block, run):
    columns = torch.arange(3 * tokens + 2 * block)
    letter, previous, out, position = columns.split([tokens] * 3 + [2 * block])
    qk, ov = torch.zeros(2, len(columns), len(columns))
    qk[letter, previous] = 100
    qk[position[block:, None], position[:block]] = 100
    ov[letter, out] = 1
    return run(qk, ov)


def copies_from_anywhere(tokens, block, run):
    columns = torch.arange(3 * tokens + 2 * block)
    letter, _previous, out, position = columns.split([tokens] * 3 + [2 * block])
    qk, ov = torch.zeros(2, len(columns), len(columns))
    qk[position[block:, None], position[:block]] = 100
    ov[letter, out] = 1
    return run(qk, ov)


WRONG = {
    as_in_the_chapter: "This is the head of section 13.2, made to prefer the first half.",
    copies_from_anywhere: "Two mistakes. No letters are compared",
}
