"""More right answers to 09.shift."""

import torch
import torch.nn.functional as F


def labels_where(target):
    later = F.pad(target, (0, 1))[:, 1:]
    return torch.where((target > 0) & (later == 0), 2, later)


def labels_loop(target):
    rows = []
    for row in target.tolist():
        words = [i for i in row if i not in (0, 1)]
        rows.append([*words, 2] + [0] * (len(row) - len(words) - 1))
    return torch.tensor(rows, device=target.device)


def labels_by_end_first(target):
    longer = F.pad(target, (0, 1))
    first_pad = (longer == 0).long().argmax(dim=1, keepdim=True)
    return longer.scatter(1, first_pad, 2)[:, 1:]


RIGHT = (labels_where, labels_loop, labels_by_end_first)
