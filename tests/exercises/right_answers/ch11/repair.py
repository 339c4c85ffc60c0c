"""More right answers to 11.repair, and mutants that are still right, with the reasons."""

import torch
import torch.nn.functional as F

from attnbook import apply_rotary, scaled_dot_product_attention
from attnbook.exercises.chapters.ch11.repair import next_output
from tests.support.mutants import changed


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


OTHERS = ("keys", "values", "w_q", "w_k", "w_v")
TURNS = "old + new, device=x.device"
MASKS = "dtype=torch.bool, device=x.device"


RIGHT = (step_whole_mask, step_with_two_masks, step_word_by_word)

EQUIVALENT = {
    changed(next_output, "(keys.size(-2), x", "(values.size(-2), x"): "as many values as keys",
    changed(next_output, ", device=x.device)\n", ")\n"): "apply_rotary moves its angles",
    **{
        changed(next_output, where, where.replace("x.device", f"{other}.device")): "one device"
        for where in (TURNS, MASKS)
        for other in OTHERS
    },
}
