"""More right answers to 08.count."""

from torch import nn

# --- 08.count --------------------------------------------------------------------------------


def count_built(source_size, target_size, d_model, n_layers, d_ff, norm_first):
    """Count nn.Transformer's parameters; drop its final norms if post-norm; add what it lacks."""
    towers = nn.Transformer(d_model, 1, n_layers, n_layers, d_ff, batch_first=True, device="meta")
    count = sum(p.numel() for p in towers.parameters())
    if not norm_first:
        count -= 4 * d_model
    return count + source_size * d_model + target_size * (2 * d_model + 1)


def count_formula(s, t, d, n, f, first):
    return n * (12 * d**2 + 24 * d + 4 * d * f + 2 * f) + 4 * d * first + s * d + 2 * t * d + t


RIGHT = (count_built, count_formula)
