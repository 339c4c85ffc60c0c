"""The three lines of attention, each of which can be replaced by a wrong one."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor


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


RIGHT = Head()


class WrongLine(NamedTuple):
    """A wrong version of a line, and the message for readers who wrote it.

    `line` names the line: a field of Head, or of the dataclass used instead. `fault` is what
    `examine` calls the mistake; without one, `examine` does not look for it.
    """

    line: str
    wrong: Callable[..., Any]
    message: str
    fault: str = ""
