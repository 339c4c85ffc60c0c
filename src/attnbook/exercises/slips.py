"""The slips of attention: what can go wrong in its three lines, wherever these are written.

An exercise says how its function is made of a Head, and gets a mistake for each slip, and for each
two slips in different lines:

    slips=Family(lambda head: lambda query, key: head.scores(query, key), SCORES)
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.exercises.exercise import Mistake


def root_of(size: float, query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / math.sqrt(size)


def masked(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


@dataclass(frozen=True)
class Head:
    """Attention's three lines, each right unless a wrong one is put in."""

    scores: Callable[[Tensor, Tensor], Tensor] = lambda q, k: root_of(q.size(-1), q, k)
    weights: Callable[..., Tensor] = masked  # (scores, mask)
    output: Callable[..., Tensor] = lambda weights, q, k, v: weights @ v

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, *mask: Tensor) -> Tensor:
        weights = self.weights(self.scores(query, key), *mask)
        return self.output(weights, query, key, value)


class Slip(NamedTuple):
    """A wrong line, and what to tell who wrote it."""

    line: str
    wrong: Callable[..., Any]
    says: str


def length_one(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True)


def all_turned(x: Tensor) -> Tensor:
    return x.permute(*reversed(range(x.dim())))


SCORES = (
    Slip(
        "scores",
        lambda q, k: q @ k.mT,
        "The scores are the raw dot products. Their spread grows with the width: divide by √Dk.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k.mT / q.size(-1),
        "The scores are divided by Dk. The variance of a dot product is Dk, so its spread is √Dk: "
        "divide by the root.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k.mT * math.sqrt(q.size(-1)),
        "The scores are multiplied by √Dk. Scaling takes the spread back: divide.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(k.size(-2)),
        "The scores are divided by √Lk, the number of keys. A dot product adds up over the width, "
        "so the width sets its spread: √Dk. (`size(-2)` counts rows, `size(-1)` columns.)",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(q.size(-2)),
        "The scores are divided by √Lq, the number of queries. A dot product adds up over the "
        "width: √Dk. (`size(-2)` counts rows, `size(-1)` columns.)",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(len(q)),
        "The root is of the first axis, which `len(...)` and `size(0)` count: the queries, or the "
        "batch as soon as there is one. The width is the last axis: `size(-1)`.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k.mT / math.sqrt(len(k)),
        "The root is of the key's first axis, which `len(...)` and `size(0)` count: the keys, or "
        "the batch as soon as there is one. The width is the last axis: `size(-1)`.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k.mT / (q.size(-1) / 2),
        "The scores are divided by Dk/2. `x ** 1/2` means (x ** 1)/2: write `x ** 0.5`, or "
        "`math.sqrt(x)`.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k.mT / q.size(-1) / 2,
        "The scores are divided by 2 Dk. Is the root taken by `** 1/2`, which means (… ** 1)/2? "
        "Write `** 0.5`, or `math.sqrt`.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k.mT - math.sqrt(q.size(-1)),
        "√Dk is subtracted from the scores. A softmax does not even notice that: divide.",
    ),
    Slip(
        "scores",
        lambda q, k: k @ q.mT / math.sqrt(q.size(-1)),
        "Here the keys ask the queries. Row i of the scores belongs to query i: the query stands "
        "first, and the key is transposed.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ k / math.sqrt(q.size(-1)),
        "A matrix product pairs the columns of the first with the rows of the second. The keys "
        "are rows: transpose them with `.mT`.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ all_turned(k) / math.sqrt(q.size(-1)),
        "`.T` turns all axes around, batch and heads too. Only the last two may swap: `.mT` or "
        "`.transpose(-2, -1)`.",
    ),
    Slip(
        "scores",
        lambda q, k: length_one(q) @ length_one(k).mT,
        "The scores are cosines: the lengths were divided away. Attention keeps the plain dot "
        "product, and divides it by √Dk.",
    ),
    Slip(
        "scores",
        lambda q, k: q @ q.mT / math.sqrt(q.size(-1)),
        "The queries are compared with themselves. Each has to meet the keys.",
    ),
    Slip(
        "scores",
        lambda q, k: k @ k.mT / math.sqrt(q.size(-1)),
        "The keys are compared with themselves. Nobody asks here: the query comes first.",
    ),
)


def powers(scores: Tensor) -> Tensor:
    return (scores - scores.amax(-1, keepdim=True)).exp()


def hard(scores: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(scores.argmax(-1), scores.size(-1)).to(scores)


def over(axis: int) -> Callable[..., Tensor]:
    """A softmax along another axis than the keys', under a mask or none."""

    def wrong(scores: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            return scores.softmax(axis)
        shared = scores.masked_fill(~mask, -torch.inf).softmax(axis)
        return shared.masked_fill(~mask.expand(shared.shape), 0.0)

    return wrong


WEIGHTS = (
    Slip(
        "weights",
        over(-2),
        "The softmax ran over the queries: your columns sum to 1, not your rows. Each query shares "
        "out its own attention, so it runs over the keys, the last axis.",
    ),
    Slip(
        "weights",
        over(0),
        "The softmax ran over axis 0. That is the batch as soon as there is one: count axes from "
        "the end, `dim=-1`.",
    ),
    Slip(
        "weights",
        over(1),
        "The softmax ran over axis 1. With a batch in front the keys stand further back: count "
        "axes from the end, `dim=-1`.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: scores.flatten(-2).softmax(-1).view_as(scores),
        "All weights of a matrix together sum to 1. Each row has to: one softmax for each query, "
        "with `dim=-1`.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: scores.flatten().softmax(-1).view_as(scores),
        "All weights of the whole tensor together sum to 1. Each row has to: one softmax for each "
        "query, with `dim=-1`.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: scores,
        "The softmax is missing: these are still scores, which may be negative and need not sum "
        "to 1.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: scores.exp(),
        "`exp` made the scores positive, and nothing divides them: each row by its sum.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: scores / scores.sum(-1, keepdim=True),
        "The scores were divided by their sum. Scores may be negative, so weights need `exp` "
        "first.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: scores.exp() / scores.exp().sum(-2, keepdim=True),
        "The powers were divided by the sums of their columns. A row has to sum to 1: add up along "
        "the last axis.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: scores.exp() / scores.exp().sum(),
        "All powers were divided by one sum. Each row has one of its own: `sum(dim=-1, "
        "keepdim=True)`.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: masked(masked(scores, *mask), *mask),
        "Two softmaxes ran, one over the other. The second makes the weights nearly equal: one is "
        "enough.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: scores.log_softmax(-1),
        "These are the logarithms of the weights: `log_softmax`. Weights themselves are asked for.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: scores.sigmoid(),
        "A sigmoid judges each score alone. The keys of a row have to share out one whole among "
        "them: softmax.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: hard(scores),
        "The winner takes everything here. That is a hard look-up: it has no slope to learn from.",
    ),
    Slip(
        "weights",
        lambda scores, *mask: (-scores).softmax(-1),
        "The sign is turned around: the worst match gets the most.",
    ),
)

OUTPUT = (
    Slip(
        "output",
        lambda weights, q, k, v: weights @ k,
        "The keys were mixed. They decide who contributes; what is contributed are the values.",
    ),
    Slip(
        "output",
        lambda weights, q, k, v: weights.mT @ v,
        "The weights are turned around before they meet the values. (Lq, Lk) times (Lk, Dv) fits "
        "as it is.",
    ),
    Slip(
        "output",
        lambda weights, q, k, v: weights,
        "These are the weights. One step is left: mix the values with them.",
    ),
    Slip(
        "output",
        lambda weights, q, k, v: weights @ v / math.sqrt(q.size(-1)),
        "The output is divided by √Dk. It is the scores that are too large for the softmax: "
        "nothing is to be divided after it.",
    ),
    Slip(
        "output",
        lambda weights, q, k, v: v.mean(-2, keepdim=True).expand(*weights.shape[:-1], -1),
        "Every output is the plain average of the values. The weights have had no influence.",
    ),
    Slip(
        "output",
        lambda weights, q, k, v: weights @ v / v.size(-2),
        "The mixture is divided by the number of keys. The weights sum to 1 already: that divides "
        "twice (did you take a `mean` where a sum belongs?).",
    ),
    Slip(
        "output",
        lambda weights, q, k, v: v @ weights,
        "The values stand on the left. Each row of weights mixes the rows of the values: the "
        "weights come first.",
    ),
)


def renormalized(scores: Tensor, mask: Tensor) -> Tensor:
    after = scores.softmax(-1) * mask
    return after / after.sum(-1, keepdim=True)


MASKS = (
    Slip(
        "weights",
        lambda scores, mask: scores.masked_fill(~mask, -1e9).softmax(-1),
        "The row that may look at nothing came out as an average of all that it was forbidden "
        "to see. A large negative number such as −10⁹ does that: it makes the whole row equal, "
        "and equal scores share equally. Only −∞ leaves nothing.",
    ),
    Slip(
        "weights",
        lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(-1),
        "Right wherever there is something to look at. The row of nothing is 0/0, NaN. (To "
        "multiply by the mask afterwards is no cure: 0 times NaN is NaN. Something has to be "
        "filled in.)",
    ),
    Slip(
        "weights",
        lambda scores, mask: scores.softmax(-1),
        "The mask has had no influence: every key got a weight.",
    ),
    Slip(
        "weights",
        lambda scores, mask: scores.softmax(-1) * mask,
        "You masked after the softmax. The rows do not sum to 1, and the denominator has read "
        "every hidden score: hide them before.",
    ),
    Slip(
        "weights",
        renormalized,
        "You masked after the softmax and divided each row by its sum. On paper that is right. "
        "But a loud hidden key leaves the others nothing, and then you divide 0 by 0: hide the "
        "scores before.",
    ),
    Slip(
        "weights",
        lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(-1),
        "You hid what was permitted. `masked_fill` fills where its mask is True, and in this "
        "book True means may look: `~`.",
    ),
    Slip(
        "weights",
        lambda scores, mask: masked(scores, ~mask),
        "You hid what was permitted, from the first line to the last. In this book True means may "
        "look: `masked_fill` fills where its mask is True, so it needs `~mask`.",
    ),
    Slip(
        "weights",
        lambda scores, mask: (scores + mask).softmax(-1),
        "The mask was added as a number: each permitted key gained 1, and nothing was hidden.",
    ),
    Slip(
        "weights",
        lambda scores, mask: (scores * mask).softmax(-1),
        "The mask was multiplied with the scores. A hidden key has score 0 now, and e⁰ is 1: "
        "an ordinary weight.",
    ),
    Slip(
        "weights",
        lambda scores, mask: (scores * mask).softmax(-1) * mask,
        "The mask was multiplied with the scores, so that a hidden key has score 0, and e⁰ is 1: "
        "it still counts in the sum by which the others are divided. Hide it with −∞.",
    ),
)


class Family:
    """The mistakes of one exercise: each slip alone, then each two in different lines.

    `build` makes the exercise's function of a head. `widths` names further sizes whose root may
    have been taken, with a function that finds each in the exercise's arguments. `right` is the
    head of an exercise that leaves a line out, or another thing made of lines, with slips of its
    own.
    """

    def __init__(
        self,
        build: Callable[[Any], Callable[..., Any]],
        *groups: Sequence[Slip],
        widths: Mapping[str, Callable[..., int]] | None = None,
        right: Any = Head(),
    ) -> None:
        self.build, self.right = build, right
        self.slips: list[tuple[str, Callable[..., Any], str]] = [
            (slip.line, lambda *arguments, slip=slip: slip.wrong, slip.says)
            for group in groups
            for slip in group
        ]
        for name, size in (widths or {}).items():
            says = (
                f"The scores are divided by √{name}. A dot product adds up over the width of the "
                "query and key that meet in it, so that width sets its spread: √Dk."
            )
            over = lambda *arguments, size=size: partial(root_of, size(*arguments))  # noqa: E731
            self.slips.append(("scores", over, says))

    def __iter__(self) -> Iterator[Mistake]:
        yield from self.singles()
        for one, other in itertools.combinations(self.slips, 2):
            if one[0] != other[0]:
                says = f"Two things. {one[2]}\n{other[2]}"
                yield Mistake(self.with_lines(one, other), says, single=False)

    def singles(self) -> Iterator[Mistake]:
        for slip in self.slips:
            yield Mistake(self.with_lines(slip), slip[2])

    def with_lines(self, *slips: tuple[str, Callable[..., Any], str]) -> Callable[..., Any]:
        """The exercise's function, with these lines in place of the right ones."""

        def wrong(*arguments: Any) -> Any:
            lines = {line: made(*arguments) for line, made, _ in slips}
            return self.build(replace(self.right, **lines))(*arguments)

        return wrong
