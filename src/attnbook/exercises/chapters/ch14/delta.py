"""The delta rule, word by word."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, some_sizes
from attnbook.language import _


def my_delta(query: Tensor, key: Tensor, value: Tensor, beta: Tensor) -> Tensor:
    state: Any = 0  # later (..., Dk, Dv)
    rows = []
    words = query.unbind(-2), key.unbind(-2), value.unbind(-2), beta.unbind(-1)
    for q, k, v, b in zip(*words, strict=True):
        held = (k[..., :, None] * state).sum(-2)  # (..., Dv)
        written = b[..., None] * (v - held)
        state = state + k[..., :, None] * written[..., None, :]
        rows.append((q[..., :, None] * state).sum(-2))
    return torch.stack(rows, dim=-2)


def delta_by_a_system(query: Tensor, key: Tensor, value: Tensor, beta: Tensor) -> Tensor:
    beta = beta.unsqueeze(-1)
    system = torch.eye(key.size(-2)).to(key) + (beta * (key @ key.mT)).tril(-1)
    written = torch.linalg.solve_triangular(system, beta * value, upper=False)
    return (query @ key.mT).tril() @ written


def delta_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        *front, length, dk, dv = sizes
        names = ("A", "B", "H", "L", "Dk", "Dv")[-len(sizes) :]
        query, key = (draw(generator, *front, length, dk) for _ in range(2))
        key = torch.nn.functional.normalize(key, dim=-1)
        value, beta = draw(generator, *front, length, dv), draw(generator, *front, length).sigmoid()
        return Case((query, key, value, beta), dict(zip(names, sizes, strict=True)), note)

    length, dk, dv = some_sizes(generator, 3)
    return [
        case("3 words", 3, 5, 7),
        case(_("{n} words").format(n=length), length, dk, dv),
        case("2 sentences, 3 heads", 2, 3, 5, 6, 7),
        case("one more leading axis", 4, 2, 3, 5, 7, 6),
        case("1 word", 1, 5, 3),
    ]


Line = Callable[..., Any]


def delta(
    difference: Line = lambda v, held, b: b * (v - held),
    new: Line = lambda state, write, b: state + write,
    read: Line = lambda before, after: after,
    held_by: Line = lambda q, k: k,
) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """Return a delta rule that is right unless a line is replaced."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, beta: Tensor) -> Tensor:
        state = torch.zeros_like(key[..., 0, :, None] * value[..., 0, None, :])
        rows = []
        for t in range(key.size(-2)):
            q, k, v = query[..., t, None, :], key[..., t, None, :], value[..., t, None, :]
            before = state
            b = beta[..., t, None, None]
            write = difference(v, held_by(q, k) @ state, b)
            state = new(state, k.mT @ write, b)
            rows.append(q @ read(before, state))
        return torch.cat(rows, dim=-2)

    return wrong


EXERCISE = Exercise(
    title="The delta rule, word by word",
    level=2,
    minutes=12,
    section="14.6",
    prompt="""
Write `my_delta(query, key, value, beta)`. `query` and `key` are (..., L, Dk), `value` (..., L, Dv)
and `beta` (..., L). The state is a matrix of Dk × Dv numbers, zeros before the first word. At each
word, read what the state holds for the word's key, add β times the difference between the word's
value and what you read, at this key, and then read the new state with the word's query. Return the
outputs, (..., L, Dv).
""",
    reference=my_delta,
    cases=delta_cases,
    axes="A B H L Dv",
    mistakes=(
        Mistake(
            delta(difference=lambda v, held, b: b * v),
            "That is a sum: you did not subtract what the state holds for the key.",
        ),
        Mistake(
            delta(difference=lambda v, held, b: v - held),
            "β is missing: only this fraction of the difference is written.",
        ),
        Mistake(
            delta(difference=lambda v, held, b: b * v - held),
            "β multiplies the whole difference, not only the value.",
        ),
        Mistake(
            delta(difference=lambda v, held, b: v - b * held),
            "β multiplies the whole difference, not only what the state holds.",
        ),
        Mistake(
            delta(difference=lambda v, held, b: b * (held - v)),
            "The difference has the wrong sign. The state should move *toward* the new value.",
        ),
        Mistake(
            delta(difference=lambda v, held, b: b * (v + held)),
            "You added what the state holds. Subtract it.",
        ),
        Mistake(
            delta(
                difference=lambda v, held, b: b * v,
                new=lambda state, write, b: (1 - b) * state + write,
            ),
            "You multiplied the whole state by 1 − β, so all keys lose something. Subtract only "
            "what the state holds for the word's key.",
        ),
        Mistake(
            delta(read=lambda before, after: before),
            "You read the state before the word is written, so the first output is zero.",
        ),
        Mistake(
            delta(new=lambda state, write, b: write),
            "Your state holds only the newest word. Add what is written to the old state.",
        ),
        Mistake(
            delta(held_by=lambda q, k: q),
            "You looked up the word's *query* before writing. What has to be replaced is what the "
            "state holds for the word's key.",
        ),
        Mistake(
            lambda query, key, value, beta: my_delta(key, key, value, beta),
            "You read the new state with the word's key. Read it with its query.",
        ),
        Mistake(
            lambda query, key, value, beta: (
                my_delta(query, key, value, beta)[..., -1:, :].expand(*value.shape)
                if value.size(-2) > 1
                else my_delta(query, key, value, beta) * 1
            ),
            "All words get the output of the last one. Read the state after each word.",
        ),
    ),
    hints=(
        "Go from word to word. Three things happen: read with the key, write, read with the query.",
        "With `k` of shape (..., Dk), `(k[..., :, None] * state).sum(-2)` is what the state holds "
        "for the key, (..., Dv).",
        "`written = b[..., None] * (v - held)`, then `state = state + k[..., :, None] * "
        "written[..., None, :]`, then read with `q` as before with `k`.",
    ),
    insight="With β = 0 a word writes nothing, and with β = 1 and a key of norm 1, the state then "
    "holds exactly the word's value for this key, whatever it held before. A sum of outer "
    "products would add the value to what was there.",
    comes_back="14.7 computes all words at once.",
    others=(delta_by_a_system,),
)
