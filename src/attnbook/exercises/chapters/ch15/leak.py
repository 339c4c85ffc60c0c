"""A leak detector that also finds blind rows."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw

Layer = Callable[[Tensor], Tensor]


def leaks_and_blind(layer: Layer, x: Tensor) -> Tensor:
    columns = []
    for j in range(len(x)):
        other = x.clone()
        other[j] = 0
        columns.append((layer(other) != layer(x)).any(dim=-1))  # (L,)
    moved = torch.stack(columns, dim=1).int()
    return moved - torch.ones_like(moved).tril()


def leaks_and_blind_by_gradients(layer: Layer, x: Tensor) -> Tensor:
    slopes = torch.autograd.functional.jacobian(layer, x)  # (L, D, L, D)
    moves = slopes.abs().amax((1, 3)) > 1e-12
    return moves.int() - torch.ones_like(moves).tril().int()


def masked(rule: Callable[[Tensor, Tensor], Tensor]) -> Layer:
    """Return attention without matrices, in which query i sees key j where rule(i, j) is true."""

    def layer(x: Tensor) -> Tensor:
        at = torch.arange(len(x), device=x.device)
        mask = rule(at[:, None], at)
        return scaled_dot_product_attention(x / 3, x / 3, x, mask)[0]

    return layer


def moved(layer: Layer, x: Tensor, *, all_from_here_on: bool = False) -> Tensor:
    """Return 1 at (i, j) where row i moves with row j, or with any of the rows from j on."""
    columns = []
    for j in range(len(x)):
        other = x.clone()
        other[j : None if all_from_here_on else j + 1] = 0
        columns.append((layer(other) != layer(x)).any(dim=-1))
    return torch.stack(columns, dim=1).int()


LAYERS = {
    "a right layer": masked(lambda i, j: j <= i),
    "each word sees the next": masked(lambda i, j: j <= i + 1),
    "no word sees itself, but the first": masked(lambda i, j: (j < i) | (i + j == 0)),
    "a window of three": masked(lambda i, j: (j <= i) & (j > i - 3)),
    "word 4 sees word 6, and not word 1": masked(
        lambda i, j: ((j <= i) & ~((i == 4) & (j == 1))) | ((i == 4) & (j == 6))
    ),
}


def leak_cases(generator: Generator) -> list[Case]:
    sizes = ((3, 5), (5, 7), (7, 3), (6, 5), (9, 7))
    return [
        Case((layer, draw(generator, *shape)), dict(zip("LD", shape, strict=True)), name)
        for (name, layer), shape in zip(LAYERS.items(), sizes, strict=True)
    ]


EXERCISE = Exercise(
    title="Leaks and blind rows",
    level=2,
    minutes=12,
    section="15.2",
    prompt="""
You get a program that should be a causal layer: row i of its output should depend on the rows 0 to
i of its input, on all of them, and on no other. Write `leaks_and_blind(layer, x)`. `layer` takes
rows (L, D) and returns (L, D), and `x` (L, D) are some rows. Return whole numbers (L, L), with 1 at
(i, j) if row i of the output moves with row j of the input and must not (a leak), −1 if it does not
move and should (row i is blind to row j), and 0 where all is well.
""",
    axes="Lq Lk",
    reference=leaks_and_blind,
    cases=leak_cases,
    gradients=False,
    mistakes=(
        Mistake(
            lambda layer, x: leaks_and_blind(layer, x).clamp(min=0),
            "You found the leaks, but not the blind rows.",
        ),
        Mistake(
            lambda layer, x: leaks_and_blind(layer, x).clamp(max=0),
            "You found the blind rows, but not the leaks.",
        ),
        Mistake(
            lambda layer, x: -leaks_and_blind(layer, x),
            "The signs are exchanged: a leak is 1, a blind row −1.",
        ),
        Mistake(
            lambda layer, x: leaks_and_blind(layer, x).mT,
            "Rows and columns are exchanged: (i, j) is row i of the output and row j of the input.",
        ),
        Mistake(
            lambda layer, x: leaks_and_blind(layer, x) + torch.ones(len(x), len(x)).tril().to(x),
            "This is which rows move. Compare it with those that should.",
        ),
        Mistake(
            lambda layer, x: moved(layer, x) - moved(layer, x).new_ones(len(x), len(x)).tril(-1),
            "A row may see itself, so it should move with itself: what should move includes the "
            "diagonal.",
        ),
        Mistake(
            lambda layer, x: moved(layer, x).mT - moved(layer, x).new_ones(len(x), len(x)).tril(),
            "Rows and columns of what *moved* are exchanged, before you compare it with what "
            "should move. What moved with row j is column j: `torch.stack(columns, dim=1)`.",
        ),
        Mistake(
            lambda layer, x: (
                moved(layer, x).amax(0).expand(len(x), len(x))
                - moved(layer, x).new_ones(len(x), len(x)).tril()
            ),
            "You asked whether *any* row moved with row j. Ask it for each row: `any(dim=-1)`.",
        ),
        Mistake(
            lambda layer, x: (
                moved(layer, x, all_from_here_on=True)
                - moved(layer, x).new_ones(len(x), len(x)).tril()
            ),
            "You changed row j and all rows after it. Change one row at a time.",
        ),
        Mistake(
            lambda layer, x: leaks_and_blind(layer, x).abs(),
            "A blind row is −1, and yours are 1.",
        ),
    ),
    hints=(
        "Change one row of `x`, and compare the outputs row by row. Do so for each row.",
        "`(layer(changed) - layer(x)).abs().amax(-1) > 1e-9` says which rows moved. Which of them "
        "should have moved?",
        "What moved, as 0 and 1, minus what should have moved, as 0 and 1, is the answer.",
    ),
    insight="A test that looks only for leaks passes a layer that sees nothing. Off-by-one faults "
    "come in both directions.",
    comes_back="15.patients needs it as one of several experiments.",
    others=(leaks_and_blind_by_gradients,),
)
