"""More right answers to 10.experiment."""

import torch


def what_is_by_rank(attend):
    """The rank of the matrix of all products φ(q) · φ(k) is at most the width of φ."""
    torch.manual_seed(0)
    query, key = torch.randn(2, 60, 3, dtype=torch.float64)
    weights = attend(query, key, torch.eye(60, dtype=torch.float64))
    seen = weights > 0
    if not seen[50, :20].all():
        return "global" if seen[50, :20].any() else "window"
    return "linear" if torch.linalg.matrix_rank(weights[40:, :20]) <= 3 else "softmax"


def what_is_one_value(attend):
    """Mark one value at a time, and observe the last output."""
    query, key = torch.ones(64, 2), torch.ones(64, 2)

    def noticed(word, loud=1.0):
        value, marked = torch.zeros(64, 1), key.clone()
        value[word], marked[word] = 1.0, 4.0
        return attend(loud * query, marked, value)[-1].item()

    if noticed(15) > 0:
        return "softmax" if noticed(15, loud=100.0) > 0.9 else "linear"
    return "global" if any(noticed(word) > 0 for word in range(8)) else "window"


def what_is_by_gradients(attend):
    query, key = torch.randn(2, 64, 4)
    value = torch.zeros(64, 1, requires_grad=True)
    (weights,) = torch.autograd.grad(attend(query, key, value)[-1, 0], value)
    far = weights[:40].ne(0)
    if not far.all():
        return "global" if far.any() else "window"
    twice = torch.zeros(64, 1, requires_grad=True)
    (louder,) = torch.autograd.grad(attend(1e6 * query, key, twice)[-1, 0], twice)
    return "softmax" if louder.max() > 0.99 else "linear"


RIGHT = (what_is_by_rank, what_is_one_value, what_is_by_gradients)
