"""More right answers to 04.jobs."""

import torch


def which_head_computed(question):
    maps = torch.tensor(
        [
            [[5, 5, 10, 80], [25, 25, 30, 20], [80, 5, 5, 10], [90, 2, 5, 3]],
            [[5, 5, 85, 5], [10, 10, 70, 10], [90, 3, 4, 3], [10, 30, 30, 30]],
        ]
    )
    row, column = {"a": (0, 2), "b": (0, 3), "c": (2, 0), "d": (3, 0)}[question]
    heads = [h for h in (0, 1) if maps[h, row, column] > 50 and not (question == "d" and h == 0)]
    return "both" if len(heads) == 2 else str(heads[0]) if heads else "neither"


RIGHT = (which_head_computed,)
