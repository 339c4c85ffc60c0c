"""Predict the shapes in one head."""

import torch
from torch import Generator

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def shapes(what: str, Lq: int, Lk: int, D: int, Dk: int, Dv: int) -> tuple[int, int]:
    return {"scores": (Lq, Lk), "weights": (Lq, Lk), "output": (Lq, Dv), "w_v": (D, Dv)}[what]


def by_computing(what: str, Lq: int, Lk: int, D: int, Dk: int, Dv: int) -> torch.Size:
    w_v = torch.zeros(D, Dv)
    scores = torch.zeros(Lq, Dk) @ torch.zeros(Lk, Dk).mT
    output = scores.softmax(-1) @ (torch.zeros(Lk, D) @ w_v)
    return {"scores": scores, "weights": scores, "output": output, "w_v": w_v}[what].shape


def shape_cases(generator: Generator) -> list[Case]:
    sizes = torch.randperm(20, generator=generator)[:5].add(2).tolist()
    return [
        Case(
            (what, *sizes),
            note=_("{what} for Lq, Lk, D, Dk, Dv = {sizes}").format(what=what, sizes=sizes),
        )
        for what in ("scores", "weights", "output", "w_v")
    ]


EXERCISE = Exercise(
    title="Predict the shapes",
    level=1,
    minutes=5,
    section="3.2",
    prompt="""
The queries come from Lq rows, the keys and values from Lk rows, and all rows are D wide before the
projections. `shapes(what, Lq, Lk, D, Dk, Dv)` takes the name of a tensor and five sizes, and
returns the shape of that tensor as a tuple of sizes.

- `"scores"`: before the softmax
- `"weights"`: after the softmax
- `"output"`: of the head
- `"w_v"`: the projection of the values
""",
    stub="""
def shapes(what, Lq, Lk, D, Dk, Dv):
    raise NotImplementedError  # fill in the answers, then delete this line
    answers = {"scores": (), "weights": (), "output": (), "w_v": ()}
    return answers[what]
""",
    reference=shapes,
    cases=shape_cases,
    choices={
        (("scores", "weights"), lambda Lk, Lq: (Lk, Lq)): "One row per query, one column per key.",
        (("scores", "weights"), lambda Lq, Dk: (Lq, Dk)): "Each number belongs to one query and "
        "one key. The dot product sums over the width Dk.",
        ("weights", lambda Lq: (Lq, Lq)): "Each query distributes its weight over the keys.",
        ("output", lambda Lq, Dk: (Lq, Dk)): "The output mixes values, so it is as wide as they "
        "are.",
        ("output", lambda Lk, Dv: (Lk, Dv)): "The output has one row per query.",
        ("output", lambda Lq, D: (Lq, D)): "One head's output is as wide as its values. W_O, in "
        "chapter 4, projects it back to D.",
        ("output", lambda Lq, Lk: (Lq, Lk)): "These are the weights. The output is a mixture of "
        "values.",
        ("w_v", lambda Dv, D: (Dv, D)): "In X W_V, W_V has one row per column of X. (nn.Linear "
        "stores the transposed matrix.)",
        ("w_v", lambda Lk, Dv: (Lk, Dv)): "This is the shape of the values. W_V itself maps width "
        "D to width Dv.",
        ("w_v", lambda D, Dk: (D, Dk)): "Queries and keys are Dk wide. Values have their own "
        "width.",
    },
    hints=(
        "Write the matrix product first: (Lq, Dk) times which shape gives (Lq, Lk)?",
        "A softmax changes no shape. The output mixes rows of width Dv, once per query.",
        "Scores and weights are (Lq, Lk), and the output is (Lq, Dv). W_V projects from width D "
        "to Dv.",
    ),
    insight="Dk does not appear in any of these shapes, because the dot products sum over it.",
    comes_back="Chapter 4 asks the same question with two more axes, batch and heads.",
    others=(by_computing,),
)
