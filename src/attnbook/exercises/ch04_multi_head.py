"""Exercises of chapter 4: many heads."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.common_mistakes import (
    OUTPUT_MISTAKES,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
    Head,
    MistakeSet,
    scaled_scores,
)
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw
from attnbook.heads import merge_heads, split_heads
from attnbook.multi_head import MultiHeadAttention

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
    ]  # no product of others
    sizes = [b, length, d, h, d_k, d_v]
    return [
        Case((what, *sizes), note=f"{what} for B, L, D, H, Dk, Dv = {sizes}") for what in QUESTIONS
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
tensor as a tuple, written with the sizes: `"query"` (after the split), `"weights"`, `"context"`
(weights times values, before the merge), `"concat"` (after it), `"w_o"` (as in `concat @ w_o`) and
`"output"`. Nothing ties the widths: H · Dv need not be D.
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
            ("query", "B, L, H, Dk"): "The axis of the heads still stands behind that of "
            "the words. Then the last two axes are no matrix of words. What moves it to the front?",
            ("query", "B, L, H * Dk"): "This is the projection before the split. Each head "
            "gets its own Dk columns, and an axis says which head.",
            ("query", "B, H, L, D"): "A head does not get a query as wide as the model. Its "
            "matrix leads from D to Dk.",
            ("weights", "B, L, L"): "There is one map per sentence *and head*. The heads "
            "do not share one.",
            ("weights", "B, H, L, Dk"): "One weight for each pair of words, L times L. "
            "The width Dk was summed away when query and key met.",
            ("weights", "B, H, H"): "The heads do not look at each other. Within each "
            "head, words look at words.",
            ("context", "B, H, L, Dk"): "Values are what is mixed, so a context is as "
            "wide as a value.",
            ("context", "B, L, H * Dv"): "That is after the merge. Before it, each head "
            "still has a matrix of its own.",
            ("concat", "B, L, Dv"): "Nothing is averaged. The heads' pieces stand side by "
            "side, H of them.",
            ("concat", "B, H * L, Dv"): "You put the heads one below the other. A word's "
            "pieces belong in its one row: side by side.",
            ("concat", "B, L, H * Dk"): "It is the contexts that are merged, and those are "
            "Dv wide. Queries and keys are used up by then.",
            ("concat", "B, L, D"): "It is D wide only where H · Dv happens to be D. W_O "
            "brings it there.",
            ("w_o", "D, H * Dv"): "Turned around. In `concat @ w_o` the rows of w_o meet the "
            "columns of concat. (nn.Linear stores it as you wrote it.)",
            ("w_o", "D, D"): "Square only where H · Dv is D. What stands on its left is H · "
            "Dv wide.",
            ("w_o", "Dv, D"): "That is the block of *one* head. W_O has one below the other "
            "for all H.",
            ("w_o", "H * Dk, D"): "Dk wide are queries and keys. What stands on its left is "
            "made of values.",
            ("output", "B, L, H * Dv"): "W_O comes last, and it leads back to the width of "
            "the model.",
            ("output", "B, H, L, D"): "The heads have been added up by W_O. No axis of "
            "heads is left.",
        },
    ),
    properties=(
        Property(
            "Each sentence goes its own way through the layer, so the batch stands in front of "
            "every tensor. Only a matrix that is learned has no B.",
            lambda answer, case: (
                (tuple(answer[:1]) == (case.arguments[1],)) == (case.arguments[0] != "w_o")
            ),
        ),
        Property(
            "These are the right sizes in another order. A word is a row, its numbers stand in the "
            "last axis, and the heads in front of the words.",
            lambda answer, case: (
                sorted(answer) != sorted(shapes(*case.arguments))
                or tuple(answer) == shapes(*case.arguments)
            ),
        ),
        Property(
            "Between the split and the merge there is an axis that says which head, and after the "
            "merge there is none. How many axes is that?",
            lambda answer, case: len(answer) == len(shapes(*case.arguments)),
        ),
    ),
    comes_back="Chapter 5 has two lengths, Lq and Lk: one axis of the weights becomes another.",
    hints=(
        "Everything inside a head has the axis H right behind B, and ends in a matrix.",
        "query ends in (L, Dk), weights in (L, L), context in (L, Dv). The merge puts H beside Dv.",
        "concat is (B, L, H · Dv); w_o has to make D from H · Dv.",
    ),
    others=(shapes_computed,),
    insight="Inside the heads D occurs nowhere, and outside them Dk and Dv do not. Only the four "
    "matrices know both.",
    code=False,
)

# --- 04.count: what does a layer cost? -------------------------------------------------------


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


def counted(matrices: int, biases: int) -> Callable[[int, int, bool], int]:
    return lambda d, h, bias: matrices * d * d + (biases * d if bias else 0)


COUNT = Exercise(
    id="04.count",
    title="How many parameters?",
    level=1,
    minutes=5,
    section="4.9",
    prompt="""
Write `my_parameters(d_model, n_heads, bias)`: how many numbers `MultiHeadAttention` learns, W_O
included. All heads together are as wide as the model; `bias` says whether each of its linear layers
has one. Answer with a whole number. (Building the layer and counting passes too; the point is a
formula.)
""",
    stub="""
def my_parameters(d_model, n_heads, bias):
    raise NotImplementedError
""",
    reference=my_parameters,
    cases=count_cases,
    mistakes=(
        Mistake(
            counted(3, 3),
            "You counted queries, keys and values. After the merge there is a fourth: W_O.",
        ),
        Mistake(
            lambda d, h, bias: h * my_parameters(d, h, bias),
            "You gave each head matrices of full width. A head is only d_model / n_heads wide, and "
            "what is multiplied by the number of heads was divided by it before.",
        ),
        Mistake(
            lambda d, h, bias: 3 * h * (d * d + (d if bias else 0)) + d * d + (d if bias else 0),
            "One W_O is right. But the other matrices do not become more with the heads: they are "
            "cut into more and narrower pieces.",
        ),
        Mistake(
            lambda d, h, bias: 4 * (d * d + (d if bias else 0)) // h,
            "That is one head's share. There are n_heads of them.",
        ),
        Mistake(
            lambda d, h, bias: 3 * (d * d + (d if bias else 0)) // h + d * d + (d if bias else 0),
            "Your three projections come to a matrix of (d_model, d_model / n_heads) each. That is "
            "what one head has; there are n_heads of them.",
        ),
        Mistake(
            counted(4, 0),
            "The matrices are right. But with `bias=True` a number is added to each column of "
            "each product, and it is learned too.",
        ),
        Mistake(
            lambda d, h, bias: 4 * (d * d + d),
            "This is right with biases. `bias=False` leaves the four of them out.",
        ),
        Mistake(
            counted(4, 1),
            "You counted one bias. Each of the four linear layers has one.",
        ),
        Mistake(
            counted(4, 3),
            "You counted three biases. W_O has one as well.",
        ),
        Mistake(
            lambda d, h, bias: 4 * d * d + (3 * (d // h) + d if bias else 0),
            "The biases of queries, keys and values are counted for one head. All heads together "
            "are as wide as the model.",
        ),
        Mistake(
            lambda d, h, bias: (h + 3) * (d * d + (d if bias else 0)),
            "You counted a matrix for each head. What all heads have together, side by side, is "
            "one matrix for queries, one for keys, one for values.",
        ),
        Mistake(
            lambda d, h, bias: (3 * h + 1) * d * d + (4 * d if bias else 0),
            "You gave each head three matrices of full width. A head is only d_model / n_heads "
            "wide.",
        ),
        Mistake(
            lambda d, h, bias: 4 * (d * d + (h * d if bias else 0)),
            "You gave each head a bias of full width. A bias has one number per column, and the "
            "heads share out the columns.",
        ),
    ),
    hints=(
        "Count one matrix first. Its heads stand side by side: how many columns is that in all?",
        "Four matrices of the same size. A bias has one number for each column.",
        "4 · D², and with a bias 4 · D more.",
    ),
    others=(parameters_of_a_layer,),
    comes_back="Chapter 8 adds a feed-forward network to the layer, and counts again.",
    insight="`n_heads` is an argument that the answer does not use. Heads are a way to cut, not "
    "something more to learn.",
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
Two maps from one layer. 苹果 (píngguǒ) is *apple*, 很 (hěn) *very*, 甜 (tián) *sweet*, 它 (tā)
*it*.

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

A head *leads* one word to another if more than half of its row goes there. `which_head(question)`
returns `"0"`, `"1"`, `"both"` or `"neither"`.

- `"a"`: which head leads 苹果 to what is said of it?
- `"b"`: which leads 苹果 to the word that stands for it?
- `"c"`: which leads 甜 to 苹果?
- `"d"`: set the block of W_O that belongs to head 0 to 0. Which head still leads 它 to 苹果 *and*
  shows in the output?
""",
    stub="""
def which_head(question):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": ""}[question]
""",
    reference=which_head,
    cases=lambda generator: [Case((q,), note=f"question {q}") for q in "abcd"],
    mistakes=choices(
        which_head,
        {
            ("a", "0"): "In head 0 the row of 苹果 gives 0.80 to 它, the word that stands for "
            "it. What is *said* of the apple is 甜.",
            ("a", "both"): "Head 0 has a large number between the two, but in the row of 甜: "
            "there 甜 looks at 苹果. The question is where 苹果 looks.",
            ("a", "neither"): "What is said of the apple is 甜. Go along the row of 苹果 in "
            "both maps.",
            ("b", "1"): "In head 1 the row of 苹果 gives 0.05 to 它.",
            ("b", "both"): "Only one of the two maps has more than half in the row of 苹果 "
            "and the column of 它.",
            ("b", "neither"): "The word that stands for the apple is 它. Go along the row of "
            "苹果 in both maps.",
            ("c", "0"): "Head 0 does, with 0.80. Look at the row of 甜 in the other map too: "
            "two heads may lead to the same word.",
            ("c", "1"): "Head 1 does, with 0.90. Look at the row of 甜 in the other map too: "
            "two heads may lead to the same word.",
            ("c", "neither"): "It is the row of 甜 that counts, not its column.",
            ("d", "0"): "The map of head 0 stays as it was. But what it found is multiplied by "
            "0, and nothing of it arrives.",
            ("d", "1"): "In head 1 the row of 它 gives 苹果 0.10.",
            ("d", "both"): "Nothing of head 0 arrives: its block is 0. And in head 1 the row "
            "of 它 gives 苹果 0.10.",
        },
    ),
    hints=(
        "Who looks stands at the left. Go along the row.",
        "(a) and (b) are about the row of 苹果, (c) about that of 甜, (d) about that of 它, in "
        "both maps.",
        "In (d) only head 1 is left. How much does its row of 它 give to 苹果?",
    ),
    comes_back="Chapter 12 cuts heads out of a trained model and looks at what breaks.",
    insight="Two heads can lead to the same word, as in (c). Whether cutting one of them shows "
    "depends on its block of W_O, which no map tells you: section 4.11 cuts both.",
    code=False,
)

# --- 04.split: one projection, cut into heads ------------------------------------------------


def split(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(-2, -3)


def split_one_by_one(x: Tensor, n_heads: int) -> Tensor:
    width = x.size(-1) // n_heads
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(n_heads)], dim=-3)


def split_cases(generator: Generator) -> list[Case]:
    def case(note: str, n_heads: int, d_k: int, *sizes: int) -> Case:
        names = dict(zip(("A", "B", "L")[-len(sizes) :], sizes, strict=True))
        x = draw(generator, *sizes, n_heads * d_k)
        return Case((x, n_heads), {**names, "H": n_heads, "Dk": d_k}, note)

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
    title="Cut one projection into heads",
    level=2,
    minutes=8,
    section="4.6",
    prompt="""
Write `split(x, n_heads)`. `x` has shape (..., L, D); the dots stand for a batch, for any number of
axes, or for none. The answer has shape (..., H, L, Dk), where H is `n_heads` and Dk is D/H, a whole
number: head 0 gets the first Dk columns of every word, head 1 the next Dk, and so on. (Calling the
library's `split_heads` passes too; the point is to see how it is done.)
""",
    stub="""
def split(x, n_heads):
    raise NotImplementedError
""",
    reference=split,
    cases=split_cases,
    axes="A B H L Dk",
    mistakes=(
        Mistake(
            lambda x, n_heads: x.reshape(*x.shape[:-2], n_heads, x.size(-2), -1),
            "The shape is right and the numbers are not. `view` and `reshape` move no number: they "
            "cut the sentence, so that head 0 holds the first words whole. First cut the last axis "
            "in two, then swap axes.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).movedim(-1, -3),
            "Your heads take turns: head 0 has the columns 0, H, 2H, … Each head gets "
            "*neighboring* columns, so when you cut the last axis the heads come first: (H, Dk).",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)),
            "You cut each row into pieces. Now the axis of the heads has to move in front of that "
            "of the words, so that each head has a matrix of its own.",
        ),
        Mistake(
            lambda x, n_heads: x.chunk(n_heads, dim=-1),
            "The pieces are the right ones. What is missing is the axis along which they stand: "
            "in front of that of the words.",
        ),
        Mistake(
            lambda x, n_heads: torch.stack([x] * n_heads, dim=-3),
            "You gave each head a copy of all columns. It gets D/H of them.",
        ),
        Mistake(
            lambda x, n_heads: x.mT.unflatten(-2, (n_heads, -1)),
            "In each of your heads the words stand in the columns. One row is one word.",
        ),
        Mistake(
            lambda x, n_heads: x.mT.reshape(*x.shape[:-2], n_heads, x.size(-2), -1),
            "You transposed first and cut afterwards, which tears the rows apart. Cut the last "
            "axis first.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(0, 1),
            "You swapped axes 0 and 1. That is right without a batch; with one, axis 0 is the "
            "batch. Count from the end.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).transpose(-2, -3),
            "You cut each row into Dk pieces of H numbers. It is H pieces of Dk: the heads come "
            "first when the last axis is cut.",
        ),
        Mistake(
            lambda x, n_heads: split(x, n_heads).flip(-3),
            "Your heads stand in the wrong order: head 0 has the last columns.",
        ),
        Mistake(
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2),
            "You swapped axes 1 and 2. That is right for a batch, and for a single sentence it "
            "swaps heads and columns. Count from the end.",
        ),
        Mistake(
            three_axes,
            "Your function counts on three axes. In place of the dots there may be none, one or "
            "more: take the last two, `x.shape[-2:]`, and count from the end.",
        ),
        Mistake(
            lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1)),
            "Your heads stand in front of everything. With a batch they belong behind it, right "
            "in front of the words.",
        ),
    ),
    hints=(
        "Two steps: the last axis becomes two, then two axes change places.",
        "`x.unflatten(-1, (n_heads, -1))` is (..., L, H, Dk).",
        "Then `.transpose(-2, -3)`.",
    ),
    others=(split_one_by_one,),
    comes_back="Later in this chapter GPT-2's one projection is cut in the same way.",
    insight="No number was multiplied. A head is nothing but a few neighboring columns.",
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
        names = dict(zip(("A", "B", "H", "L", "Dv")[-len(sizes) :], sizes, strict=True))
        w_o = draw(generator, sizes[-3] * sizes[-1], d)
        return Case((draw(generator, *sizes), w_o), {**names, "D": d}, note)

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
Write `mix(contexts, w_o)`: what the heads found, merged and multiplied by W_O. `contexts` has shape
(..., H, L, Dv), `w_o` (H · Dv, D), and the answer (..., L, D). The first Dv rows of `w_o` belong to
head 0, the next Dv to head 1, and so on. The dots stand for a batch, for any number of axes, or for
none. (The library's `merge_heads` does half of it; try without.)
""",
    stub="""
def mix(contexts, w_o):
    raise NotImplementedError
""",
    reference=mix,
    cases=mix_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda contexts, w_o: (
                contexts.reshape(*contexts.shape[:-3], contexts.size(-2), -1) @ w_o
            ),
            "You reshaped without moving the axis of the heads back, so that a row of yours holds "
            "several words of one head. A row has to hold one word of all heads: swap H and L "
            "first.",
        ),
        Mistake(
            lambda contexts, w_o: turns(contexts) @ w_o,
            "Your heads take turns in the row: the first number of each, then the second of each. "
            "W_O expects head 0 whole, then head 1.",
        ),
        Mistake(
            lambda contexts, w_o: mix(contexts.flip(-3), w_o),
            "Your last head stands first, and so meets the block of W_O that belongs to head 0.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.transpose(-2, -3).flatten(-2),
            "That is the concat. W_O comes after it and mixes the heads.",
        ),
        Mistake(
            lambda contexts, w_o: contexts @ w_o.unflatten(0, (contexts.size(-3), -1)),
            "Each head has met its own block of W_O. Now the heads have to be added up.",
        ),
        Mistake(
            lambda contexts, w_o: (
                contexts.mean(-3) @ w_o.unflatten(0, (contexts.size(-3), -1)).sum(0)
            ),
            "Heads and blocks were each put together first, so every head meets the blocks of all "
            "others. Head 0 belongs to block 0, head 1 to block 1.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.mean(-3) @ w_o,
            "You averaged the heads before W_O, and what is left is Dv wide. Nothing is averaged: "
            "the pieces stand side by side, H · Dv wide.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.flatten(-3, -2) @ w_o,
            "You put the heads one below the other, H · L rows. They belong side by side: L rows, "
            "H · Dv wide.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.transpose(0, 1).flatten(-2) @ w_o,
            "You swapped axes 0 and 1. That is right without a batch; with one, axis 0 is the "
            "batch. Count from the end.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.transpose(1, 2).flatten(-2) @ w_o,
            "You swapped axes 1 and 2. That is right for a batch, and wrong without one and with "
            "two. Count from the end.",
        ),
        Mistake(
            four_axes,
            "Your function counts on four axes. In place of the dots there may be none, one or "
            "more: take the last three, `contexts.shape[-3:]`, and count from the end.",
        ),
        Mistake(
            lambda contexts, w_o: torch.cat(list(contexts), dim=-1) @ w_o,
            "You took the heads from the first axis. With a batch that is the sentences: the heads "
            "stand third from the end, `unbind(-3)`.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.transpose(-2, -3).flatten(-2) @ w_o.mT,
            "You transposed W_O. Its rows already meet the columns of the concat, H · Dv of each.",
        ),
        Mistake(
            lambda contexts, w_o: contexts.sum(-3) @ w_o[: contexts.size(-1)],
            "You added the heads first and multiplied by the first block. Each head has a block "
            "of its own; once added, they cannot be told apart.",
        ),
    ),
    hints=(
        "Undo the split: first the axes change places, then the last two become one.",
        "`contexts.transpose(-2, -3)` is (..., L, H, Dv). `flatten(-2)` puts a word's pieces side "
        "by side.",
        "`contexts.transpose(-2, -3).flatten(-2) @ w_o`.",
    ),
    others=(mix_as_a_sum,),
    comes_back="Setting a block of W_O to 0 is the scalpel of the experiment with two heads.",
    insight="The same is a sum over heads, each through its own block. So a head can be taken out "
    "by setting Dv rows of W_O to 0.",
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


def cut_by_view(x: Tensor, n_heads: int) -> Tensor:
    return x.view(x.size(0), n_heads, x.size(1), -1)


BY_D = Head(scores=lambda query, key: scaled_scores(query.size(-1) * query.size(-3), query, key))


def layer(
    head: Head = Head(),  # noqa: B008  frozen
    merge: Callable[[Tensor], Tensor] = merge_heads,
    last: Callable[[Tensor, Tensor], Tensor] = torch.matmul,
    cut: Callable[[Tensor, int], Tensor] = split_heads,
) -> Callable[..., Tensor]:
    """The layer, right unless a wrong line is given."""

    def wrong(
        x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
    ) -> Tensor:
        query, key, value = (cut(x @ w, n_heads) for w in (w_q, w_k, w_v))
        return last(merge(head(query, key, value)), w_o)

    return wrong


REPAIR = Exercise(
    id="04.repair",
    title="Three faults in a layer",
    level=3,
    minutes=15,
    section="4.7",
    prompt="""
A layer from memory. It runs, and its output has the right shape. Three of its lines are wrong:
repair them. `x` has shape (B, L, D), the four matrices (D, D), the answer (B, L, D). `split_heads`
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
            "All three faults are still there. Start from the end: one of the four matrices is "
            "never used.",
        ),
        Mistake(
            layer(BY_D, reshaped),
            "W_O is there now. But does a row of your concat hold one word of all heads? And over "
            "which width does a head's dot product add up?",
        ),
        Mistake(
            layer(BY_D, last=alone),
            "The merge is right now. One of the matrices is not used yet, and the root is of "
            "another width than the dot product's.",
        ),
        Mistake(
            layer(merge=reshaped, last=alone),
            "The scale is right now. One of the matrices is not used yet, and the concat is made "
            "by a reshape that moves no number.",
        ),
        Mistake(
            layer(Head(scores=lambda query, key: query @ key.mT), reshaped),
            "W_O is there now. The wrong root is gone, and with it the scale; and a row of your "
            "concat holds several words of one head.",
        ),
        Mistake(
            layer(merge=lambda context: reshaped(context.mT)),
            "You swapped words and columns before the reshape. It is the axis of the heads that "
            "has to go behind that of the words.",
        ),
        Mistake(
            layer(BY_D),
            "You still divide by √D. A head's query is D/H wide, and its dot products add up over "
            "that.",
        ),
        Mistake(
            layer(merge=reshaped),
            "`reshape` makes the right shape and moves no number: your rows hold several words of "
            "one head. The axis of the heads has to go back behind the words first.",
        ),
        Mistake(
            layer(merge=turns),
            "In your concat the heads take turns: the first number of each, then the second of "
            "each. W_O expects the whole of head 0, then the whole of head 1.",
        ),
        Mistake(
            layer(last=alone),
            "All that is missing is W_O. Without it each head only reaches its own columns of "
            "the output.",
        ),
        Mistake(
            layer(last=lambda concat, w_o: concat @ w_o.T),
            "You transposed W_O. It is square, so nothing is raised; here it is multiplied as it "
            "is, like the other three.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v, w_o, n_heads: layer(last=alone)(
                x @ w_o, w_q, w_k, w_v, w_o, n_heads
            ),
            "You multiplied the input by W_O. It comes last, and mixes what the heads have found.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v, w_o, n_heads: layer(
                merge=lambda context: merge_heads(context @ w_o), last=alone
            )(x, w_q, w_k, w_v, w_o, n_heads),
            "You multiplied by W_O before the merge, where each head is only D/H wide. Merge "
            "first: W_O takes the pieces of all heads at once.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v, w_o, n_heads: x + multi_head(x, w_q, w_k, w_v, w_o, n_heads),
            "You added the input to the output. A Transformer does so around this layer, in "
            "chapter 8; the layer itself does not.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v, w_o, n_heads: multi_head(x, w_q, w_k, w_v, w_o, 1),
            "This is one head as wide as the model: nothing was cut. Each head has its own columns "
            "and its own map.",
        ),
        Mistake(
            layer(Head(scores=lambda query, key: query @ key)),
            "Inside a head two matrices meet that do not fit. Queries (L, Dk) meet keys that lie, "
            "(Dk, L): `k.mT`. And the weights, (L, L), stand left of the values, (L, Dv).",
        ),
        Mistake(
            layer(cut=cut_by_view),
            "The first line was right. A `view` cuts the sentence, not the columns.",
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
    comes_back="Chapter 6 gives these lines a mask, and chapter 8 stacks them.",
    hints=(
        "Three questions: which argument is never used? Over which width does the dot product of "
        "a *head* add up? What stands in a row of `concat`?",
        "The reshape is section 4.6 backwards: the library has a function that does it right.",
        "`q.size(-1)`, `merge_heads(weights @ v)`, `concat @ w_o`.",
    ),
    insight="All three faults keep the shape, and the layer would even train. Only numbers from "
    "another implementation give them away.",
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


CUTS: dict[str, Cut] = {
    "`split_heads` itself": split_heads,
    "the pieces one by one, then stacked": one_by_one,
    "a `view` into (H, L, Dk)": by_view,
    "heads that take turns among the columns": taking_turns,
    "the last head first": lambda x, n_heads: split_heads(x, n_heads).flip(-3),
    "the last piece for every head but head 0": by_first_and_last,
    "axes 0 and 1 swapped": lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(0, 1),
    "axes 1 and 2 swapped": lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2),
    "axes 2 and 3 swapped": lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(
        -2, -3 if x.dim() == 4 else -1
    ),
    "numbers of half precision": lambda x, n_heads: split_heads(x.half(), n_heads).to(x.dtype),
}
FINDS: dict[tuple[str, bool], str] = {
    ("`split_heads` itself", False): "This cut is the library's. Your test refuses it, so it asks "
    "for something that no right cut has to do. Which line says no?",
    ("the pieces one by one, then stacked", False): "This cut is right, and is made of copies in "
    "another place of the memory. Compare the numbers, not how they lie.",
    ("a `view` into (H, L, Dk)", True): "This is section 4.6's `view`: the shape is right, and "
    "going back by `view` gives x again. Look at which numbers each head has.",
    ("heads that take turns among the columns", True): "These heads take turns: head 0 has the "
    "columns 0, H, 2H. Shapes and reordered words are as they should be; compare the columns.",
    ("the last head first", True): "Here the heads stand in the wrong order. Each is as it should "
    "be, so it takes more than a look at the set of pieces, or at equal columns.",
    (
        "the last piece for every head but head 0",
        True,
    ): "Head 0 is right, and so is the last; those "
    "between have a piece that is not theirs. Two heads are too few to see that, and so is one.",
    ("axes 0 and 1 swapped", True): "Right for a sentence, wrong for a batch: it counts axes from "
    "the front. Did you try (..., L, D) with something in place of the dots?",
    ("axes 1 and 2 swapped", True): "Right for a batch, wrong for a single sentence and for two "
    "axes in front: it counts axes from the front. Try (..., L, D) with fewer and more.",
    ("axes 2 and 3 swapped", True): "Right for two axes in front, wrong for one and for none. An "
    "input with many axes does not stand for those with fewer: try them all.",
    ("numbers of half precision", True): "The places are right, and the numbers were rounded to "
    "three digits on the way. Small whole numbers survive that, and a test with a wide tolerance "
    "does not see it.",
}

EXPERIMENT = Exercise(
    id="04.experiment",
    title="A test that finds the fault",
    level=3,
    minutes=15,
    section="4.6",
    prompt="""
Somebody wrote `cut(x, n_heads)`, which is to do what `split_heads` does: from (..., L, D), with any
number of axes in place of the dots, to (..., H, L, Dk), each head with its neighboring columns.
Write the test: `is_right(cut)` calls it with inputs that you make, and returns `True` if nothing is
wrong with it, `False` if you have found a fault. Ten cuts come, which you cannot see. Two are
right. Some of the others are wrong for certain inputs only. You may use whatever the library has.
""",
    stub="""
def is_right(cut):
    raise NotImplementedError
""",
    reference=is_right,
    cases=lambda generator: [Case((f,), note=name) for name, f in CUTS.items()],
    mistakes=choices(
        is_right, {(CUTS[name], said): tells for (name, said), tells in FINDS.items()}
    ),
    hints=(
        "A test is a comparison and an input. What do you compare with? And which inputs would "
        "hide a fault: one head, equal sizes, all ones?",
        "`torch.equal` compares shape and numbers. Three heads at least, sizes that all differ, "
        "random numbers.",
        "Try shapes such as (5, 21), (2, 5, 21) and (2, 4, 5, 21); compare with `split_heads`.",
    ),
    comes_back="Chapter 6 tests masks like that: it moves one word and looks who notices.",
    insight="Now you know how the cases behind these exercises are chosen: sizes that all differ, "
    "a batch and none, numbers of which no two are equal.",
    code=False,
)

CHAPTER = "4. Many heads"
EXERCISES = (SHAPES, COUNT, JOBS, SPLIT, MIX, REPAIR, EXPERIMENT)
