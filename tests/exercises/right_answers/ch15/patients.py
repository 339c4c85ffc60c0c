"""More right answers to 15.patients."""

import torch


def examined(layer):
    """One sentence of the batch is changed at a time, in float32."""
    x = torch.rand(3, 20, 8)

    def same(a, b):
        return bool(torch.equal(a, b))

    before = layer(x)
    if not same(layer(x), before):
        return "random"
    for b in range(3):
        other = x.clone()
        other[b] = torch.rand(20, 8)
        rest = [i for i in range(3) if i != b]
        if not same(layer(other)[rest], before[rest]):
            return "sentences"
    leak = blind = False
    for j in range(20):
        other = x.clone()
        other[:, j] = torch.rand(8)
        moved = (layer(other) != before).any(-1).any(0)
        leak |= bool(moved[:j].any())
        blind |= not bool(moved[j:].all())
    if leak or blind:
        return "leak" if leak else "blind"
    keep = torch.ones(3, 20, dtype=torch.bool)
    keep[:, :5] = False
    other = torch.cat((torch.rand(3, 5, 8), x[:, 5:]), dim=1)
    if not same(layer(other, keep)[:, 5:], layer(x, keep)[:, 5:]):
        return "padding"
    last = layer(x[:, [4, 0, 1, 2, 3, *range(5, 20)]])[:, -1]
    return "order" if torch.allclose(last, before[:, -1], atol=1e-6) else "healthy"


def examined_by_a_table(layer):
    torch.manual_seed(3)
    x = torch.randn(2, 16, 8, dtype=torch.float64)
    keep = torch.arange(16).expand(2, 16) > 3

    def change(where, *mask, rows=slice(None)):
        other = x.clone()
        other[where] *= -2
        return ((layer(other, *mask) - layer(x, *mask)).abs() > 1e-10)[rows].any(-1)

    steps = [change((0, j), rows=0) for j in range(16)]
    moves = torch.stack(steps, dim=1)
    swapped = layer(x.roll(1, 1)[:, [1, 0, *range(2, 16)]])
    found = {
        "random": bool((layer(x) != layer(x)).any()),
        "sentences": bool(change((1,), rows=0).any()),
        "leak": bool(moves.triu(1).any()),
        "blind": bool((~moves).tril().any()),
        "padding": bool(change((slice(None), slice(0, 4)), keep)[:, 4:].any()),
    }
    again = torch.cat((x[:, 2:3], x[:, :2], x[:, 3:]), dim=1)
    same = (layer(again)[:, -1] - layer(x)[:, -1]).abs().max() < 1e-9
    found["order"] = bool(same) and swapped is not None
    return next((name for name, is_true in found.items() if is_true), "healthy")


def examined_by_gradients_of_differences(layer):
    x = torch.linspace(-1, 1, 2 * 14 * 8, dtype=torch.float64).sin().view(2, 14, 8) * 3

    def far(a, b):
        return float((a - b).abs().max()) > 1e-9

    if far(layer(x), layer(x)):
        return "random"
    alone = layer(x[:1]), layer(torch.cat((x[:1], 5 - x[1:])))[:1]
    if far(*alone) or far(alone[0], layer(x)[:1]):
        return "sentences"
    verdict = "healthy"
    for j in reversed(range(14)):
        other = x.clone()
        other[:, j] += 0.7
        if far(layer(other)[:, :j] if j else x, layer(x)[:, :j] if j else x):
            return "leak"
        if not all(far(layer(other)[:, i], layer(x)[:, i]) for i in range(j, 14)):
            verdict = "blind"
    if verdict == "blind":
        return verdict
    junk = x.clone()
    junk[:, :2] = 9.0
    keep = torch.ones(2, 14, dtype=torch.bool)
    keep[:, :2] = False
    if far(layer(junk, keep)[:, 2:], layer(x, keep)[:, 2:]):
        return "padding"
    exchanged = x[:, [0, 2, 1, *range(3, 14)]]
    return "healthy" if far(layer(exchanged)[:, -1], layer(x)[:, -1]) else "order"


RIGHT = (examined, examined_by_a_table, examined_by_gradients_of_differences)
