"""Predict the shapes in multi-head attention."""

import torch
from torch import Generator

from attnbook.attention.heads import merge_heads, split_heads
from attnbook.exercises.exercise import Case, Exercise, Property
from attnbook.language import _


def shapes(what: str, B: int, L: int, D: int, H: int, Dk: int, Dv: int) -> tuple[int, ...]:
    return {
        "query": (B, H, L, Dk),
        "weights": (B, H, L, L),
        "context": (B, H, L, Dv),
        "concat": (B, L, H * Dv),
        "w_o": (H * Dv, D),
        "output": (B, L, D),
    }[what]


def shapes_computed(what: str, B: int, L: int, D: int, H: int, Dk: int, Dv: int) -> tuple[int, ...]:
    x, w_o = torch.zeros(B, L, D), torch.zeros(H * Dv, D)
    query, key, value = (split_heads(x @ torch.zeros(D, H * d), H) for d in (Dk, Dk, Dv))
    weights = query @ key.mT
    context = weights @ value
    concat = merge_heads(context)
    made = {"query": query, "weights": weights, "context": context, "concat": concat}
    return (made | {"w_o": w_o, "output": concat @ w_o})[what].shape


def shape_cases(generator: Generator) -> list[Case]:
    b, length, h, d_k, d_v = torch.randperm(6, generator=generator)[:5].add(3).tolist()
    d = (11, 13, 17, 19, 23)[
        int(torch.randint(5, (1,), generator=generator))
    ]  # not a product of the others
    sizes = [b, length, d, h, d_k, d_v]
    return [
        Case(
            (what, *sizes),
            note=_("{what} for B, L, D, H, Dk, Dv = {sizes}").format(what=what, sizes=sizes),
        )
        for what in ("query", "weights", "context", "concat", "w_o", "output")
    ]


EXERCISE = Exercise(
    title="Predict the shapes",
    level=1,
    minutes=6,
    section="4.5",
    prompt="""
A batch of B sentences with L words of width D goes through H heads, whose queries and keys are Dk
wide and whose values are Dv wide. H · Dv need not equal D. `shapes(what, B, L, D, H, Dk, Dv)`
returns the shape of one tensor as a tuple, in terms of these sizes.

- `"query"`: after the split
- `"weights"`: after the softmax
- `"context"`: weights times values, before the merge
- `"concat"`: after the merge
- `"w_o"`: as in `concat @ w_o`
- `"output"`: `concat @ w_o`
""",
    stub="""
def shapes(what, B, L, D, H, Dk, Dv):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"query": (), "weights": (), "context": ()}
    then = {"concat": (), "w_o": (), "output": ()}
    return (first | then)[what]
""",
    reference=shapes,
    cases=shape_cases,
    choices={
        ("query", lambda B, L, H, Dk: (B, L, H, Dk)): "The head axis still comes after the axis of "
        "the words.",
        ("query", lambda B, L, H, Dk: (B, L, H * Dk)): "This is the projection before the split.",
        ("weights", lambda B, L: (B, L, L)): "There is one map for each sentence *and head*.",
        (("weights", "context"), lambda B, H, L, Dk: (B, H, L, Dk)): "Only queries and keys are Dk "
        "wide.",
        ("weights", lambda B, H: (B, H, H)): "Heads do not attend to each other. Words attend to "
        "words.",
        ("context", lambda B, L, H, Dv: (B, L, H * Dv)): "This is the shape after the merge.",
        ("concat", lambda B, L, H, Dk: (B, L, H * Dk)): "The contexts are merged, and they are Dv "
        "wide.",
        ("concat", lambda B, L, Dv: (B, L, Dv)): "The heads' parts are side by side. Nothing is "
        "averaged.",
        ("w_o", lambda D, H, Dv: (D, H * Dv)): "In `concat @ w_o`, w_o has one row per column of "
        "concat. (nn.Linear stores the transposed matrix.)",
        ("w_o", lambda D: (D, D)): "w_o is square only if H · Dv equals D.",
        ("output", lambda B, L, H, Dv: (B, L, H * Dv)): "W_O comes last and maps back to the width "
        "of the model.",
        ("output", lambda B, H, L, D: (B, H, L, D)): "W_O adds up the heads, so no head axis is "
        "left.",
    },
    properties=(
        Property(
            "The batch is the first axis of every tensor except the learned matrix.",
            lambda answer, case: (
                (tuple(answer[:1]) == (case.arguments[1],)) == (case.arguments[0] != "w_o")
            ),
        ),
        Property(
            "The sizes are right, but their order is not: a word is a row, and the head axis "
            "comes before the word axis.",
            lambda answer, case: (
                sorted(answer) != sorted(shapes(*case.arguments))
                or tuple(answer) == shapes(*case.arguments)
            ),
        ),
        Property(
            "The heads have their own axis only between the split and the merge. How many "
            "axes does this tensor have?",
            lambda answer, case: len(answer) == len(shapes(*case.arguments)),
        ),
    ),
    comes_back="Chapter 5 has two lengths, Lq and Lk, so the weights are no longer square.",
    hints=(
        "Inside a head, the axis H comes right after B, and the last two axes are a matrix.",
        "query ends in (L, Dk), weights in (L, L), and context in (L, Dv). The merge joins H and "
        "Dv.",
        "concat is (B, L, H · Dv); w_o has to map H · Dv to D.",
    ),
    others=(shapes_computed,),
    insight="Inside the heads there is no D, and outside them there is no Dk or Dv. Only the "
    "shapes of the four matrices contain both.",
)
