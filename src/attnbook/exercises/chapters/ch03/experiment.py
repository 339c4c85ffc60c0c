"""Find out what a head divides by."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _

StrangeHead = Callable[[Tensor, Tensor, Tensor], Tensor]


def divides_by(head: StrangeHead) -> str:
    query, key = torch.zeros(1, 9), torch.zeros(4, 9)
    query[0, 0] = key[0, 0] = 1.0  # one dot product is 1, the others are 0
    weights = head(query, key, torch.eye(4))  # these values return the weights
    divisor = 1 / (weights[0, 0] / weights[0, 1]).log()
    return {1: "nothing", 9: "Dk", 3: "root of Dk", 2: "root of Lk"}[round(divisor.item())]


def by_trying(head: StrangeHead) -> str:
    query, key, value = torch.randn(2, 5), torch.randn(3, 5), torch.randn(3, 7)
    divisors = {"nothing": 1.0, "Dk": 5.0, "root of Dk": 5**0.5, "root of Lk": 3**0.5}
    output = head(query, key, value)

    def distance(word: str) -> float:
        mine = (query @ key.mT / divisors[word]).softmax(-1) @ value
        return (mine - output).abs().max().item()

    return min(divisors, key=distance)


def dividing(divisor: Callable[[Tensor, Tensor], float]) -> StrangeHead:
    return lambda query, key, value: (query @ key.mT / divisor(query, key)).softmax(-1) @ value


def shifted(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Divide by √Dk, and add to each row of scores a number that cancels in the softmax."""
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return (scores + query.sum(-1, keepdim=True)).softmax(-1) @ value


RAW = dividing(lambda query, key: 1.0)
WIDTH = dividing(lambda query, key: query.size(-1))
ROOT = dividing(lambda query, key: math.sqrt(query.size(-1)))
LENGTH = dividing(lambda query, key: math.sqrt(key.size(-2)))
HEADS = {"A": LENGTH, "B": ROOT, "C": RAW, "D": WIDTH, "E": shifted}

EXERCISE = Exercise(
    title="Find out what a head divides by",
    level=3,
    minutes=15,
    section="3.8",
    prompt="""
You get five heads without their source code. Each takes `query`, `key` and `value`, as in section
3.6, and returns only the output. Before the softmax, it may divide its scores by something. Write
an experiment that finds the divisor: `divides_by(head)` calls `head` with tensors of your choice,
and returns `"nothing"`, `"Dk"`, `"root of Dk"` or `"root of Lk"`.
""",
    reference=divides_by,
    cases=lambda generator: [
        Case((head,), note=_("head {name}").format(name=name)) for name, head in HEADS.items()
    ],
    choices={
        ((LENGTH, ROOT, WIDTH, shifted), "nothing"): "it does divide. A width of 1, or a single "
        "key, would hide that.",
        (LENGTH, "Dk"): "its divisor does not change with the width. Make the keys wider: do the "
        "weights change?",
        (LENGTH, "root of Dk"): "can your experiment tell √Dk from √Lk? The number of keys must "
        "differ from the width.",
        ((ROOT, shifted), "Dk"): "it divides by less than the width.",
        ((ROOT, WIDTH, shifted), "root of Lk"): "its divisor does not change with the number of "
        "keys. Add keys, and compare the ratio of two weights.",
        (RAW, "Dk"): "it divides by nothing: a wider query with the same dot product gives the "
        "same weights.",
        (RAW, "root of Dk"): "it divides by nothing: the ratio of two weights is e to the "
        "difference of their dot products.",
        (RAW, "root of Lk"): "it divides by nothing: more keys do not change the ratio of two "
        "weights.",
        (WIDTH, "root of Dk"): "it divides by more than the root: from width 4 to 16 its divisor "
        "grows fourfold.",
    },
    hints=(
        "You choose the values, too. Which values make the output equal to the weights?",
        "The ratio of two weights is e to the difference of their scores. Make that difference 1 "
        "before the division.",
        "`value = torch.eye(Lk)` shows the weights. With Dk = 9 and Lk = 4 the four divisors "
        "differ.",
    ),
    insight="With Dk = Lk, √Dk and √Lk are the same number. Test a layer with sizes that all "
    "differ.",
    comes_back="Section 6.11 finds leaks in the same way: change one input and see which outputs "
    "change.",
    others=(by_trying,),
)
