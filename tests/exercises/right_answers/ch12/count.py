"""More right answers to 12.count."""

import math


def count_by_lists(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    width = d_model // n_heads
    query = output = d_model * n_heads * width
    key = value = d_model * n_kv_heads * width
    gate = up = down = d_model * d_ff
    block = sum([query, key, value, output, gate, up, down, d_model, d_model])
    tables = [vocabulary_size * d_model] * (2 - tied)
    return sum(tables) + n_layers * block + d_model


def count_by_shapes(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    small = d_model * n_kv_heads // n_heads
    shapes = [(vocabulary_size, d_model), (d_model,)]
    if not tied:
        shapes.append((d_model, vocabulary_size))
    for _ in range(n_layers):
        shapes += [(d_model, d_model), (d_model, small), (d_model, small), (d_model, d_model)]
        shapes += [(d_model, d_ff), (d_model, d_ff), (d_ff, d_model), (d_model,), (d_model,)]
    return sum(map(math.prod, shapes))


def count_in_float(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    share = n_kv_heads / n_heads
    per_row = 2 * d_model * (1 + share) + 3 * d_ff + 2
    return round(d_model * ((2 - int(tied)) * vocabulary_size + n_layers * per_row + 1))


RIGHT = (count_by_lists, count_by_shapes, count_in_float)
