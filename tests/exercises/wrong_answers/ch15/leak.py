"""Wrong answers to 15.leak, each with words of what the reader is told."""

import torch


def stacked_as_rows(layer, x):
    columns = []
    for j in range(len(x)):
        y = x.clone()
        y[j] += 1
        columns.append((layer(y) - layer(x)).abs().amax(-1) > 1e-9)
    moved = torch.stack(columns).int()
    return moved - torch.ones_like(moved).tril()


def without_the_diagonal(layer, x):
    moves = torch.autograd.functional.jacobian(layer, x).abs().amax((1, 3)) > 1e-12
    return moves.int() - torch.ones_like(moves).int().tril(-1)


def any_row(layer, x):
    moves = torch.zeros(len(x), len(x), dtype=torch.int, device=x.device)
    for j in range(len(x)):
        y = x.clone()
        y[j] = 5
        moves[:, j] = (layer(y) != layer(x)).any()
    return moves - torch.ones_like(moves).tril()


def later_rows_too(layer, x):
    moves = torch.zeros(len(x), len(x), dtype=torch.int, device=x.device)
    for j in range(len(x)):
        y = x.clone()
        y[j:] = 5
        moves[:, j] = ((layer(y) - layer(x)).abs() > 1e-9).any(1)
    return moves - torch.ones_like(moves).tril()


WRONG = {
    stacked_as_rows: "Rows and columns of what *moved* are exchanged",
    without_the_diagonal: "what should move includes the diagonal.",
    any_row: "You asked whether *any* row moved with row j.",
    later_rows_too: "You changed row j and all rows after it.",
}
