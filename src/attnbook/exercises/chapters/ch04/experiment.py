"""Test a split into heads so that the test finds the fault."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.attention.heads import split_heads
from attnbook.exercises.exercise import Case, Exercise

Cut = Callable[[Tensor, int], Tensor]


def is_right(cut: Cut) -> bool:
    for batch in (), (2,), (2, 4):
        x = torch.randn(*batch, 5, 21)
        if not torch.equal(cut(x, 3), split_heads(x, 3)):
            return False
    return True


def one_by_one(x: Tensor, n_heads: int) -> Tensor:
    return torch.stack(x.chunk(n_heads, dim=-1), dim=-3)


def by_view(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(*x.shape[:-2], n_heads, x.size(-2), -1)


def taking_turns(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (-1, n_heads)).movedim(-1, -3)


def by_first_and_last(x: Tensor, n_heads: int) -> Tensor:
    first, *others = x.chunk(n_heads, dim=-1)
    return torch.stack([first, *others[-1:] * len(others)], dim=-3)


# Each cut, whether it is right, and the message for readers who say the opposite.
CUTS: dict[str, tuple[Cut, bool, str]] = {
    "`split_heads` itself": (
        split_heads,
        True,
        "It is the library's function. Which line of your test rejects it?",
    ),
    "the pieces one by one, then stacked": (
        one_by_one,
        True,
        "It is right, although it copies the pieces. Compare numbers, not memory layouts.",
    ),
    "a `view` into (H, L, Dk)": (
        by_view,
        False,
        "It is the `view` of section 4.6: the right shape, but wrong heads. Which numbers does "
        "each head have?",
    ),
    "heads that alternate among the columns": (
        taking_turns,
        False,
        "Its heads alternate: head 0 has columns 0, H, 2H, and so on. Compare the columns of each "
        "head.",
    ),
    "the last head first": (
        lambda x, n_heads: split_heads(x, n_heads).flip(-3),
        False,
        "Each of its heads is right, but their order is wrong. Do all your columns differ?",
    ),
    "the last piece for every head but head 0": (
        by_first_and_last,
        False,
        "Its first and last heads are right, but those in between are wrong. Two heads are too "
        "few to show that.",
    ),
    "axes 0 and 1 swapped": (
        lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(0, 1),
        False,
        "It is right for a sentence but wrong for a batch. Try (..., L, D) with axes in place "
        "of the dots.",
    ),
    "axes 1 and 2 swapped": (
        lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2),
        False,
        "It is right with one batch axis, but wrong with none and with two. Try both.",
    ),
    "axes 2 and 3 swapped": (
        lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(-2, -3 if x.dim() == 4 else -1),
        False,
        "It is right with two batch axes, but wrong with one and with none. Try all three.",
    ),
    "numbers in half precision": (
        lambda x, n_heads: split_heads(x.half(), n_heads).to(x.dtype),
        False,
        "It rounds the numbers to three digits. Small whole numbers do not show that, and a "
        "wide tolerance hides it.",
    ),
}

EXERCISE = Exercise(
    title="A test that finds the fault",
    level=3,
    minutes=15,
    section="4.6",
    prompt="""
`cut(x, n_heads)` should do what `split_heads` does: turn (..., L, D), with any number of axes in
place of the dots, into (..., H, L, Dk), where each head has neighboring columns. Write a test:
`is_right(cut)` calls `cut` with inputs of your choice. It returns `True` if it finds no fault, and
`False` otherwise. Your test is tried on ten versions of `cut` that you cannot see. Two of them are
right, and some are wrong only for certain inputs. You may use the whole library.
""",
    reference=is_right,
    cases=lambda generator: [Case((f,), note=name) for name, (f, *_) in CUTS.items()],
    choices={(f, not right): message for f, right, message in CUTS.values()},
    hints=(
        "What do you compare the result with? And which inputs would hide a fault: one head, "
        "equal sizes, all ones?",
        "`torch.equal` compares shape and numbers. Take three or more heads, sizes that all "
        "differ, and random numbers.",
        "Try shapes such as (5, 21), (2, 5, 21) and (2, 4, 5, 21); compare with `split_heads`.",
    ),
    comes_back="Chapter 6 tests masks in a similar way: it changes one word and checks which "
    "outputs change.",
    insight="The test cases of these exercises are chosen in this way: all sizes differ, and there "
    "are cases with and without a batch.",
)
