"""More right answers to 02.lookup."""

import torch
import torch.nn.functional as F


def look_up_indexed(ids, table):
    return table[ids]


def look_up_pytorch(ids, table):
    return F.embedding(ids, table)


def look_up_loop(ids, table):
    rows = torch.stack([table[i] for i in ids.flatten().tolist()])
    return rows.view(*ids.shape, -1)


RIGHT = (look_up_indexed, look_up_pytorch, look_up_loop)
