"""Exercises of chapter 4: many heads."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from attnbook.attention.heads import merge_heads, split_heads
from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.exercises.chapters.common_mistakes import (
    OUTPUT_MISTAKES,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
    Head,
    MistakeSet,
    WrongLine,
    scaled_scores,
)
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    named_sizes,
)
from attnbook.language import _

# --- 04.shapes: predict the shapes -----------------------------------------------------------

QUESTIONS = ("query", "weights", "context", "concat", "w_o", "output")


def shapes(what: str, B: int, L: int, D: int, H: int, Dk: int, Dv: int) -> tuple[int, ...]:
    return {
        "query": (B, H, L, Dk),
        "weights": (B, H, L, L),
        "context": (B, H, L, Dv),
        "concat": (B, L, H * Dv),
        "w_o": (H * Dv, D),
        "output": (B, L, D),
    }[what]


def shapes_computed(what: str, B: int, L: int, D: int, H: int, Dk: int, Dv: int) -> tuple[int, ...]:
    x, w_o = torch.zeros(B, L, D), torch.zeros(H * Dv, D)
    query, key, value = (split_heads(x @ torch.zeros(D, H * d), H) for d in (Dk, Dk, Dv))
    weights = query @ key.mT
    context = weights @ value
    concat = merge_heads(context)
    made = {"query": query, "weights": weights, "context": context, "concat": concat}
    return (made | {"w_o": w_o, "output": concat @ w_o})[what].shape


def shape_cases(generator: Generator) -> list[Case]:
    b, length, h, d_k, d_v = torch.randperm(6, generator=generator)[:5].add(3).tolist()
    d = (11, 13, 17, 19, 23)[
        int(torch.randint(5, (1,), generator=generator))
    ]  # not a product of the others
    sizes = [b, length, d, h, d_k, d_v]
    return [
        Case(
            (what, *sizes),
            note=_("{what} for B, L, D, H, Dk, Dv = {sizes}").format(what=what, sizes=sizes),
        )
        for what in QUESTIONS
    ]


SHAPES = Exercise(
    id="04.shapes",
    title="Predict the shapes",
    level=1,
    minutes=6,
    section="4.5",
    prompt="""
A batch of B sentences with L words of width D goes through H heads, whose queries and keys are Dk
wide and whose values are Dv wide. `shapes(what, B, L, D, H, Dk, Dv)` returns the shape of one
tensor as a tuple, in terms of these sizes: `"query"` (after the split), `"weights"`, `"context"`
(weights times values, before the merge), `"concat"` (after it), `"w_o"` (as in `concat @ w_o`) and
`"output"`. H · Dv need not equal D.
""",
    stub="""
def shapes(what, B, L, D, H, Dk, Dv):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"query": (), "weights": (), "context": ()}
    then = {"concat": (), "w_o": (), "output": ()}
    return (first | then)[what]
""",
    reference=shapes,
    cases=shape_cases,
    mistakes=choices(
        shapes,
        {
            ("query", "B, L, H, Dk"): "The head axis still comes after the axis of the words.",
            ("query", "B, L, H * Dk"): "This is the projection before the split.",
            ("weights", "B, L, L"): "There is one map for each sentence *and head*.",
            (("weights", "context"), "B, H, L, Dk"): "Only queries and keys are Dk wide.",
            ("weights", "B, H, H"): "Heads do not attend to each other. Words attend to words.",
            ("context", "B, L, H * Dv"): "This is the shape after the merge.",
            ("concat", "B, L, H * Dk"): "The contexts are merged, and they are Dv wide.",
            ("concat", "B, L, Dv"): "The heads' parts are side by side. Nothing is averaged.",
            ("w_o", "D, H * Dv"): "In `concat @ w_o`, w_o has one row per column of concat. "
            "(nn.Linear stores the transposed matrix.)",
            ("w_o", "D, D"): "w_o is square only if H · Dv equals D.",
            ("output", "B, L, H * Dv"): "W_O comes last and maps back to the width of the model.",
            ("output", "B, H, L, D"): "W_O adds up the heads, so no head axis is left.",
        },
    ),
    properties=(
        Property(
            "The batch is the first axis of every tensor except the learned matrix.",
            lambda answer, case: (
                (tuple(answer[:1]) == (case.arguments[1],)) == (case.arguments[0] != "w_o")
            ),
        ),
        Property(
            "The sizes are right, but their order is not: a word is a row, and the head axis "
            "comes before the word axis.",
            lambda answer, case: (
                sorted(answer) != sorted(shapes(*case.arguments))
                or tuple(answer) == shapes(*case.arguments)
            ),
        ),
        Property(
            "The heads have their own axis only between the split and the merge. How many "
            "axes does this tensor have?",
            lambda answer, case: len(answer) == len(shapes(*case.arguments)),
        ),
    ),
    comes_back="Chapter 5 has two lengths, Lq and Lk, so the weights are no longer square.",
    hints=(
        "Inside a head, the axis H comes right after B, and the last two axes are a matrix.",
        "query ends in (L, Dk), weights in (L, L), and context in (L, Dv). The merge joins H and "
        "Dv.",
        "concat is (B, L, H · Dv); w_o has to map H · Dv to D.",
    ),
    others=(shapes_computed,),
    insight="Inside the heads there is no D, and outside them there is no Dk or Dv. Only the "
    "shapes of the four matrices contain both.",
)

# --- 04.count: how many parameters does a layer have? ----------------------------------------


def my_parameters(d_model: int, n_heads: int, bias: bool) -> int:
    matrix = d_model * d_model
    return 4 * (matrix + d_model if bias else matrix)


def parameters_of_a_layer(d_model: int, n_heads: int, bias: bool) -> int:
    layer = MultiHeadAttention(d_model, n_heads, bias=bias)
    return sum(p.numel() for p in layer.parameters())


def count_cases(generator: Generator) -> list[Case]:
    sizes = ((6, 3, False), (10, 2, True), (12, 3, True), (14, 1, False), (768, 12, True))
    return [
        Case((d, h, bias), {"D": d, "H": h}, f"d_model {d}, n_heads {h}, bias {bias}")
        for d, h, bias in sizes
    ]


@dataclass(frozen=True)
class Count:
    """The number of parameters in all matrices, and in all biases; the defaults are right."""

    matrices: Callable[[int, int], int] = lambda d, h: 4 * d * d
    biases: Callable[[int, int], int] = lambda d, h: 4 * d

    def __call__(self, d: int, h: int, bias: bool) -> int:
        return self.matrices(d, h) + (self.biases(d, h) if bias else 0)


COUNT_MISTAKES = (
    WrongLine("matrices", lambda d, h: 3 * d * d, "You counted three matrices. W_O is the fourth."),
    WrongLine(
        "matrices",
        lambda d, h: 4 * h * d * d,
        "You gave each head four matrices of full width. A head is only d_model / n_heads wide.",
    ),
    WrongLine(
        "matrices",
        lambda d, h: (3 * h + 1) * d * d,
        "You gave each head three matrices of full width.",
    ),
    WrongLine(
        "matrices",
        lambda d, h: 4 * d * d // h,
        "You counted the matrices of one head only, which map d_model to d_model / n_heads. "
        "There are n_heads of them.",
    ),
    WrongLine(
        "matrices",
        lambda d, h: 3 * d * d // h + d * d,
        "Your three projections are those of one head. There are n_heads heads.",
    ),
    WrongLine(
        "matrices",
        lambda d, h: 3 * d * d + d * d // h,
        "Your W_O is one head's block. The whole W_O takes the concat of all heads.",
    ),
    WrongLine("biases", lambda d, h: 0, "With `bias=True` each column also gets a learned number."),
    WrongLine("biases", lambda d, h: 4, "A bias has one number per column, not a single number."),
    WrongLine(
        "biases", lambda d, h: d, "You counted one bias. Each of the four linear layers has one."
    ),
    WrongLine("biases", lambda d, h: 3 * d, "You counted three biases. W_O has one as well."),
    WrongLine(
        "biases",
        lambda d, h: 4 * h * d,
        "You gave each head biases of full width. A bias has one number per column.",
    ),
    WrongLine("biases", lambda d, h: 4 * d // h, "You counted the biases of one head."),
    WrongLine(
        "biases",
        lambda d, h: 3 * d // h + d,
        "For queries, keys and values, you counted only the biases of one head.",
    ),
)


COUNT = Exercise(
    id="04.count",
    title="How many parameters?",
    level=1,
    minutes=5,
    section="4.9",
    prompt="""
Write `my_parameters(d_model, n_heads, bias)`: the number of parameters of `MultiHeadAttention`,
including W_O. All heads together are as wide as the model; `bias` says whether each linear layer
has a bias. Return a whole number. (Counting the parameters of a built layer also passes, but the
point is to find a formula.)
""",
    reference=my_parameters,
    cases=count_cases,
    mistakes=(
        Mistake(
            lambda d, h, bias: 3 * (d * d + (d if bias else 0)),
            "You counted queries, keys and values. W_O is the fourth matrix.",
        ),
        Mistake(
            lambda d, h, bias: 4 * (d * d + d),
            "You counted four biases where there are none: `bias=False` leaves all of them out.",
        ),
    ),
    common_mistakes=MistakeSet(lambda count: count, COUNT_MISTAKES, right=Count()),
    hints=(
        "Count one matrix first, with all heads side by side: how many columns is that?",
        "All four matrices have the same size. A bias has one number per column.",
        "The count is 4 · D² without biases, and 4 · D more with them.",
    ),
    others=(parameters_of_a_layer,),
    comes_back="Chapter 8 adds a feed-forward network to the layer, and counts again.",
    insight="The answer does not depend on `n_heads`: the heads divide the columns among "
    "themselves.",
)

# --- 04.jobs: which head does what -----------------------------------------------------------


def which_head(question: str) -> str:
    return {"a": "1", "b": "0", "c": "both", "d": "neither"}[question]


JOBS = Exercise(
    id="04.jobs",
    title="Which head does what?",
    level=1,
    minutes=8,
    section="4.11",
    prompt="""
Here are two attention maps of one layer. 苹果 (píngguǒ) is “apple”, 很 (hěn) is “very”,
甜 (tián) is “sweet”, and 它 (tā) is “it”.

| head 0 | 苹果 | 很 | 甜 | 它 |
|:--|--:|--:|--:|--:|
| **苹果** | 0.05 | 0.05 | 0.10 | 0.80 |
| **很** | 0.25 | 0.25 | 0.30 | 0.20 |
| **甜** | 0.80 | 0.05 | 0.05 | 0.10 |
| **它** | 0.90 | 0.02 | 0.05 | 0.03 |

| head 1 | 苹果 | 很 | 甜 | 它 |
|:--|--:|--:|--:|--:|
| **苹果** | 0.05 | 0.05 | 0.85 | 0.05 |
| **很** | 0.10 | 0.10 | 0.70 | 0.10 |
| **甜** | 0.90 | 0.03 | 0.04 | 0.03 |
| **它** | 0.10 | 0.30 | 0.30 | 0.30 |

A head *leads* one word to another if more than half of the weight in the first word's row is on the
second word. `which_head(question)` returns `"0"`, `"1"`, `"both"` or `"neither"`.

- `"a"`: which head leads 苹果 to the word that describes it?
- `"b"`: which head leads 苹果 to the word that refers to it?
- `"c"`: which head leads 甜 to 苹果?
- `"d"`: set head 0's block of W_O to 0. Which head still leads 它 to 苹果 *and* affects the output?
""",
    stub="""
def which_head(question):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": ""}[question]
""",
    reference=which_head,
    cases=lambda generator: [Case((q,), note=_("question {name}").format(name=q)) for q in "abcd"],
    mistakes=choices(
        which_head,
        {
            ("a", "0"): "In head 0, 苹果 gives 0.80 to 它, which refers to it. The word that "
            "describes it is 甜.",
            ("a", "both"): "Head 0 leads 甜 to 苹果, not 苹果 to 甜. The question is about "
            "the row of 苹果.",
            (("a", "b"), "neither"): "Read the row of 苹果 in both maps.",
            ("b", "1"): "In head 1, 苹果 gives 它 only 0.05.",
            (
                "b",
                "both",
            ): "Only one map has a weight above one half in the row of 苹果 and the column of 它.",
            ("c", "0"): "Head 0 does. But look at the row of 甜 in the other map.",
            ("c", "1"): "Head 1 does. But look at the row of 甜 in the other map.",
            ("c", "neither"): "The row of 甜 counts, not its column.",
            ("d", "0"): "Head 0 still has its map, but nothing that it does reaches the output.",
            ("d", "1"): "In head 1, 它 gives 苹果 only 0.10.",
            (
                "d",
                "both",
            ): "Nothing from head 0 reaches the output, and in head 1, 它 gives 苹果 only 0.10.",
        },
    ),
    hints=(
        "A row belongs to the word that attends.",
        "(a) and (b) are about the row of 苹果, (c) is about the row of 甜, and (d) about "
        "the row of 它.",
        "In (d) only head 1 is left. How much does 它 give to 苹果 there?",
    ),
    comes_back="Chapter 13 removes heads from a trained model to see what breaks.",
    insight="Two heads can both lead one word to another. Whether you can remove one of them also "
    "depends on its block of W_O, which no map shows.",
)

# --- 04.split: one projection, split into heads ----------------------------------------------


def split(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(-2, -3)


def split_one_by_one(x: Tensor, n_heads: int) -> Tensor:
    width = x.size(-1) // n_heads
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(n_heads)], dim=-3)


def split_cases(generator: Generator) -> list[Case]:
    def case(note: str, n_heads: int, d_k: int, *sizes: int) -> Case:
        x = draw(generator, *sizes, n_heads * d_k)
        return Case((x, n_heads), named_sizes("A B L H Dk", (*sizes, n_heads, d_k)), note)

    return [
        case("3 words of width 10, 2 heads", 2, 5, 3),
        case("4 words of width 15, 3 heads", 3, 5, 4),
        case("a batch of 2: 5 words of width 21, 3 heads", 3, 7, 2, 5),
        case("two axes in front of the words", 5, 6, 2, 3, 7),
        case("a single head", 1, 5, 2, 3),
    ]


def three_axes(x: Tensor, n_heads: int) -> Tensor:
    B, L, D = x.shape
    return x.view(B, L, n_heads, D // n_heads).transpose(1, 2)


SPLIT = Exercise(
    id="04.split",
    title="Split one projection into heads",
    level=2,
    minutes=8,
    section="4.6",
    prompt="""
Write `split(x, n_heads)`. `x` has shape (..., L, D), with any number of leading axes in place of
the dots, or none. The answer has shape (..., H, L, Dk), where H is `n_heads` and Dk is D/H, a whole
number: head 0 gets the first Dk columns of every word, head 1 the next Dk, and so on. (The
library's `split_heads` also passes, but the point is to see how it is done.)
""",
    reference=split,
    cases=split_cases,
    axes="A B H L Dk",
    mistakes=(
        Mistake(
            lambda x, n_heads: x.reshape(*x.shape[:-2], n_heads, x.size(-2), -1),
            "`view` and `reshape` do not move any numbers, so head 0 gets the first words at "
            "their full width. Split the last axis in two first, then swap the axes.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).movedim(-1, -3),
            "Your heads alternate: head 0 has columns 0, H, 2H, and so on. Each head should get "
            "*neighboring* columns.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)),
            "Each row is split. Now the head axis has to come before the word axis.",
        ),
        Mistake(
            lambda x, n_heads: x.chunk(n_heads, dim=-1),
            "The pieces are right. They need an axis of their own, before the word axis.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(0, 1),
            "You swapped axes 0 and 1, which is right only without a batch. Count from the end.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2),
            "You swapped axes 1 and 2, which is right only with one batch axis. Count from the "
            "end.",
        ),
        Mistake(
            three_axes,
            "Your function needs three axes, and there may be two, four or more. Count from the "
            "end.",
        ),
        Mistake(
            lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1)),
            "Your heads come before the batch. They belong after it, right before the words.",
        ),
    ),
    hints=(
        "Split the last axis into two axes, then swap two axes.",
        "`x.unflatten(-1, (n_heads, -1))` is (..., L, H, Dk).",
        "Then `.transpose(-2, -3)`.",
    ),
    others=(split_one_by_one,),
    comes_back="In section 4.10 the single projection of GPT-2 is split in the same way.",
    insight="The split needs no multiplication: a head is a block of neighboring columns.",
)

# --- 04.mix: merge, and W_O ------------------------------------------------------------------


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


def turns(contexts: Tensor) -> Tensor:
    return contexts.movedim(-3, -1).flatten(-2)


def four_axes(contexts: Tensor, w_o: Tensor) -> Tensor:
    B, H, L, Dv = contexts.shape
    return contexts.transpose(1, 2).reshape(B, L, H * Dv) @ w_o


MIX = Exercise(
    id="04.mix",
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

# --- 04.repair: three faults in a layer ------------------------------------------------------


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


REPAIR = Exercise(
    id="04.repair",
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
        SCORE_MISTAKES,
        WEIGHT_MISTAKES,
        OUTPUT_MISTAKES,
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
    insight="All three faults keep the shape. You find them only by comparing numbers with another "
    "implementation.",
)

# --- 04.experiment: a test that finds the fault ----------------------------------------------

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

EXPERIMENT = Exercise(
    id="04.experiment",
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
    mistakes=choices(is_right, {(f, not right): message for f, right, message in CUTS.values()}),
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

CHAPTER = "4. Many heads"
EXERCISES = (SHAPES, COUNT, JOBS, SPLIT, MIX, REPAIR, EXPERIMENT)
