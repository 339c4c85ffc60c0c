"""Repair three faults in a multi-head layer."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.attention.heads import merge_heads, split_heads
from attnbook.exercises.chapters.ch04.shared import turns
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw
from attnbook.mistakes.head import Head, scaled_scores
from attnbook.mistakes.lines import ATTENTION_MISTAKES


def multi_head(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
) -> Tensor:
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(dim=-1)
    concat = merge_heads(weights @ v)
    return concat @ w_o


def multi_head_by_hand(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
) -> Tensor:
    width = x.size(-1) // n_heads
    output = torch.zeros_like(x)
    for h in range(n_heads):
        own = slice(h * width, (h + 1) * width)
        query, key, value = x @ w_q[:, own], x @ w_k[:, own], x @ w_v[:, own]
        weights = torch.softmax(query @ key.transpose(1, 2) * width**-0.5, dim=-1)
        output = output + weights @ value @ w_o[own]
    return output


def repair_cases(generator: Generator) -> list[Case]:
    def case(note: str, b: int, length: int, d: int, n_heads: int) -> Case:
        matrices = (draw(generator, d, d) / d**0.5 for _ in range(4))
        x = draw(generator, b, length, d)
        sizes = {"B": b, "L": length, "D": d, "H": n_heads}
        return Case((x, *matrices, n_heads), sizes, note)

    return [
        case("3 words of width 10, 2 heads", 1, 3, 10, 2),
        case("a batch of 2: 5 words of width 18, 3 heads", 2, 5, 18, 3),
        case("4 words of width 7, a single head", 3, 4, 7, 1),
    ]


def reshaped(context: Tensor) -> Tensor:
    return context.reshape(context.size(0), context.size(-2), -1)


def alone(concat: Tensor, w_o: Tensor) -> Tensor:
    return concat


BY_D = Head(scores=lambda query, key: scaled_scores(query.size(-1) * query.size(-3), query, key))


def layer(
    head: Head = Head(),  # noqa: B008  frozen
    merge: Callable[[Tensor], Tensor] = merge_heads,
    last: Callable[[Tensor, Tensor], Tensor] = torch.matmul,
) -> Callable[..., Tensor]:
    """Make the layer, which is right unless a wrong line is given."""

    def wrong(
        x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
    ) -> Tensor:
        query, key, value = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
        return last(merge(head(query, key, value)), w_o)

    return wrong


EXERCISE = Exercise(
    title="Three faults in a layer",
    level=3,
    minutes=15,
    section="4.7",
    prompt="""
This layer runs, and its output has the right shape, but three of its lines are wrong. Repair them.
`x` has shape (B, L, D), each of the four matrices (D, D), and the answer (B, L, D). `split_heads`
and `merge_heads` are the library's.
""",
    stub="""
def multi_head(x, w_q, w_k, w_v, w_o, n_heads):
    raise NotImplementedError  # repair the lines below, then delete this one
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    weights = (q @ k.mT / x.size(-1) ** 0.5).softmax(dim=-1)
    concat = (weights @ v).reshape(x.shape)
    return concat
""",
    reference=multi_head,
    cases=repair_cases,
    axes="B L D",
    mistakes=(
        Mistake(
            layer(BY_D, reshaped, alone),
            "All three faults are still there. Which of the four matrices is never used?",
        ),
        Mistake(
            layer(BY_D, reshaped),
            "W_O is used now. Does a row of your concat hold one word? And how many "
            "products does a head's dot product add up?",
        ),
        Mistake(
            layer(BY_D, last=alone),
            "The merge is correct now. One matrix is still not used, and the scale uses the wrong "
            "width.",
        ),
        Mistake(
            layer(merge=reshaped, last=alone),
            "The scale is correct now. One matrix is still not used, and the reshape does not move "
            "any numbers.",
        ),
        Mistake(
            layer(Head(scores=lambda query, key: query @ key.mT), reshaped),
            "The wrong scale is gone, but now there is none, and a row of your concat still "
            "holds several words.",
        ),
        Mistake(
            layer(BY_D),
            "You still divide by √D. A head's dot product adds up only Dk products.",
        ),
        Mistake(
            layer(merge=reshaped),
            "`reshape` does not move any numbers, so each row of your concat holds several words "
            "of one head.",
        ),
        Mistake(
            layer(merge=turns),
            "Your heads alternate in the concat. W_O expects all of head 0, then all of head 1.",
        ),
        Mistake(
            layer(last=alone),
            "Only W_O is missing. Without it each head writes only to its own columns of "
            "the output.",
        ),
        Mistake(
            layer(last=lambda concat, w_o: concat @ w_o.T),
            "You transposed W_O. It is square, so this raises no error.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v, w_o, n_heads: multi_head(x, w_q, w_k, w_v, w_o, 1),
            "This is one head as wide as the model. Nothing was split.",
        ),
        Mistake(
            layer(Head(scores=lambda query, key: query @ key)),
            "Two matrices in a head do not fit together. Multiply queries (L, Dk) by the "
            "transposed keys, and weights (L, L) by values (L, Dv).",
        ),
    ),
    common_mistakes=MistakeSet(
        layer,
        ATTENTION_MISTAKES,
        widths={"H": lambda x, w_q, w_k, w_v, w_o, n_heads: n_heads},
    ),
    others=(multi_head_by_hand,),
    comes_back="Chapter 6 adds a mask to this layer, and chapter 8 stacks such layers.",
    hints=(
        "Which argument is never used? How many products does a *head's* dot product add up? What "
        "is in a row of `concat`?",
        "The reshape is the bug of section 4.6 in reverse. The library has the right function for "
        "it.",
        "`q.size(-1)`, `merge_heads(weights @ v)`, `concat @ w_o`.",
    ),
    insight="All three faults keep the shape, so no error reports them. Compare the numbers with "
    "another implementation.",
)
