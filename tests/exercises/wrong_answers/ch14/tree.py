"""Wrong answers to 14.tree, each with words of what the reader is told."""

import torch


def without_children_of_word_0(parents, n_old):
    mask = torch.zeros(len(parents), n_old + len(parents), dtype=torch.bool)
    mask[:, :n_old] = True
    for word, parent in enumerate(parents):
        if parent > 0:
            mask[word] = mask[parent]
        mask[word, n_old + word] = True
    return mask


def ended_early(parents, n_old):
    mask = torch.zeros(len(parents), n_old + len(parents), dtype=torch.bool)
    mask[:, :n_old] = True
    for word in range(len(parents)):
        at = word
        while at > 0:
            mask[word, n_old + at] = True
            at = parents[at]
    return mask


def in_the_old_columns(parents, n_old):
    mask = torch.zeros(len(parents), n_old + len(parents), dtype=torch.bool)
    mask[:, :n_old] = True
    for word in range(len(parents)):
        at = word
        while at >= 0:
            mask[word, at] = True
            at = parents[at]
    return mask


WRONG = {
    without_children_of_word_0: "Word 0 can be a parent, but in your mask it is nobody's.",
    ended_early: "Word 0 should attend to itself, as all others do.",
    in_the_old_columns: "The column of new word i is n_old + i.",
}
