"""Right answers to chapter 7's exercises, and mutated reference solutions that are still right."""

import math

import torch

from attnbook import scaled_dot_product_attention
from attnbook.exercises.chapters.ch07.encode import encode
from attnbook.positions.absolute import sinusoidal_encoding
from tests.support.mutants import changed


def after_shuffle_computed(situation):
    generator = torch.Generator().manual_seed(0)
    x, order = torch.randn(6, 8, generator=generator), torch.tensor([3, 0, 4, 1, 2, 5])
    p = sinusoidal_encoding(6, 8)

    def attend(query, key=None, value=None):
        key = query if key is None else key
        return scaled_dot_product_attention(query, key, key if value is None else value)[0]

    before, after = {
        "bare": lambda: (attend(x), attend(x[order])),
        "positions": lambda: (attend(x + p), attend(x[order] + p)),
        "baggage": lambda: (attend(x + p), attend((x + p)[order])),
        "context": lambda: (attend(p, x), attend(p, x[order])),
        "torn": lambda: (attend(p, x, x), attend(p, x[order], x)),
    }[situation]()
    if torch.allclose(before, after, atol=1e-5):
        return "same"
    return "reordered" if torch.allclose(before[order], after, atol=1e-5) else "other"


def encode_library(length, d_model):
    return sinusoidal_encoding(length, d_model)


def encode_slices(length, d_model):
    p = torch.zeros(length, d_model)
    position = torch.arange(length).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    p[:, 0::2] = torch.sin(position * div_term)
    p[:, 1::2] = torch.cos(position * div_term)
    return p


def encode_phase(length, d_model):
    column = torch.arange(d_model)
    frequencies = 10000.0 ** (-2 * (column // 2) / d_model)
    return torch.sin(
        torch.outer(torch.arange(length).float(), frequencies) + column % 2 * math.pi / 2
    )


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


def placed_scores_loop(x, table, w_q, w_k):
    scores = []
    for sentence in x:
        rows = torch.stack([word + table[t] for t, word in enumerate(sentence)])
        scores.append((rows @ w_q) @ (rows @ w_k).T / w_q.size(1) ** 0.5)
    return torch.stack(scores)


def placed_scores_einsum(x, table, w_q, w_k):
    rows = x + table.narrow(0, 0, x.size(1))
    together = w_q @ w_k.T / math.sqrt(w_q.size(-1))
    return torch.einsum("bid,de,bje->bij", rows, together, rows)


def verdict_questions(experiment):
    needs_order, longest_trained, read_at_once = {
        "A": (False, 12, 48),
        "B": (True, 12, 48),
        "C": (True, 48, 48),
        "D": (True, 12, 12),
        "E": (True, 12, 12),
    }[experiment]
    if not needs_order:
        return "order"
    if read_at_once > longest_trained:
        return "fair"
    return "seen" if read_at_once == 48 else "length"


def move_matrix(p, angles):
    blocks = [torch.stack((a.cos(), -a.sin(), a.sin(), a.cos())).view(2, 2) for a in angles]
    return p @ torch.block_diag(*blocks)


def move_complex(p, angles):
    hands = torch.view_as_complex(p.unflatten(-1, (-1, 2)).flip(-1).contiguous())
    turned = hands * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flip(-1).flatten(-2)


def move_swapped(p, angles):
    swapped = torch.stack((p[..., 1::2], -p[..., ::2]), dim=-1).flatten(-2)
    wide = angles.repeat_interleave(2)
    return p * wide.cos() + swapped * wide.sin()


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


RIGHT = {
    "07.order": (after_shuffle_computed,),
    "07.encode": (encode_library, encode_slices, encode_phase),
    "07.distance": (table_rows_loop, table_rows_minimum),
    "07.repair": (placed_scores_loop, placed_scores_einsum),
    "07.longer": (verdict_questions,),
    "07.experiment": (knows_by_moving, knows_by_diagonals, knows_by_two_words),
    "07.move": (move_matrix, move_complex, move_swapped),
}

# Mutants that are still right: the changed code of each, and why it is right.
EQUIVALENT = {
    "07.encode": {changed(encode, "flatten(1)", "flatten(-2)"): "axis 1 of three, from the end"},
}
