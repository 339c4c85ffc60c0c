"""More right answers to 07.experiment."""

import torch


def knows_by_moving(scores):
    """Put five rows before a sentence: if nothing changes, only distances can matter."""
    x, before = torch.randn(9, 8), torch.randn(5, 8)
    alone, later = scores(x), scores(torch.cat((before, x)))[5:, 5:]
    if not torch.allclose(alone, later, atol=1e-6):
        return "position"
    order = torch.randperm(9)
    shuffled = scores(x[order])
    return "nothing" if torch.allclose(shuffled, alone[order][:, order], atol=1e-6) else "distance"


def knows_by_diagonals(scores):
    s = scores(torch.rand(1, 8).repeat(20, 1))
    spread = max((s.diagonal(d) - s.diagonal(d)[0]).abs().max().item() for d in range(-19, 20))
    if spread > 1e-6:
        return "position"
    return "distance" if (s - s[3, 3]).abs().max() > 1e-6 else "nothing"


def knows_by_two_words(scores):
    """Put two words in a row of dots: move the pair, then pull it apart."""
    dot, first, second = torch.randn(3, 8, dtype=torch.float64)

    def score(i, j):
        rows = dot.repeat(30, 1)
        rows[i], rows[j] = first, second
        return scores(rows)[i, j]

    def differ(one, other):
        return abs(float(one - other)) > 1e-9

    if any(differ(score(0, d), score(3, 3 + d)) for d in range(1, 9)):
        return "position"
    apart = [score(9, 9 + d) for d in (-6, -2, -1, 1, 2, 6)]
    return "distance" if any(differ(apart[0], other) for other in apart) else "nothing"


RIGHT = (knows_by_moving, knows_by_diagonals, knows_by_two_words)
