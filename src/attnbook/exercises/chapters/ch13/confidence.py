"""Repair a score that special tokens fool."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw
from attnbook.mistakes.head import WrongLine


def confidence(weights: Tensor, special: Tensor) -> Tensor:
    words = ~special
    largest = (weights * words[:, None, None]).amax(-1)  # (B, H, L)
    return (largest * words[:, None]).sum((0, 2)) / words.sum()


def sentence_by_sentence(weights: Tensor, special: Tensor) -> Tensor:
    largest = [
        maps[:, ~hidden][:, :, ~hidden].amax(-1)  # (H, words)
        for maps, hidden in zip(weights, special, strict=True)
    ]
    return torch.cat(largest, dim=-1).mean(-1)


def sentences(generator: Generator, n_heads: int, lengths: Sequence[Sequence[int]]) -> Case:
    """Made-up maps of padded sentences, or pairs of sentences, with the numbers of their words.

    Each [SEP] ends a sentence. The queries of one half of the heads put most of their weight on
    [CLS], and those of the other half on a [SEP].
    """
    rows = [[True] + [hidden for n in row for hidden in [*[False] * n, True]] for row in lengths]
    length = max(map(len, rows))
    special = torch.tensor([row + [True] * (length - len(row)) for row in rows])
    scores = 2 * draw(generator, len(rows), n_heads, length, length)
    scores[:, ::2, :, 0] += 5
    for row, (maps, cells) in enumerate(zip(scores, rows, strict=True)):
        maps[1::2, :, len(cells) - 1] += 5
        scores[row, :, :, len(cells) :] = -torch.inf  # padding
    sizes = {"B": len(rows), "H": n_heads, "L": length}
    return Case((scores.softmax(-1), special), sizes)


def cases(generator: Generator) -> list[Case]:
    def case(note: str, n_heads: int, *lengths: Sequence[int]) -> Case:
        drawn = sentences(generator, n_heads, lengths)
        return Case(drawn.arguments, drawn.sizes, note)

    return [
        case("one sentence", 3, [5]),
        case("a short sentence and a long one", 3, [2], [6]),
        case("3 sentences, 5 heads", 5, [7], [3], [4]),
        case("2 pairs of sentences, each pair with two [SEP]", 4, [3, 5], [2, 2]),
    ]


Weights = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Confidence:
    """The score in parts. Each is right unless it is replaced.

    `seen` receives the weights (B, H, L, L) and marks of the words (B, L), and returns the weights
    among which `largest` looks. `mean` receives the largest, (B, H, L), and those marks.
    """

    seen: Weights = lambda weights, words: weights * words[:, None, None]
    largest: Callable[[Tensor], Tensor] = lambda seen: seen.amax(-1)
    mean: Weights = lambda largest, words: (largest * words[:, None]).sum((0, 2)) / words.sum()

    def __call__(self, weights: Tensor, special: Tensor) -> Tensor:
        return self.mean(self.largest(self.seen(weights, ~special)), ~special)


def where_a_word_is_largest(weights: Tensor, words: Tensor) -> Tensor:
    largest = weights == weights.amax(-1, keepdim=True)
    return weights * largest * words[:, None, None]


def rescaled(weights: Tensor, words: Tensor) -> Tensor:
    seen = weights * words[:, None, None]
    return seen / seen.sum(-1, keepdim=True)


def without_itself(weights: Tensor, words: Tensor) -> Tensor:
    return (weights * words[:, None, None]).tril(-1) + (weights * words[:, None, None]).triu(1)


def mean_of_means(largest: Tensor, words: Tensor) -> Tensor:
    marks = words[:, None]
    return ((largest * marks).sum(-1) / marks.sum(-1)).mean(0)


AS_KEYS = (
    "The largest weight may still be on a special token. Look for the largest weight on a *word*."
)
AS_QUERIES = (
    "The queries of special tokens still count, and those of padding. Take the mean over the words "
    "only."
)
CONFIDENCE_MISTAKES = (
    WrongLine("seen", lambda weights, words: weights, AS_KEYS),
    WrongLine(
        "seen",
        where_a_word_is_largest,
        "Where the largest weight is on a special token, you counted 0. Hide the special tokens "
        "*before* you take the largest weight: some word has the largest weight on a word.",
    ),
    WrongLine(
        "seen",
        rescaled,
        "You divided by the weight on the words, so that they share all of it. Then a head that "
        "rests on special tokens looks as confident as before. Leave the weights as they are.",
    ),
    WrongLine(
        "seen", without_itself, "You left out the weight of a word on itself, which counts, too."
    ),
    WrongLine(
        "seen",
        lambda weights, words: weights * ~words[:, None, None],
        "You kept the weights on special tokens: `special` is True there. Keep the others.",
    ),
    WrongLine(
        "largest",
        lambda seen: seen.sum(-1),
        "You added up the weights on the words. Take the largest of them.",
    ),
    WrongLine(
        "largest",
        lambda seen: seen.amax(-2),
        "You took the largest weight that each *key* receives. A row belongs to a query, so take "
        "the largest over the last axis.",
    ),
    WrongLine("mean", lambda largest, words: largest.mean((0, 2)), AS_QUERIES),
    WrongLine(
        "mean",
        lambda largest, words: (largest * words[:, None]).mean((0, 2)),
        "You set the queries of special tokens to 0, but you still divide by their number, too. "
        "Divide by the number of words.",
    ),
    WrongLine(
        "mean",
        mean_of_means,
        "You averaged each sentence first, so a word of a short sentence counts more. Take one "
        "mean over all words.",
    ),
    WrongLine(
        "mean",
        lambda largest, words: (largest * ~words[:, None]).sum((0, 2)) / (~words).sum(),
        "You took the mean over the special tokens: `special` is True there. Take the words.",
    ),
    WrongLine(
        "mean",
        lambda largest, words: (largest * words[:, None]).sum((0, 2)),
        "You added up the largest weights. The score is their mean.",
    ),
    WrongLine(
        "mean",
        lambda largest, words: (largest * words[:, None]).amax((0, 2)),
        "You took the largest weight of all words. The score is the mean over the words.",
    ),
)

EXERCISE = Exercise(
    title="A score that special tokens fool",
    level=2,
    minutes=10,
    section="13.13",
    prompt="""
How sharply does a head attend? Voita et al. (2019) call a head *confident* if its largest weights
are large. The function below takes the largest weight of each query, and averages. `weights`
(B, H, L, L) are the maps of H heads for B padded sentences, and `special` (B, L) is True at
`[CLS]`, `[SEP]` and padding. A head that always rests on `[SEP]` gets nearly 1, because special
tokens fool the score in two places. Repair it. Only words count, as queries and as keys: take each
word's largest weight on a word, itself included, and then one mean over all words of all
sentences. Leave the weights as they are. The answer has shape (H,).
""",
    stub="""
def confidence(weights, special):
    raise NotImplementedError  # repair the lines below, then delete this one
    largest = weights.amax(-1)
    return largest.mean((0, 2))
""",
    reference=confidence,
    cases=cases,
    axes="H",
    mistakes=(
        Mistake(
            lambda weights, special: weights.amax(-1).mean((0, 2)),
            "Both mistakes are still there: special tokens count as keys, and as queries.",
        ),
        Mistake(
            lambda weights, special: weights[:, :, 1:-1, 1:-1].amax(-1).mean((0, 2)),
            "You left out the first and the last position. But a padded sentence has its `[SEP]` "
            "earlier, and a pair of sentences has two. Use `special`.",
        ),
        Mistake(
            lambda weights, special: weights[:, :, 1:, 1:].amax(-1).mean((0, 2)),
            "You left out `[CLS]`, but `[SEP]` and padding still count.",
        ),
    ),
    common_mistakes=MistakeSet(lambda score: score, CONFIDENCE_MISTAKES, right=Confidence()),
    hints=(
        "What is the score of a head that always puts its weight on `[SEP]`? And whose queries "
        "does the mean include?",
        "Set the weights on special tokens to 0 before you take the largest: `special[:, None, "
        "None]` is (B, 1, 1, L), so it marks keys.",
        "Of the largest weights (B, H, L), keep those of the words: `~special[:, None]` is "
        "(B, 1, L). Add them up, and divide by `(~special).sum()`.",
    ),
    insight="In MiniLM's maps of 230 sentences, the first score puts head 5.5, which rests on "
    "`[CLS]`, among the three most confident of the 72. The repaired score puts it last but one: "
    "its largest weight on a word is 0.05 on average. The previous-token head 1.2 is first either "
    "way, though section 13.13 could remove it at little cost. So confident doesn't mean needed.",
    comes_back="Question 2 in section 13.15 asks what a head adds where it attends.",
    others=(sentence_by_sentence,),
)
