"""Read an alignment off the weights."""

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, named_sizes


def align(weights: Tensor) -> Tensor:
    return weights.mean(dim=1).argmax(dim=-1)


def align_word_by_word(weights: Tensor) -> Tensor:
    summed = weights.sum(dim=1)  # (B, Lq, Lk)
    return torch.stack([torch.stack([row.argmax() for row in rows]) for rows in summed])


def align_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        weights = (2 * draw(generator, *sizes)).softmax(-1)
        return Case((weights,), named_sizes("B H Lq Lk", sizes), note)

    return [
        case("one sentence, 2 heads", 1, 2, 3, 5),
        case("3 sentences, 4 heads", 3, 4, 6, 7),
        case("6 heads", 2, 6, 5, 9),
        case("more queries than keys", 2, 3, 8, 5),
    ]


EXERCISE = Exercise(
    title="Which word does each word attend to?",
    level=2,
    minutes=8,
    section="5.6",
    prompt="""
For each query, this line should return the source position that has the most weight after the
weights are averaged over the heads. It does not. Repair it. `weights` is (B, H, Lq, Lk), and the
answer is (B, Lq), a tensor of whole numbers between 0 and Lk − 1.
""",
    stub="""
def align(weights):
    raise NotImplementedError  # repair the line below, then delete this one
    return weights.argmax(dim=-2).mean(dim=1)
""",
    reference=align,
    cases=align_cases,
    axes="B Lq",
    mistakes=(
        Mistake(
            lambda weights: weights.argmax(dim=-2).mean(dim=1),
            "PyTorch refuses to average whole numbers. And the average of words 2 and 6 would be "
            "word 4, which may have no weight. Average the weights first.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).double().mean(dim=1),
            "You averaged positions. The average of words 2 and 6 is word 4, which may have no "
            "weight. Average the weights first.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).mode(dim=1).values,
            "Here each head has one vote, even if its weights are nearly equal. Average the "
            "weights instead.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1),
            "Your answer still has one position for each head. Average the heads' weights first.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=2).argmax(dim=-1),
            "You averaged axis 2, the queries. The heads are axis 1.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).double().mean(dim=1).round().long(),
            "You averaged positions and rounded, but the word at that position may have no "
            "weight. Average the weights first.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).double().mean(dim=1).long(),
            "You averaged positions and cut off the fraction, but the word at that position may "
            "have no weight. Average the weights first.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=1).argmax(dim=-2),
            "For each source word, you found the query that gives it the most weight, so you "
            "searched the columns. The question is about the rows.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=1).amax(dim=-1),
            "This is the largest weight. The question is about its position.",
        ),
        Mistake(lambda weights: weights[:, 0].argmax(dim=-1), "You used head 0 only."),
        Mistake(
            lambda weights: weights.amax(dim=1).argmax(dim=-1),
            "This follows the head with the largest weight. Average the heads instead.",
        ),
    ),
    hints=(
        "The two steps are in the wrong order, and one of them uses the wrong axis.",
        "First make one map per sentence: the mean over the heads, (B, Lq, Lk).",
        "Then find the position of the largest weight in each row: `argmax(dim=-1)`.",
    ),
    others=(align_word_by_word,),
    insight="The word with the largest mean weight need not have the largest weight in any head. "
    "Look at each head before you average.",
    comes_back="Chapter 9 reads a translator's alignment this way, and chapter 13 asks how far to "
    "trust it.",
)
