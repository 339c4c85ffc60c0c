"""Right answers to chapter 5's exercises, and mutated reference solutions that are still right."""

import math

from attnbook import scaled_dot_product_attention


def roles_ifs(situation):
    if situation == "encode":
        return ("source", "source")
    if situation == "translate":
        return ("target", "source")
    if situation == "library":
        return ("question", "cards")
    return ("picture", "prompt") if situation == "paint" else ("caption", "picture")


def roles_list(situation):
    asks = {"translate": "target", "paint": "picture", "library": "question", "encode": "source"}
    answers = {"translate": "source", "paint": "prompt", "library": "cards", "encode": "source"}
    return [asks.get(situation, "caption"), answers.get(situation, "picture")]


def roles_shouting(situation):
    return tuple(word.upper() for word in roles_ifs(situation))


def cross_library(x, context, w_q, w_k, w_v):
    return scaled_dot_product_attention(x @ w_q, context @ w_k, context @ w_v)[0]


def cross_folded(x, context, w_q, w_k, w_v):
    scores = x @ (w_q @ w_k.mT) @ context.mT / math.sqrt(w_k.size(1))
    return scores.softmax(-1) @ context @ w_v


def align_sum(weights):
    return weights.sum(1).max(-1).indices


def align_sorted(weights):
    return weights.mean(1).sort(-1, descending=True).indices[..., 0]


def cost_factored(Lq, Lk, D, Dc, Dk, Dv):
    return Lq * D * Dk + Lk * (Dc + Lq) * (Dk + Dv)


def cost_counted(Lq, Lk, D, Dc, Dk, Dv):
    count = 0
    for _ in range(Lq):
        count += D * Dk + Lk * Dk + Lk * Dv
    for _ in range(Lk):
        count += Dc * (Dk + Dv)
    return count


def maps_view(weights, height, width):
    return weights.transpose(1, 2).reshape(weights.size(0), -1, height, width)


def maps_permute(weights, height, width):
    return weights.unflatten(1, (height, width)).permute(0, 3, 1, 2)


def control_ifs(claim):
    if claim in ("pairs", "new"):
        return "C"
    return "A" if claim in ("word", "needed") else "B"


def control_small_letters(claim):
    return "bcabca"[["task", "pairs", "word", "luck", "new", "needed"].index(claim)]


def control_shouting(claim):
    table = {"task": " B", "pairs": "C.", "word": "A", "luck": "B ", "new": "C", "needed": "a"}
    return table[claim]


RIGHT = {
    "05.roles": (roles_ifs, roles_list, roles_shouting),
    "05.cross": (cross_library, cross_folded),
    "05.align": (align_sum, align_sorted),
    "05.cost": (cost_factored, cost_counted),
    "05.maps": (maps_view, maps_permute),
    "05.experiment": (control_ifs, control_small_letters, control_shouting),
}

# Mutants that are still right: the changed code of each, and why it is right.
EQUIVALENT: dict[str, dict[str, str]] = {
    "05.maps": {
        "def maps(weights: Tensor, height: int, width: int) -> Tensor:\n"
        "    return weights.mT.unflatten(--2, (height, width))": "of three axes, 2 is the last",
    },
    "05.align": {
        "def align(weights: Tensor) -> Tensor:\n"
        "    return weights.mean(dim=1).argmax(dim=--2)": "of three axes, 2 is the last",
        "def align(weights: Tensor) -> Tensor:\n"
        "    return weights.sum(dim=1).argmax(dim=-1)": "a sum is the mean times H",
    },
}
