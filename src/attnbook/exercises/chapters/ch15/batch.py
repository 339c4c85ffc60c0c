"""The next words of a padded batch, with a cache."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, draw
from attnbook.mistakes.head import WrongLine
from attnbook.positions.rotary import apply_rotary


def batch_step(
    x: Tensor, keep: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    old, new = keys.size(1), x.size(1)
    real = F.pad(keep, (0, new), value=True)  # (B, old + new)
    positions = (real.cumsum(1) - 1)[:, old:]  # (B, new)
    query, key = apply_rotary(x @ w_q, positions), apply_rotary(x @ w_k, positions)
    keys, values = torch.cat((keys, key), dim=1), torch.cat((values, x @ w_v), dim=1)
    mask = real[:, None].expand(-1, new, -1).tril(old)
    return scaled_dot_product_attention(query, keys, values, mask)[0]


def batch_step_one_by_one(
    x: Tensor, keep: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    """Without padding, the sentences are taken one at a time, and their words, too."""
    outputs = []
    for rows, real, key, value in zip(x, keep, keys, values, strict=True):
        key, value = key[real], value[real]
        for row in rows:
            at = torch.tensor([len(key)], device=x.device)
            key = torch.cat((key, apply_rotary(row[None] @ w_k, at)))
            value = torch.cat((value, row[None] @ w_v))
            query = apply_rotary(row[None] @ w_q, at)
            outputs.append(scaled_dot_product_attention(query, key, value)[0])
    return torch.cat(outputs).view(*x.shape[:2], -1)


def batch_cases(generator: Generator) -> list[Case]:
    def case(note: str, padding: tuple[int, ...], new: int, old: int, *widths: int) -> Case:
        d, dk, dv = widths
        n = len(padding)
        keep = torch.arange(old) >= torch.tensor(padding)[:, None]
        shapes = ((n, new, d), (n, old, dk), (n, old, dv), (d, dk), (d, dk), (d, dv))
        x, keys, values, *matrices = (draw(generator, *shape) for shape in shapes)
        at = keep.cumsum(1) - 1
        drawn = (x, keep, apply_rotary(keys, at), values, *(w / d**0.5 for w in matrices))
        sizes = {"B": n, "new": new, "old": old, "D": d, "Dk": dk, "Dv": dv}
        return Case(drawn, sizes, note)

    return [
        case("1 new word, 2 prompts", (0, 2), 1, 4, 7, 6, 5),
        case("3 new words, 2 prompts", (3, 1), 3, 5, 8, 6, 7),
        case("2 new words, 4 prompts", (0, 5, 3, 1), 2, 7, 5, 10, 3),
    ]


@dataclass(frozen=True)
class Step:
    """The parts of the step. Each is right unless it is replaced."""

    first: Callable[[Tensor], Tensor] = lambda keep: keep.sum(1, keepdim=True)
    after: Callable[[Tensor], Tensor] = lambda counted: counted
    turned: Callable[..., tuple[Tensor, Tensor]] = lambda query, key, at: (
        apply_rotary(query, at),
        apply_rotary(key, at),
    )
    real: Callable[[Tensor, int], Tensor] = lambda keep, new: torch.cat(
        (keep, torch.ones_like(keep[:, :1]).expand(-1, new)), dim=1
    )
    diagonal: Callable[[int], int] = lambda old: old
    cached: Callable[[Tensor, Tensor], Tensor] = lambda keys, keep: keys

    def __call__(
        self,
        x: Tensor,
        keep: Tensor,
        keys: Tensor,
        values: Tensor,
        w_q: Tensor,
        w_k: Tensor,
        w_v: Tensor,
    ) -> Tensor:
        old, new = keys.size(1), x.size(1)
        positions = self.first(keep) + self.after(torch.arange(new, device=x.device))
        query, key = self.turned(x @ w_q, x @ w_k, positions)
        keys = torch.cat((self.cached(keys, keep), key), dim=1)
        values = torch.cat((values, x @ w_v), dim=1)
        triangle = torch.ones(new, old + new, dtype=torch.bool, device=x.device)
        mask = triangle.tril(self.diagonal(old)) & self.real(keep, new)[:, None]
        return scaled_dot_product_attention(query, keys, values, mask)[0]


OFF_BY_ONE = "Off by one: with n real words in the cache, at 0 to n − 1, the next one is at n."
STEP_MISTAKES = (
    WrongLine(
        "first",
        lambda keep: torch.full_like(keep[:, :1], keep.size(1), dtype=torch.long),
        "Your new words are at the position of their *slot*. The cached keys are counted in their "
        "own text: continue with the number of its real words.",
    ),
    WrongLine(
        "first",
        lambda keep: torch.zeros_like(keep[:, :1], dtype=torch.long),
        "Your first new word is at position 0, as if the cache were empty.",
    ),
    WrongLine(
        "first",
        lambda keep: keep[:1].sum(1, keepdim=True).expand(len(keep), 1),
        "All sentences get the positions of the first one. Each has its own number of real words.",
    ),
    WrongLine(
        "first",
        lambda keep: keep.sum(1, keepdim=True) - 1,
        OFF_BY_ONE,
    ),
    WrongLine("first", lambda keep: keep.sum(1, keepdim=True) + 1, OFF_BY_ONE),
    WrongLine(
        "first",
        lambda keep: (~keep).sum(1, keepdim=True),
        "You continue with the number of *padding* slots. Count the real words: `keep` is True "
        "for them.",
    ),
    WrongLine(
        "first",
        lambda keep: keep.sum(1, keepdim=True).amax(0, keepdim=True).expand(len(keep), 1),
        "All sentences continue with the number of words of the longest one. Each has its own "
        "number of real words.",
    ),
    WrongLine(
        "after",
        torch.zeros_like,
        "All your new words are at the same position. Each comes one position after the last.",
    ),
    WrongLine(
        "turned",
        lambda query, key, at: (apply_rotary(query, at), key),
        "Your new keys are not rotated. Those in the cache are, so the new ones have to be, too.",
    ),
    WrongLine(
        "turned",
        lambda query, key, at: (query, apply_rotary(key, at)),
        "Your queries are not rotated. Rotate them by the positions of the new words.",
    ),
    WrongLine(
        "turned",
        lambda query, key, at: (query, key),
        "Neither your queries nor your new keys are rotated.",
    ),
    WrongLine(
        "real",
        lambda keep, new: torch.ones_like(keep[:, :1]).expand(-1, keep.size(1) + new),
        "Your new words attend to padding. `keep` is not used in the mask.",
    ),
    WrongLine(
        "real",
        lambda keep, new: torch.cat((torch.ones_like(keep[:, :1]).expand(-1, new), keep), dim=1),
        "The new words come *after* the old ones, and in your mask they come before.",
    ),
    WrongLine(
        "real",
        lambda keep, new: torch.cat((~keep, torch.ones_like(keep[:, :1]).expand(-1, new)), dim=1),
        "Your mask is inverted: it shows the padding and hides the real words.",
    ),
    WrongLine(
        "diagonal",
        lambda old: 0,
        "Your triangle starts in the upper left corner. The last query is the last word, so it "
        "has to end in the lower right.",
    ),
    WrongLine(
        "diagonal",
        lambda old: old + 1,
        "Each of your new words sees the next one, too.",
    ),
    WrongLine(
        "diagonal",
        lambda old: 10**6,
        "Your new words see all new words: the triangle is missing.",
    ),
    WrongLine(
        "cached",
        lambda keys, keep: apply_rotary(keys, keep.cumsum(1) - 1),
        "You rotated the cached keys again. They were rotated when they were read.",
    ),
    WrongLine(
        "diagonal",
        lambda old: old - 1,
        "Your new words do not see themselves.",
    ),
)

EXERCISE = Exercise(
    title="A padded batch with a cache",
    level=3,
    minutes=20,
    section="15.7",
    prompt="""
Prompts of different lengths were padded on the left and read. `keep` (B, old), boolean, is True for
their real words. The cache holds `keys` (B, old, Dk), rotated by the position *in their own text*,
and `values` (B, old, Dv). Now each text gets `new` more words, `x` (B, new, D), without padding.
Write `batch_step(x, keep, keys, values, w_q, w_k, w_v)`. It returns the new words' outputs of this
causal head with rotary positions, (B, new, Dv), and they are those of each text alone. `w_q`, `w_k`
(D, Dk) and `w_v` (D, Dv) are the head's matrices. `apply_rotary` takes positions (B, L), too.
""",
    axes="B new Dv",
    reference=batch_step,
    cases=batch_cases,
    common_mistakes=MistakeSet(lambda step: step, STEP_MISTAKES, right=Step()),
    hints=(
        "What is the position of the first new word of each text? It differs from text to text.",
        "`keep.sum(1, keepdim=True) + torch.arange(new)` is (B, new). The mask needs two parts: "
        "a triangle (new, old + new), and which slots are real, (B, old + new).",
        "`tril(old)` gives the triangle. Extend `keep` by `new` times True, add an axis for the "
        "queries, and combine both with `&`.",
    ),
    insight="Position and slot are two numbers. Everything about positions counts real words, and "
    "everything about the cache counts slots.",
    comes_back="`sample` of chapter 12 continues prompts of different lengths in this way.",
    others=(batch_step_one_by_one,),
)
