"""An induction score."""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, draw


def my_score(weights: Tensor, ids: Tensor) -> Tensor:
    same = (ids[:, None] == ids).tril(-1)  # (L, L): True where the letter of row i is at j < i
    due = same.roll(1, dims=-1)  # True one position after each such j
    return weights[..., due].mean(dim=-1)


def score_by_loops(weights: Tensor, ids: Tensor) -> Tensor:
    letters, found = ids.tolist(), []
    for i, letter in enumerate(letters):
        if letter in letters[:i]:
            found.append(weights[..., i, letters.index(letter) + 1])
    return torch.stack(found).mean(dim=0)


def score_cases(generator: Generator) -> list[Case]:
    def case(ids: Sequence[int], *front: int) -> Case:
        length = len(ids)
        hidden = ~torch.ones(length, length, dtype=torch.bool).tril()
        scores = 2 * draw(generator, *front, length, length)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        sizes = dict(zip(("N", "H")[-len(front) :], front, strict=True))
        text = " ".join("abcdefgh"[i] for i in ids)
        return Case((weights, torch.tensor(ids)), {**sizes, "L": length}, text)

    return [
        case((3, 1, 4, 0, 3, 1, 4), 3),
        case((5, 2, 7, 1, 0, 2, 7, 5, 1), 2),
        case((4, 4, 1, 6, 2, 0, 6, 2, 5, 1), 2, 3),
        case((0, 3, 6, 5, 2, 7, 6, 5), 5),
    ]


def score(
    seen: Callable[[Tensor], Tensor] = lambda same: same.tril(-1),
    move: int = 1,
    of: Callable[[Tensor, Tensor], Tensor] = lambda weights, due: weights[..., due].mean(-1),
) -> Callable[[Tensor, Tensor], Tensor]:
    """The induction score, right unless a part is replaced.

    `seen` receives a mask of equal letters, (L, L). `of` receives the weights and a mask of the
    letters due.
    """
    return lambda weights, ids: of(weights, seen(ids[:, None] == ids).roll(move, -1))


EXERCISE = Exercise(
    title="An induction score",
    level=1,
    minutes=8,
    section="13.4",
    prompt="""
Write `my_score(weights, ids)`: the induction score of each head. `weights` (..., L, L) are the
heads' attention maps for one sequence. `ids` (L,) are its letters, and each letter appears at most
twice. If the letter at i has appeared before, at j, the letter *after* j is due. The score is the
mean of the weights that these positions i put on j + 1. Positions whose letter is new do not count.
The answer has shape (...).
""",
    reference=my_score,
    cases=score_cases,
    axes="N H",
    mistakes=(
        Mistake(
            score(move=0),
            "You took the weight on j, the earlier position of the letter. The letter due "
            "is at j + 1.",
        ),
        Mistake(
            score(move=-1),
            "You took the weight on j − 1, the letter before. The letter due is at j + 1.",
        ),
        Mistake(
            score(of=lambda weights, due: (weights * due).sum(-1).mean(-1)),
            "You divided by L. Count only the positions whose letter has appeared before.",
        ),
        Mistake(
            score(of=lambda weights, due: (weights * due).mean((-2, -1))),
            "You divided by L · L, the number of cells in the map. Take the mean over one cell "
            "for each position whose letter has appeared before.",
        ),
        Mistake(
            score(of=lambda weights, due: weights[..., due].sum(-1)),
            "You added up the weights. The score is their mean.",
        ),
        Mistake(
            score(of=lambda weights, due: weights.mT[..., due].mean(-1)),
            "You swapped rows and columns: the query i is the row, and the key j + 1 the column.",
        ),
        Mistake(
            score(lambda same: same.tril()),
            "You also compared each letter with itself. Only earlier positions count: `tril(-1)`.",
        ),
        Mistake(
            score(lambda same: same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)),
            "You also counted later positions of the letter. Only j < i counts.",
        ),
        Mistake(
            lambda weights, ids: weights.amax(-1).mean(-1),
            "That is the largest weight of each row, at any position. Take the weight on j + 1.",
        ),
        Mistake(
            score(
                of=lambda weights, due: (
                    (weights.argmax(-1) == due.int().argmax(-1))[..., due.any(-1)].double().mean(-1)
                )
            ),
            "You counted how often the largest weight is on the letter due. The score is the mean "
            "of the weights themselves.",
        ),
        Mistake(
            lambda weights, ids: weights.diagonal(-1, -2, -1).mean(-1),
            "That is the previous-token score: the mean weight on the position before i.",
        ),
        Mistake(
            lambda weights, ids: weights[..., (ids.roll(-1)[:, None] == ids).tril(-1)].mean(-1),
            "You looked for the letter that comes next in `ids`. The letter due depends only on "
            "the current letter: it is the one after j, even if `ids` continues differently.",
        ),
    ),
    hints=(
        "First mark where letters are equal: compare a column of letters with a row of letters, "
        "(L, L). Which of these cells belong to an earlier j?",
        "`tril(-1)` keeps these cells. The letter due is one column to the right.",
        "`weights[..., due]` collects the cells in which `due` is True, and keeps the other axes.",
    ),
    insight="Even a head that spreads its weight evenly has a score above 0: the mean of 1 / (i + "
    "1) over these positions. So compare each score with that of an untrained model.",
    comes_back="13.experiment has five kinds of models whose heads have the same score.",
    others=(score_by_loops,),
)
