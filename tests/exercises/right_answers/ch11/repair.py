"""Right answers to chapter 11's exercises, and mutated reference solutions that are still right."""

import torch
import torch.nn.functional as F

from attnbook import alibi_bias, apply_rotary, scaled_dot_product_attention, sink_mask
from attnbook.exercises.chapters.ch11.repair import grouped, my_alibi, next_output
from tests.support.mutants import changed


def kept_from_the_mask(length, window, n_sinks):
    return sink_mask(length, window, n_sinks)[-1].nonzero().flatten().tolist()


def kept_sorted(length, window, n_sinks):
    words = set(range(length))
    return sorted({*range(n_sinks)} & words | {*range(length - window, length)} & words)


def kept_as_a_tensor(length, window, n_sinks):
    return sink_mask(length, window, n_sinks)[-1].nonzero().flatten()


def bytes_by_loops(n_layers, d_model, n_heads, n_kv_heads, length, n_bytes):
    total = 0
    for _ in range(n_layers):
        for _ in ("keys", "values"):
            total += length * n_kv_heads * (d_model // n_heads) * n_bytes
    return total


def bytes_of_a_share(n_layers, d_model, n_heads, n_kv_heads, length, n_bytes):
    return 2 * n_layers * length * d_model * n_bytes * n_kv_heads // n_heads


def alibi_from_the_library(n_heads, lq, lk):
    return alibi_bias(n_heads, lq, lk)


def alibi_last_rows(n_heads, lq, lk):
    place = torch.arange(float(lk))
    slopes = torch.tensor([0.5 ** (8 * (h + 1) / n_heads) for h in range(n_heads)])
    whole = torch.einsum("h,ij->hij", slopes, -(place - place[:, None]).abs())
    return whole[:, lk - lq :]


def grouped_by_index(query, key, value):
    group = torch.arange(query.size(-3)) // (query.size(-3) // key.size(-3))
    return scaled_dot_product_attention(query, key[..., group, :, :], value[..., group, :, :])[0]


def grouped_one_by_one(query, key, value):
    shared = query.size(-3) // key.size(-3)
    outputs = []
    for h in range(query.size(-3)):
        k, v = key[..., h // shared, :, :], value[..., h // shared, :, :]
        scores = query[..., h, :, :] @ k.mT * query.size(-1) ** -0.5
        outputs.append(scores.softmax(-1) @ v)
    return torch.stack(outputs, dim=-3)


def grouped_expanded(query, key, value):
    def shared(x):
        n = query.size(-3) // x.size(-3)
        return torch.stack([x] * n, dim=-3).flatten(-4, -3)

    return F.scaled_dot_product_attention(query, shared(key), shared(value))


def step_whole_mask(x, keys, values, w_q, w_k, w_v):
    n = keys.size(-2) + x.size(-2)
    place = torch.arange(n, device=x.device)[keys.size(-2) :]
    causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()[keys.size(-2) :]
    query, key = (apply_rotary(x @ w, place) for w in (w_q, w_k))
    k, v = torch.cat((keys, key), -2), torch.cat((values, x @ w_v), -2)
    return F.scaled_dot_product_attention(query, k, v, attn_mask=causal)


def step_with_two_masks(x, keys, values, w_q, w_k, w_v):
    """Handle an empty cache separately: the answer then does not depend on `keys`."""
    old, new = keys.size(-2), x.size(-2)
    here = torch.arange(old, old + new, device=x.device)
    query, key, value = apply_rotary(x @ w_q, here), apply_rotary(x @ w_k, here), x @ w_v
    if old == 0:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    mask = torch.ones(new, old + new, dtype=torch.bool, device=x.device).tril(old)
    key, value = torch.cat((keys, key), -2), torch.cat((values, value), -2)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def step_word_by_word(x, keys, values, w_q, w_k, w_v):
    outputs = []
    for i in range(x.size(-2)):
        row = x[..., i : i + 1, :]
        here = torch.tensor([keys.size(-2)], device=x.device)
        keys = torch.cat((keys, apply_rotary(row @ w_k, here)), dim=-2)
        values = torch.cat((values, row @ w_v), dim=-2)
        query = apply_rotary(row @ w_q, here)
        outputs.append(scaled_dot_product_attention(query, keys, values)[0])
    return torch.cat(outputs, dim=-2)


def pairs_stacked(weight, n_heads):
    first, second = weight.view(n_heads, -1, weight.size(-1)).chunk(2, dim=1)
    return torch.stack((first, second), dim=2).reshape(weight.shape)


def pairs_by_index(weight, n_heads):
    width = len(weight) // n_heads
    k = torch.arange(width)
    order = k // 2 + k % 2 * (width // 2)
    rows = torch.arange(n_heads)[:, None] * width + order
    return weight[rows.flatten()]


def pairs_with_a_matrix(weight, n_heads):
    width = len(weight) // n_heads
    turn = torch.zeros(width, width, dtype=weight.dtype, device=weight.device)
    for k in range(width // 2):
        turn[2 * k, k] = turn[2 * k + 1, k + width // 2] = 1
    return torch.block_diag(*[turn] * n_heads) @ weight


def told_by_moving(attend):
    """Compare the same two distances, seen from an earlier and from a later query."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 8, generator=generator, dtype=torch.float64).repeat(250, 1)
    weights = attend(x)
    if (weights[-1] == 0).any():
        return "window"
    logs = weights.log()
    if (logs[-1] - logs[-1, 0]).abs().max() < 1e-6:
        return "nothing"
    moved = (logs[240, 239] - logs[240, 200]) - (logs[200, 199] - logs[200, 160])
    if abs(moved) > 1e-6:
        return "added"
    first, second = logs[-1, 1:] - logs[-1, :-1], attend(2 * x).log()[-1].diff()
    return "alibi" if (first - second).abs().max() < 1e-6 else "rotary"


def told_by_silence(attend):
    torch.manual_seed(1)
    word, zeros = attend(torch.randn(8).expand(256, 8))[-1], attend(torch.zeros(256, 8))[-1]
    if word.min() == 0:
        return "window"
    same = [bool((row.max() - row.min()) / row.max() < 1e-3) for row in (word, zeros)]
    if same[1]:
        return "nothing" if same[0] else "rotary"
    falls = zeros.log().diff()
    return "alibi" if falls.max() - falls.min() < 1e-5 else "added"


def told_by_loudness(attend):
    """Use the same word at all positions, multiplied by 0, by 1 and by 3."""
    word = torch.arange(8.0).sin()
    steps = [attend(loud * word.expand(150, 8)).log()[-1].diff() for loud in (0, 1, 3)]
    if not all(step.isfinite().all() for step in steps):
        return "window"
    silent, plain, _ = (bool(step.abs().max() < 1e-6) for step in steps)
    if silent:
        return "nothing" if plain else "rotary"
    return "alibi" if torch.allclose(steps[0], steps[2], atol=1e-6) else "added"


RIGHT = {
    "11.kept": (kept_from_the_mask, kept_sorted, kept_as_a_tensor),
    "11.bytes": (bytes_by_loops, bytes_of_a_share),
    "11.slopes": (alibi_from_the_library, alibi_last_rows),
    "11.share": (grouped_by_index, grouped_one_by_one, grouped_expanded),
    "11.repair": (step_whole_mask, step_with_two_masks, step_word_by_word),
    "11.pairs": (pairs_stacked, pairs_by_index, pairs_with_a_matrix),
    "11.experiment": (told_by_moving, told_by_silence, told_by_loudness),
}
OTHERS = ("keys", "values", "w_q", "w_k", "w_v")
TURNS = "old + new, device=x.device"
MASKS = "dtype=torch.bool, device=x.device"
EQUIVALENT = {
    "11.slopes": {
        changed(
            my_alibi, "keys[lk - lq:, None] - keys", "keys - keys[lk - lq:, None]"
        ): "a distance"
    },
    "11.share": {
        changed(grouped, "// key", "// value"): "as many heads of values as of keys",
        changed(grouped, "math.sqrt(query", "math.sqrt(key"): "queries as wide as keys",
    },
    "11.repair": {
        changed(next_output, "(keys.size(-2), x", "(values.size(-2), x"): "as many values as keys",
        changed(next_output, ", device=x.device)\n", ")\n"): "apply_rotary moves its angles",
        **{
            changed(next_output, where, where.replace("x.device", f"{other}.device")): "one device"
            for where in (TURNS, MASKS)
            for other in OTHERS
        },
    },
}
