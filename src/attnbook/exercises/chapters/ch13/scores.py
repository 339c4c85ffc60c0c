"""An induction score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw
from attnbook.mistakes.head import WrongLine


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


@dataclass(frozen=True)
class Score:
    """The induction score in parts. Each is right unless it is replaced.

    `seen` receives a mask of equal letters, (L, L), and keeps those at an earlier j. `due` receives
    what `seen` returns, and marks j + 1. `mean` receives the weights, (..., L, L), and that mask.
    """

    seen: Callable[[Tensor], Tensor] = lambda same: same.tril(-1)
    due: Callable[[Tensor], Tensor] = lambda seen: seen.roll(1, -1)
    mean: Callable[[Tensor, Tensor], Tensor] = lambda weights, due: weights[..., due].mean(-1)

    def __call__(self, weights: Tensor, ids: Tensor) -> Tensor:
        return self.mean(weights, self.due(self.seen(ids[:, None] == ids)))


def but_last_column(mask: Tensor) -> Tensor:
    """The mask without its last column, which `roll` would move to the first."""
    return mask & (torch.arange(mask.size(-1), device=mask.device) < mask.size(-1) - 1)


def on_diagonal(mask: Tensor, distance: int) -> Tensor:
    """Mark the key at this distance before the query, in each row that has an entry."""
    rows = torch.ones_like(mask).tril(-distance).triu(-distance)
    return rows & mask.any(-1, keepdim=True)


ITSELF = "You also compared each letter with itself. Only earlier positions count: `tril(-1)`."
LATER = "You also counted later positions of the letter. Only j < i counts."
BOTH = "You also counted the letter itself and its later positions. Only j < i counts: `tril(-1)`."
BEFORE = "You took the weight on j − 1, the letter before. The letter due is at j + 1."
PREVIOUS = (
    "That is the previous-token score: the mean weight on the position before i. Take the weight "
    "on j + 1, where j is the earlier position of the letter."
)
NEXT_QUERY = "You took the query at i + 1. The query is i itself, and only the key moves, to j + 1."
DISTANCE = (
    "You took the weight at a fixed distance, which is right only if the second half repeats the "
    "first in one piece. Look in `ids` for the earlier position of each letter."
)
SCORE_MISTAKES = (
    WrongLine("seen", lambda same: same.tril(), ITSELF),
    WrongLine("seen", lambda same: but_last_column(same.tril()), ITSELF),
    WrongLine("seen", lambda same: same ^ torch.eye(len(same)).to(same), LATER),
    WrongLine("seen", lambda same: but_last_column(same ^ torch.eye(len(same)).to(same)), LATER),
    WrongLine("seen", lambda same: same, BOTH),
    WrongLine("seen", but_last_column, BOTH),
    WrongLine(
        "seen",
        lambda same: same.tril(-1) & ~torch.eye(len(same)).to(same)[-1:].mT,
        "You left out the last position. It has a query, too, and its letter has appeared before.",
    ),
    WrongLine(
        "due",
        lambda seen: seen,
        "You took the weight on j, the earlier position of the letter. The letter due is at j + 1.",
    ),
    WrongLine("due", lambda seen: seen.roll(-1, -1), BEFORE),
    WrongLine("due", lambda seen: F.pad(seen[:, 1:], (0, 1)), BEFORE),
    WrongLine("due", lambda seen: seen.roll((1, 1), (0, 1)), NEXT_QUERY),
    WrongLine("due", lambda seen: F.pad(seen[:-1, :-1], (1, 0, 1, 0)), NEXT_QUERY),
    WrongLine("due", lambda seen: on_diagonal(seen, 1), PREVIOUS),
    WrongLine("due", lambda seen: on_diagonal(seen, len(seen) // 2 - 1), DISTANCE),
    WrongLine(
        "mean",
        lambda weights, due: (weights * due).sum(-1).mean(-1),
        "You divided by L. Count only the positions whose letter has appeared before.",
    ),
    WrongLine(
        "mean",
        lambda weights, due: (weights * due).mean((-2, -1)),
        "You divided by L · L, the number of cells in the map. Take the mean over one cell for "
        "each position whose letter has appeared before.",
    ),
    WrongLine(
        "mean",
        lambda weights, due: weights[..., due].sum(-1),
        "You added up the weights. The score is their mean.",
    ),
    WrongLine(
        "mean",
        lambda weights, due: weights[..., due].amax(-1),
        "You took the largest of the weights. The score is their mean.",
    ),
    WrongLine(
        "mean",
        lambda weights, due: weights.mT[..., due].mean(-1),
        "You swapped rows and columns: the query i is the row, and the key j + 1 the column.",
    ),
    WrongLine(
        "mean",
        lambda weights, due: (
            (weights.argmax(-1) == due.int().argmax(-1))[..., due.any(-1)].double().mean(-1)
        ),
        "You counted how often the largest weight is on the letter due. The score is the mean of "
        "the weights themselves.",
    ),
)


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
        Mistake(lambda weights, ids: weights.diagonal(-1, -2, -1).mean(-1), PREVIOUS),
        Mistake(
            lambda weights, ids: weights.diagonal(1 - len(ids) // 2, -2, -1).mean(-1), DISTANCE
        ),
        Mistake(
            lambda weights, ids: weights.amax(-1).mean(-1),
            "That is the largest weight of each row, at any position. Take the weight on j + 1.",
        ),
        Mistake(
            lambda weights, ids: weights[..., (ids.roll(-1)[:, None] == ids).tril(-1)].mean(-1),
            "You looked for the letter that comes next in `ids`. The letter due depends only on "
            "the current letter: it is the one after j, even if `ids` continues differently.",
        ),
    ),
    common_mistakes=MistakeSet(lambda score: score, SCORE_MISTAKES, right=Score()),
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
