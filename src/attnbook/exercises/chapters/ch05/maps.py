"""One map per word."""

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, draw


def maps(weights: Tensor, height: int, width: int) -> Tensor:
    return weights.mT.unflatten(-1, (height, width))


def map_by_map(weights: Tensor, height: int, width: int) -> Tensor:
    words = [weights[:, :, j].reshape(-1, height, width) for j in range(weights.size(2))]
    return torch.stack(words, dim=1)


def map_cases(generator: Generator) -> list[Case]:
    def case(note: str, batch: int, height: int, width: int, words: int) -> Case:
        weights = draw(generator, batch, height * width, words).softmax(-1)
        names = {"B": batch, "Lk": words, "height": height, "width": width}
        return Case((weights, height, width), names, note)

    return [
        case("a picture of 2 by 3 patches, 5 words", 1, 2, 3, 5),
        case("3 pictures of 4 by 5 patches, 7 words", 3, 4, 5, 7),
        case("a tall picture", 2, 7, 3, 5),
        case("as many words as patches", 5, 2, 3, 6),
    ]


EXERCISE = Exercise(
    title="One map per word",
    level=3,
    minutes=10,
    section="5.7",
    prompt="""
Section 5.7 shows each column of the weights as a picture. Write `maps(weights, height, width)`:
`weights` is (B, height·width, Lk), with the patches in reading order: row by row from the top, each
row from left to right. The answer is (B, Lk, height, width), one map per word.
""",
    reference=maps,
    cases=map_cases,
    axes="B Lk height width",
    mistakes=(
        Mistake(
            lambda weights, height, width: weights.reshape(weights.size(0), -1, height, width),
            "`view` and `reshape` keep the order of the numbers in memory, so patches and words "
            "get mixed. Swap the two axes first.",
        ),
        Mistake(
            lambda weights, height, width: weights.mT.unflatten(-1, (width, height)),
            "The patches are stored row by row, so height is the outer axis and width the inner "
            "one.",
        ),
        Mistake(
            lambda weights, height, width: weights.mT.unflatten(-1, (width, height)).mT,
            "Your pictures are transposed. The patches are stored row by row.",
        ),
        Mistake(
            lambda weights, height, width: weights.unflatten(1, (height, width)),
            "The patches are right, but the axis of the words comes last. It belongs before "
            "height and width.",
        ),
        Mistake(
            lambda weights, height, width: weights.unflatten(1, (height, width)).movedim(-1, 0),
            "In your answer, the axis of words comes before the batch.",
        ),
        Mistake(
            lambda weights, height, width: weights.mT.softmax(-1).unflatten(-1, (height, width)),
            "You took another softmax, over the patches. Keep the weights as they are.",
        ),
    ),
    hints=(
        "Move the axis of words in front of the axis of patches, then cut the patches into rows.",
        "Swapping axes moves numbers; cutting an axis does not. Swap first.",
        "`weights.mT` is (B, Lk, height·width). `unflatten(-1, ...)` cuts the last axis.",
    ),
    others=(map_by_map,),
    comes_back="Chapter 13 draws maps for every head of a model.",
    insight="This is the bug of section 4.6 again: `view` in place of a transpose.",
)
