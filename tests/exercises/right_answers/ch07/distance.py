"""More right answers to 07.distance."""

import torch


def table_rows_loop(length, max_distance):
    rows = torch.zeros(length, length, dtype=torch.long)
    for i in range(length):
        for j in range(length):
            rows[i, j] = min(max(j - i, -max_distance), max_distance) + max_distance
    return rows


def table_rows_minimum(length, max_distance):
    far = torch.tensor(max_distance)
    distance = torch.arange(length)[None] - torch.arange(length)[:, None]
    return torch.maximum(torch.minimum(distance, far), -far) + far


RIGHT = (table_rows_loop, table_rows_minimum)
