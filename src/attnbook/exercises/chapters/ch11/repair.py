"""One step with a cache."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw
from attnbook.mistakes.head import WrongLine
from attnbook.positions.rotary import apply_rotary


def next_output(
    x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    old, new = keys.size(-2), x.size(-2)
    positions = torch.arange(old, old + new, device=x.device)
    query, key = apply_rotary(x @ w_q, positions), apply_rotary(x @ w_k, positions)
    keys = torch.cat((keys, key), dim=-2)
    values = torch.cat((values, x @ w_v), dim=-2)
    mask = torch.ones(new, old + new, dtype=torch.bool, device=x.device).tril(old)
    return scaled_dot_product_attention(query, keys, values, mask)[0]


def next_output_in_two_parts(
    x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    old, new = keys.size(-2), x.size(-2)
    here = torch.arange(old, old + new, device=x.device)
    query = apply_rotary(x @ w_q, here) / math.sqrt(w_q.size(-1))
    before = query @ keys.mT
    among = query @ apply_rotary(x @ w_k, here).mT
    among = among.masked_fill(here > here[:, None], -math.inf)
    weights = torch.cat((before, among), dim=-1).softmax(dim=-1)
    return weights @ torch.cat((values, x @ w_v), dim=-2)


def step_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        *front, new, old, d, dk, dv = sizes
        shapes = ((*front, new, d), (*front, old, dk), (*front, old, dv), (d, dk), (d, dk), (d, dv))
        names = ("A", "B", "new", "old", "D", "Dk", "Dv")[-len(sizes) :]
        x, keys, values, *matrices = (draw(generator, *shape) for shape in shapes)
        drawn = (x, keys, values, *(w / d**0.5 for w in matrices))  # so that no score dominates
        return Case(drawn, dict(zip(names, sizes, strict=True)), note)

    return [
        case("1 new word after 3", 1, 3, 7, 6, 5),
        case("3 new words after 5", 3, 5, 8, 6, 7),
        case("4 new words, an empty cache", 4, 0, 7, 10, 5),
        case("2 texts, 3 new words after 4", 2, 3, 4, 7, 6, 5),
        case("one more leading axis", 2, 3, 4, 5, 7, 8, 6),
    ]


Pair = tuple[Tensor, ...]


@dataclass(frozen=True)
class Step:
    """The parts of the step. Each is right unless it is replaced."""

    first: Callable[[int, int], int] = lambda old, new: old
    key: Callable[[Tensor, Tensor], Tensor] = apply_rotary  # (key, positions)
    join_keys: Callable[[Tensor, Tensor], Pair] = lambda old, new: (old, new)
    join_values: Callable[[Tensor, Tensor], Pair] = lambda old, new: (old, new)
    diagonal: Callable[[int, int], int] = lambda old, new: old

    def __call__(
        self, x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
    ) -> Tensor:
        old, new = keys.size(-2), x.size(-2)
        positions = torch.arange(new, device=x.device) + self.first(old, new)
        query, key = apply_rotary(x @ w_q, positions), self.key(x @ w_k, positions)
        keys = torch.cat(self.join_keys(keys, key), dim=-2)
        values = torch.cat(self.join_values(values, x @ w_v), dim=-2)
        mask = torch.ones(new, keys.size(-2), dtype=torch.bool, device=x.device)
        mask = mask.tril(self.diagonal(old, new))
        return scaled_dot_product_attention(query, keys, values, mask)[0]


def at_0(old: int, new: int) -> int:
    return 0


def in_front(old: Tensor, new: Tensor) -> Pair:
    return new, old


def only_new(old: Tensor, new: Tensor) -> Pair:
    return (new,)


STEP_MISTAKES = (
    WrongLine(
        "first", at_0, "Your first new word is still at position 0, as if the cache were empty."
    ),
    WrongLine(
        "first",
        lambda old, new: old + 1,
        "Off by one: the old words are at 0 to old − 1, so the first new one is at `old`.",
    ),
    WrongLine("key", lambda key, positions: key, "The new keys are not rotated."),
    WrongLine(
        "key",
        lambda key, positions: apply_rotary(key, positions - positions[0]),
        "The new keys are rotated as if the first were at position 0. They are at the same "
        "positions as their queries.",
    ),
    WrongLine(
        "join_keys",
        lambda old, new: (apply_rotary(old, torch.arange(old.size(-2), device=old.device)), new),
        "You rotated the old keys once more. The keys in the cache are already rotated.",
    ),
    WrongLine(
        "join_values",
        in_front,
        "The new values come before the old ones, but the new keys come after the old ones.",
    ),
    WrongLine(
        "diagonal",
        at_0,
        "Your triangle starts in the top left corner, so the first new word attends to word 0 "
        "alone. It may attend to all old words and to itself.",
    ),
    WrongLine("diagonal", lambda old, new: old - 1, "Off by one: a new word may attend to itself."),
    WrongLine(
        "diagonal",
        lambda old, new: old + new,
        "Your mask hides nothing, so the first of several new words attends to later ones.",
    ),
    WrongLine(
        "diagonal",
        lambda old, new: new,
        "You moved the triangle by `new`. Move it by `old`, the number of words before the first "
        "new one.",
    ),
)

EXERCISE = Exercise(
    title="One step with a cache",
    level=3,
    minutes=15,
    section="11.6",
    prompt="""
A causal head with rotary positions has read some words. Their `keys` (..., old, Dk), already
rotated, and `values` (..., old, Dv) are in a cache. Now `x` (..., new, D) holds the next words, one
or more. This function should return their outputs, (..., new, Dv), as if all words had been read at
once. It runs, and with an empty cache it is right. Find the three faults. `w_q`, `w_k` (D, Dk) and
`w_v` (D, Dv) are the head's matrices.
""",
    stub="""
def next_output(x, keys, values, w_q, w_k, w_v):
    raise NotImplementedError  # repair the lines below, then delete this one
    old, new = keys.size(-2), x.size(-2)
    positions = torch.arange(new, device=x.device)
    query, key = apply_rotary(x @ w_q, positions), apply_rotary(x @ w_k, positions)
    keys = torch.cat((keys, key), dim=-2)
    values = torch.cat((x @ w_v, values), dim=-2)
    mask = torch.ones(new, old + new, dtype=torch.bool, device=x.device).tril()
    return scaled_dot_product_attention(query, keys, values, mask)[0]
""",
    reference=next_output,
    cases=step_cases,
    axes="A B new Dv",
    mistakes=(
        Mistake(
            Step(at_0, join_values=in_front, diagonal=at_0),
            "All three faults are still there. At which position is the first new word? Are keys "
            "and values in the same order? Which words may the first new word attend to?",
        ),
        Mistake(
            Step(join_values=in_front, diagonal=at_0),
            "The positions are now right. What about the order of the values, and the mask?",
        ),
        Mistake(
            Step(at_0, diagonal=at_0),
            "The order of the values is now right. What about the positions, and the mask?",
        ),
        Mistake(
            Step(at_0, join_values=in_front),
            "The mask is now right. What about the positions, and the order of the values?",
        ),
        Mistake(
            Step(join_keys=in_front, join_values=in_front),
            "The new words come before the old ones. The mask expects the old words first.",
        ),
        Mistake(
            Step(join_keys=only_new, join_values=only_new, diagonal=at_0),
            "The old words have no effect: each new word attends to the new ones alone.",
        ),
    ),
    common_mistakes=MistakeSet(lambda step: step, STEP_MISTAKES, right=Step()),
    hints=(
        "Take three old words and two new ones, and write down what each line should give: "
        "positions 3 and 4, five keys, five values, and a mask of two rows.",
        "The new words come after the old ones in every line, and attend to all of them.",
        "`torch.arange(old, old + new)`, `cat((values, x @ w_v))`, `tril(old)`.",
    ),
    insight="With an empty cache, all three faults are invisible, and otherwise none raises an "
    "error. So test a cache on a text that is read in pieces of several words, and compare the "
    "outputs with those of one pass over the whole text.",
    comes_back="11.experiment asks how a head is told about positions.",
    others=(next_output_in_two_parts,),
)
