"""Common mistakes in the three lines of attention, wherever a learner writes them.

An exercise says how a Head becomes its function, and gets a mistake for each wrong line, and for
each two wrong lines in different places:

    common_mistakes=MistakeSet(lambda head: head.scores, SCORE_MISTAKES)
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.exercises.exercise import Case, Mistake, Property


def scaled_scores(size: float, query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / math.sqrt(size)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


@dataclass(frozen=True)
class Head:
    """The three lines of attention. Each is right unless it is replaced."""

    scores: Callable[[Tensor, Tensor], Tensor] = lambda q, k: scaled_scores(q.size(-1), q, k)
    weights: Callable[..., Tensor] = masked_softmax  # (scores, mask)
    output: Callable[..., Tensor] = lambda weights, q, k, v: weights @ v

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, *mask: Tensor) -> Tensor:
        weights = self.weights(self.scores(query, key), *mask)
        return self.output(weights, query, key, value)


class WrongLine(NamedTuple):
    """A wrong version of a line, and the message for readers who wrote it.

    `line` names the line: a field of Head, or of what takes its place.
    """

    line: str
    wrong: Callable[..., Any]
    message: str


def unit_length(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True)


def reverse_axes(x: Tensor) -> Tensor:
    return x.permute(*reversed(range(x.dim())))


SCORE_MISTAKES = (
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT,
        "The scores are the raw dot products. Their spread grows with the width: divide by √Dk.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / q.size(-1),
        "The scores are divided by Dk. The variance of a dot product is Dk, so its spread is √Dk: "
        "divide by the root.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT * math.sqrt(q.size(-1)),
        "The scores are multiplied by √Dk. Scaling takes the spread back: divide.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(k.size(-2)),
        "The scores are divided by √Lk, the number of keys. A dot product adds up over the width, "
        "so the width sets its spread: √Dk. (`size(-2)` counts rows, `size(-1)` columns.)",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(q.size(-2)),
        "The scores are divided by √Lq, the number of queries. A dot product adds up over the "
        "width: √Dk. (`size(-2)` counts rows, `size(-1)` columns.)",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(len(q)),
        "The root is of the first axis, which `len(...)` and `size(0)` count: the queries, or the "
        "batch as soon as there is one. The width is the last axis: `size(-1)`.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(len(k)),
        "The root is of the key's first axis, which `len(...)` and `size(0)` count: the keys, or "
        "the batch as soon as there is one. The width is the last axis: `size(-1)`.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / (q.size(-1) / 2),
        "The scores are divided by Dk/2. `x ** 1/2` means (x ** 1)/2: write `x ** 0.5`, or "
        "`math.sqrt(x)`.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT / q.size(-1) / 2,
        "The scores are divided by 2 Dk. Is the root taken by `** 1/2`, which means (… ** 1)/2? "
        "Write `** 0.5`, or `math.sqrt`.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k.mT - math.sqrt(q.size(-1)),
        "√Dk is subtracted from the scores. A softmax does not even notice that: divide.",
    ),
    WrongLine(
        "scores",
        lambda q, k: k @ q.mT / math.sqrt(q.size(-1)),
        "Here the keys ask the queries. Row i of the scores belongs to query i: the query stands "
        "first, and the key is transposed.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ k / math.sqrt(q.size(-1)),
        "A matrix product pairs the columns of the first with the rows of the second. The keys "
        "are rows: transpose them with `.mT`.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ reverse_axes(k) / math.sqrt(q.size(-1)),
        "`.T` turns all axes around, batch and heads too. Only the last two may swap: `.mT` or "
        "`.transpose(-2, -1)`.",
    ),
    WrongLine(
        "scores",
        lambda q, k: unit_length(q) @ unit_length(k).mT,
        "The scores are cosines: the lengths were divided away. Attention keeps the plain dot "
        "product, and divides it by √Dk.",
    ),
    WrongLine(
        "scores",
        lambda q, k: q @ q.mT / math.sqrt(q.size(-1)),
        "The queries are compared with themselves. Each has to meet the keys.",
    ),
    WrongLine(
        "scores",
        lambda q, k: k @ k.mT / math.sqrt(q.size(-1)),
        "The keys are compared with themselves. Nobody asks here: the query comes first.",
    ),
)


def one_hot_weights(scores: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(scores.argmax(-1), scores.size(-1)).to(scores)


def softmax_over(axis: int) -> Callable[..., Tensor]:
    """Return a softmax along the wrong axis, with or without a mask."""

    def wrong(scores: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            return scores.softmax(axis)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(axis)
        return weights.masked_fill(~mask.expand(weights.shape), 0.0)

    return wrong


WEIGHT_MISTAKES = (
    WrongLine(
        "weights",
        softmax_over(-2),
        "The softmax ran over the queries: your columns sum to 1, not your rows. Each query shares "
        "out its own attention, so it runs over the keys, the last axis.",
    ),
    WrongLine(
        "weights",
        softmax_over(0),
        "The softmax ran over axis 0. That is the batch as soon as there is one: count axes from "
        "the end, `dim=-1`.",
    ),
    WrongLine(
        "weights",
        softmax_over(1),
        "The softmax ran over axis 1. With a batch in front the keys stand further back: count "
        "axes from the end, `dim=-1`.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.flatten(-2).softmax(-1).view_as(scores),
        "All weights of a matrix together sum to 1. Each row has to: one softmax for each query, "
        "with `dim=-1`.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.flatten().softmax(-1).view_as(scores),
        "All weights of the whole tensor together sum to 1. Each row has to: one softmax for each "
        "query, with `dim=-1`.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores,
        "The softmax is missing: these are still scores, which may be negative and need not sum "
        "to 1.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.exp(),
        "`exp` made the scores positive, and nothing divides them: each row by its sum.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores / scores.sum(-1, keepdim=True),
        "The scores were divided by their sum. Scores may be negative, so weights need `exp` "
        "first.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.exp() / scores.exp().sum(-2, keepdim=True),
        "The powers were divided by the sums of their columns. A row has to sum to 1: add up along "
        "the last axis.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.exp() / scores.exp().sum(),
        "All powers were divided by one sum. Each row has one of its own: `sum(dim=-1, "
        "keepdim=True)`.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: masked_softmax(masked_softmax(scores, *mask), *mask),
        "Two softmaxes ran, one over the other. The second makes the weights nearly equal: one is "
        "enough.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.log_softmax(-1),
        "These are the logarithms of the weights: `log_softmax`. Weights themselves are asked for.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: scores.sigmoid(),
        "A sigmoid judges each score alone. The keys of a row have to share out one whole among "
        "them: softmax.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: one_hot_weights(scores),
        "The winner takes everything here. That is a hard look-up: it has no slope to learn from.",
    ),
    WrongLine(
        "weights",
        lambda scores, *mask: (-scores).softmax(-1),
        "The sign is turned around: the worst match gets the most.",
    ),
)

OUTPUT_MISTAKES = (
    WrongLine(
        "output",
        lambda weights, q, k, v: weights @ k,
        "The keys were mixed. They decide who contributes; what is contributed are the values.",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: weights.mT @ v,
        "The weights are turned around before they meet the values. (Lq, Lk) times (Lk, Dv) fits "
        "as it is.",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: weights,
        "These are the weights. One step is left: mix the values with them.",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: weights @ v / math.sqrt(q.size(-1)),
        "The output is divided by √Dk. It is the scores that are too large for the softmax: "
        "nothing is to be divided after it.",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: v.mean(-2, keepdim=True).expand(*weights.shape[:-1], -1),
        "Every output is the plain average of the values. The weights have had no influence.",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: weights @ v / v.size(-2),
        "The mixture is divided by the number of keys. The weights sum to 1 already: that divides "
        "twice (did you take a `mean` where a sum belongs?).",
    ),
    WrongLine(
        "output",
        lambda weights, q, k, v: v @ weights,
        "The values stand on the left. Each row of weights mixes the rows of the values: the "
        "weights come first.",
    ),
)


def rows_sum_to_one(answer: Tensor, case: Case) -> bool:
    return bool((answer.sum(-1) - 1).abs().max() < 1e-6)


ROWS_SUM_TO_ONE = Property(
    "Each row of weights has to sum to 1, and yours do not.", rows_sum_to_one
)


def renormalized_after_mask(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


MASK_MISTAKES = (
    WrongLine(
        "weights",
        lambda scores, mask: scores.masked_fill(~mask, -1e9).softmax(-1),
        "The row that may look at nothing came out as an average of all that it was forbidden "
        "to see. A large negative number such as −10⁹ does that: it makes the whole row equal, "
        "and equal scores share equally. Only −∞ leaves nothing.",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(-1),
        "Right wherever there is something to look at. The row of nothing is 0/0, NaN. (To "
        "multiply by the mask afterwards is no cure: 0 times NaN is NaN. Something has to be "
        "filled in.)",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: scores.softmax(-1),
        "The mask has had no influence: every key got a weight.",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: scores.softmax(-1) * mask,
        "You masked after the softmax. The rows do not sum to 1, and the denominator has read "
        "every hidden score: hide them before.",
    ),
    WrongLine(
        "weights",
        renormalized_after_mask,
        "You masked after the softmax and divided each row by its sum. On paper that is right. "
        "But a loud hidden key leaves the others nothing, and then you divide 0 by 0: hide the "
        "scores before.",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(-1),
        "You hid what was permitted. `masked_fill` fills where its mask is True, and in this "
        "book True means may look: `~`.",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: masked_softmax(scores, ~mask),
        "You hid what was permitted, from the first line to the last. In this book True means may "
        "look: `masked_fill` fills where its mask is True, so it needs `~mask`.",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: (scores + mask).softmax(-1),
        "The mask was added as a number: each permitted key gained 1, and nothing was hidden.",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: (scores * mask).softmax(-1),
        "The mask was multiplied with the scores. A hidden key has score 0 now, and e⁰ is 1: "
        "an ordinary weight.",
    ),
    WrongLine(
        "weights",
        lambda scores, mask: (scores * mask).softmax(-1) * mask,
        "The mask was multiplied with the scores, so that a hidden key has score 0, and e⁰ is 1: "
        "it still counts in the sum by which the others are divided. Hide it with −∞.",
    ),
)


class MistakeSet:
    """The mistakes of an exercise: each wrong line alone, then each two in different lines.

    `build` makes the exercise's function from a Head. `widths` names further sizes whose root a
    learner may have used, each with a function that reads it from the exercise's arguments.
    `right` is the Head of an exercise that leaves out a line, or another dataclass of lines, with
    wrong lines of its own.
    """

    def __init__(
        self,
        build: Callable[[Any], Callable[..., Any]],
        *groups: Sequence[WrongLine],
        widths: Mapping[str, Callable[..., int]] | None = None,
        right: Any = Head(),
    ) -> None:
        self.build, self.right = build, right
        # The function in each of these gets the exercise's arguments and returns the wrong line.
        self.wrong_lines = [
            WrongLine(line, lambda *arguments, wrong=wrong: wrong, message)
            for group in groups
            for line, wrong, message in group
        ]
        for name, size in (widths or {}).items():
            message = (
                f"The scores are divided by √{name}. A dot product adds up over the width of the "
                "query and key that meet in it, so that width sets its spread: √Dk."
            )
            wrong = lambda *arguments, size=size: partial(scaled_scores, size(*arguments))  # noqa: E731
            self.wrong_lines.append(WrongLine("scores", wrong, message))

    def __iter__(self) -> Iterator[Mistake]:
        yield from self.singles()
        for first, second in itertools.combinations(self.wrong_lines, 2):
            if first.line != second.line:
                message = f"Two things. {first.message}\n{second.message}"
                yield Mistake(self.replace_lines(first, second), message, single=False)

    def singles(self) -> Iterator[Mistake]:
        """Yield a mistake for each wrong line alone."""
        for wrong_line in self.wrong_lines:
            yield Mistake(self.replace_lines(wrong_line), wrong_line.message)

    def replace_lines(self, *wrong_lines: WrongLine) -> Callable[..., Any]:
        """Return the exercise's function with these lines in place of the right ones."""

        def wrong(*arguments: Any) -> Any:
            lines = {line: make(*arguments) for line, make, _ in wrong_lines}
            return self.build(replace(self.right, **lines))(*arguments)

        return wrong
