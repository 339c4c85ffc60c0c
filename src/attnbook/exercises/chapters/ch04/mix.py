"""Merge the heads and apply W_O."""

from torch import Generator, Tensor

from attnbook.exercises.chapters.ch04.shared import turns
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, named_sizes


def mix(contexts: Tensor, w_o: Tensor) -> Tensor:
    concat = contexts.transpose(-2, -3).flatten(-2)  # (..., L, H Dv)
    return concat @ w_o


def mix_as_a_sum(contexts: Tensor, w_o: Tensor) -> Tensor:
    blocks = w_o.split(contexts.size(-1))
    return sum(contexts[..., h, :, :] @ block for h, block in enumerate(blocks))


def mix_cases(generator: Generator) -> list[Case]:
    def case(note: str, d: int, *sizes: int) -> Case:
        drawn = draw(generator, *sizes), draw(generator, sizes[-3] * sizes[-1], d)
        return Case(drawn, named_sizes("A B H L Dv D", (*sizes, d)), note)

    return [
        case("2 heads, 3 words", 5, 2, 3, 7),
        case("3 heads, 5 words", 8, 3, 5, 6),
        case("a batch of 2", 7, 2, 3, 5, 6),
        case("two axes in front of the heads", 8, 2, 3, 5, 7, 6),
    ]


def four_axes(contexts: Tensor, w_o: Tensor) -> Tensor:
    B, H, L, Dv = contexts.shape
    return contexts.transpose(1, 2).reshape(B, L, H * Dv) @ w_o


EXERCISE = Exercise(
    title="Put the heads together",
    level=2,
    minutes=8,
    section="4.4",
    prompt="""
Write `mix(contexts, w_o)`: the heads' outputs, merged and multiplied by W_O. `contexts` has shape
(..., H, L, Dv), with any number of leading axes in place of the dots, or none; `w_o` has shape
(H · Dv, D), and the answer (..., L, D). The first Dv rows of `w_o` belong to head 0, the next Dv to
head 1, and so on. (The library's `merge_heads` does half of this; try to do without it.)
""",
    reference=mix,
    cases=mix_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda contexts, w_o: (
                contexts.reshape(*contexts.shape[:-3], contexts.size(-2), -1) @ w_o
            ),
            "You reshaped without swapping H and L, so each row holds several words of one head.",
        ),
        Mistake(
            lambda contexts, w_o: turns(contexts) @ w_o,
            "Your heads alternate within a row. W_O expects all of head 0, then all of head 1.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.transpose(-2, -3).flatten(-2),
            "That is the concat. W_O comes after it.",
        ),
        Mistake(
            lambda contexts, w_o: contexts @ w_o.unflatten(0, (contexts.size(-3), -1)),
            "Each head is multiplied by its own block of W_O. Now add up the heads.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.mean(-3) @ w_o,
            "You averaged the heads. Put them side by side instead, H · Dv wide.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.flatten(-3, -2) @ w_o,
            "You stacked the heads vertically, in H · L rows. They belong side by side, in L rows.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.transpose(0, 1).flatten(-2) @ w_o,
            "You swapped axes 0 and 1, which is right only without a batch. Count from the end.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.transpose(1, 2).flatten(-2) @ w_o,
            "You swapped axes 1 and 2, which is right only with one batch axis. Count from the "
            "end.",
        ),
        Mistake(
            four_axes,
            "Your function needs four axes, and there may be three, five or more. Count from the "
            "end.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.transpose(-2, -3).flatten(-2) @ w_o.mT,
            "You transposed W_O. Its rows already match the columns of the concat.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.sum(-3) @ w_o[: contexts.size(-1)],
            "You added the heads first and used one block. Each head has its own block.",
        ),
    ),
    hints=(
        "Undo the split: swap two axes, then join the last two.",
        "`contexts.transpose(-2, -3)` is (..., L, H, Dv). `flatten(-2)` puts a word's parts side "
        "by side.",
        "`contexts.transpose(-2, -3).flatten(-2) @ w_o`.",
    ),
    others=(mix_as_a_sum,),
    comes_back="Section 4.11 removes heads in this way, to see what each of them does.",
    insight="The result is a sum over heads, each multiplied by its own block, so setting the Dv "
    "rows of a block to 0 removes a head.",
)
