"""Linear attention with a running state."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.chapters.ch10.shared import lies_between
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, some_sizes
from attnbook.language import _


def my_running(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    state: Any = 0
    total: Any = 0
    rows = []
    for q, k, v in zip(query.unbind(-2), key.unbind(-2), value.unbind(-2), strict=True):
        state = state + k[..., :, None] * v[..., None, :]  # (..., Dk, Dv)
        total = total + k  # (..., Dk)
        read = (q[..., None, :] @ state).squeeze(-2)  # (..., Dv)
        rows.append(read / (q * total).sum(-1, keepdim=True))
    return torch.stack(rows, dim=-2)


def running_in_parallel(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = (query @ key.mT).tril()
    return (weights / weights.sum(-1, keepdim=True)) @ value


def running_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        *front, length, dk, dv = sizes
        names = ("A", "B", "H", "L", "Dk", "Dv")[-len(sizes) :]
        query, key = (draw(generator, *front, length, dk).exp() for _ in range(2))
        value = draw(generator, *front, length, dv)
        return Case((query, key, value), dict(zip(names, sizes, strict=True)), note)

    length, dk, dv = some_sizes(generator, 3)
    return [
        case("3 words", 3, 5, 7),
        case(_("{n} words").format(n=length), length, dk, dv),
        case("2 sentences, 3 heads", 2, 3, 5, 6, 7),
        case("one more leading axis", 4, 2, 3, 5, 7, 6),
        case("1 word", 1, 5, 3),
    ]


def divided_by(total: Callable[..., Any]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Causal linear attention whose denominator is a function of weights, query and key."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        weights = (query @ key.mT).tril()  # (..., L, L)
        return weights @ value / total(weights, query, key)

    return wrong


def earlier(query: Tensor, diagonal: int = 0) -> Tensor:
    """Return the mask, (L, L), in which word i sees the words up to i + diagonal."""
    length = query.size(-2)
    return torch.ones(length, length, dtype=torch.bool, device=query.device).tril(diagonal)


def state_before_it_grows(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = query @ key.mT * earlier(query, -1)
    return weights @ value / weights.sum(-1, keepdim=True)


def by_one_total(weights: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return weights.sum((*range(weights.dim() - 2), -1), keepdim=True)


EXERCISE = Exercise(
    title="Linear attention with a running state",
    level=2,
    minutes=12,
    section="10.12",
    second_reading=True,
    prompt="""
Write `my_running(query, key, value)` for causal linear attention. φ has already been applied to
`query` and `key`, (..., L, Dk), so all their numbers are positive. `value` is (..., L, Dv). Word i
gives each word j ≤ i the weight q_i · k_j, divided by the sum of these weights over all j ≤ i.
Return the outputs, (..., L, Dv). Try it without an L × L matrix: go from word to word, with a
running sum of Dk × Dv numbers and one of Dk numbers.
""",
    reference=my_running,
    cases=running_cases,
    axes="A B H L Dv",
    on_cpu=True,
    mistakes=(
        Mistake(
            lambda query, key, value: (
                query @ (key.mT @ value) / (query @ key.sum(-2, keepdim=True).mT)
            ),
            "Every word attends to all words, including later ones. Word i may use only the sums "
            "up to word i.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: query @ key.sum(-2, keepdim=True).mT),
            "Your denominator sums over *all* words. It should be a running sum as well.",
        ),
        Mistake(
            state_before_it_grows,
            "You use the sums before you add the word itself, so no word attends to itself, and "
            "the first word gets 0/0.",
        ),
        Mistake(
            lambda query, key, value: (
                (query * key).sum(-1, keepdim=True) * value / (query @ key.mT).tril().sum(-1, True)
            ),
            "Your state holds only the newest word's k and v. Add them to the earlier ones.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: 1.0),
            "The division is missing: the weights of a word have to sum to 1.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: (query * key).sum(-1, keepdim=True)),
            "You divided by q · k of the word itself. The denominator needs the sum of all keys "
            "so far.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: (query * key).sum(-1, keepdim=True).cumsum(-2)),
            "Your denominator adds up q_j · k_j, each key with its own query. The query of word i "
            "has to be multiplied by the sum of all keys so far.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: key.cumsum(-2).sum(-1, keepdim=True)),
            "You divided by the sum of all numbers in the keys. The denominator is q · (sum of "
            "keys).",
        ),
        Mistake(
            divided_by(by_one_total),
            "All sentences and heads share one denominator: `.sum()` without an axis adds up "
            "everything.",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.mT).masked_fill(~earlier(query), -torch.inf).softmax(-1) @ value
            ),
            "You took a softmax. Here q · k is the weight itself, divided by the sum.",
        ),
        Mistake(
            lambda query, key, value: scaled_dot_product_attention(
                query, key, value, earlier(query)
            )[0],
            "That is ordinary causal attention, with a softmax. Here q · k is the weight itself.",
        ),
        Mistake(
            lambda query, key, value: my_running(F.elu(query) + 1, F.elu(key) + 1, value),
            "You applied φ once more. It has been applied to queries and keys already.",
        ),
    ),
    properties=(
        Property(
            "Each output has to lie between the smallest and the largest value so far, but some "
            "of yours do not. Do they use later words, or do their weights not sum to 1?",
            lambda answer, case: lies_between(
                answer, case.arguments[2].cummin(-2).values, case.arguments[2].cummax(-2).values
            ),
        ),
    ),
    hints=(
        "In the sum of (q_i · k_j) v_j over j ≤ i, q_i can be moved in front of the sum. What is "
        "left inside?",
        "What is left is a sum of products of k_j as a column and v_j as a row, Dk × Dv numbers. "
        "The denominator is q_i · Σ k_j. Both sums grow by one term for each word.",
        "`state + k[..., :, None] * v[..., None, :]` and `total + k`. Then `q[..., None, :] @ "
        "state`, divided by `(q * total).sum(-1, keepdim=True)`.",
    ),
    insight="The state has Dk · Dv numbers, whether after ten words or after a million. So its "
    "memory is constant, but it cannot keep all words apart.",
    comes_back="10.experiment asks how to recognize linear attention from the outside.",
    others=(running_in_parallel,),
)
