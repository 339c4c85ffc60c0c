"""Exercises of chapter 5: two sequences."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.common_mistakes import (
    OUTPUT_MISTAKES,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
    MistakeSet,
)
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw, some_sizes

# --- 05.roles: who asks, who is asked --------------------------------------------------------

SITUATIONS = ("translate", "paint", "caption", "library", "encode")


def roles(situation: str) -> tuple[str, str]:
    return {
        "translate": ("target", "source"),
        "paint": ("picture", "prompt"),
        "caption": ("caption", "picture"),
        "library": ("question", "cards"),
        "encode": ("source", "source"),
    }[situation]


ROLES = Exercise(
    id="05.roles",
    title="Who asks, who is asked",
    level=1,
    minutes=5,
    section="5.5",
    prompt="""
`roles(situation)` returns two words: from which sequence the queries come, and from which the keys
and values.

| situation | what happens | choose from |
|:--|:--|:--|
| `"translate"` | a decoder writes English, the target, and reads Chinese | target, source |
| `"paint"` | a picture in the making looks at its prompt | picture, prompt |
| `"caption"` | a caption is written for a finished picture | caption, picture |
| `"library"` | chapter 1: your question and ten cards | question, cards |
| `"encode"` | an encoder reads the source, in self-attention | target, source |

Write the words as they stand in the last column, as a pair such as `("prompt", "prompt")`; the same
word may stand twice, and need not.
""",
    stub="""
def roles(situation):
    raise NotImplementedError  # fill in the answers, then delete this line
    answers = {
        "translate": ("", ""),
        "paint": ("", ""),
        "caption": ("", ""),
        "library": ("", ""),
        "encode": ("", ""),
    }
    return answers[situation]
""",
    reference=roles,
    cases=lambda generator: [Case((s,), note=s) for s in SITUATIONS],
    mistakes=choices(
        roles,
        {
            ("translate", ("source", "target")): "Turned around, the Chinese sentence "
            "would look at the English one, which is not written yet.",
            ("translate", ("target", "target")): "If the target only looks at itself, "
            "it never learns what it is to translate.",
            ("translate", ("source", "source")): "The source looking at itself is the "
            "encoder's work. Whose next word is being looked for?",
            ("paint", ("prompt", "picture")): "Turned around, each word of the prompt would "
            "get a mixture of patches. It is the patches that need to know their color.",
            ("paint", ("picture", "picture")): "Patches that look at patches see no prompt.",
            ("paint", ("prompt", "prompt")): "That is the text encoder reading the prompt. "
            "Who wants to know how to be painted?",
            ("caption", ("picture", "caption")): "This is painting, not describing. Who "
            "is being made here, and so has the questions?",
            ("caption", ("caption", "caption")): "Words that look at words never see the picture.",
            ("caption", ("picture", "picture")): "The picture looking at itself is how it "
            "is read in. Who writes?",
            ("library", ("cards", "question")): "The cards do not ask. Your question is "
            "compared with each of them.",
            ("library", ("question", "question")): "One question looking at itself finds "
            "itself. The keys are on the cards.",
            ("library", ("cards", "cards")): "Books that read one another are the end of "
            "chapter 1. At its beginning somebody walks in with a question.",
            ("encode", ("target", "source")): "That is the decoder's cross-attention. "
            "While the encoder reads there is no target yet.",
            ("encode", ("source", "target")): "There is no target while the encoder reads.",
            ("encode", ("target", "target")): "The target is the decoder's. In the encoder "
            "the source looks at itself.",
        },
    ),
    hints=(
        "Whoever is being made has the questions.",
        "The output has one row per query. Of which sequence do you want new rows?",
        "In self-attention both words are the same.",
    ),
    insight="The output always has the length of those who ask: that alone tells you the roles.",
    comes_back="Each layer of chapter 8's decoder has both kinds, one after the other.",
    code=False,
)

# --- 05.cross: the layer, by hand ------------------------------------------------------------


def my_cross(x: Tensor, context: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    query, key, value = x @ w_q, context @ w_k, context @ w_v
    weights = (query @ key.mT / math.sqrt(query.size(-1))).softmax(dim=-1)
    return weights @ value


def cross_by_pytorch(x: Tensor, context: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x @ w_q, context @ w_k, context @ w_v)


def cross_row_by_row(x: Tensor, context: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    key, value, rows = context @ w_k, context @ w_v, []
    for i in range(x.size(-2)):
        query = x[..., i : i + 1, :] @ w_q  # (..., 1, Dk)
        scores = (query * key).sum(dim=-1) / w_q.size(1) ** 0.5  # (..., Lk)
        rows.append((scores.softmax(dim=-1)[..., None] * value).sum(dim=-2))
    return torch.stack(rows, dim=-2)


def cross_cases(generator: Generator) -> list[Case]:
    def case(note: str, lq: int, lk: int, d: int, d_k: int, d_v: int, *leading: int) -> Case:
        rows = [draw(generator, *leading, n, d) for n in (lq, lk)]
        matrices = [draw(generator, d, width) / d**0.5 for width in (d_k, d_k, d_v)]
        batch = dict(zip(("A", "B")[-len(leading) :], leading, strict=True)) if leading else {}
        sizes = {**batch, "Lq": lq, "Lk": lk, "D": d, "Dk": d_k, "Dv": d_v}
        return Case((*rows, *matrices), sizes, note)

    return [
        case("2 rows ask 3", 2, 3, 7, 5, 6),
        case("other sizes", *some_sizes(generator, 5)),
        case("a batch of 2", 7, 9, 8, 6, 5, 2),
        case("two axes in front of the rows", 5, 8, 6, 10, 7, 2, 3),
        case("1 row asks 9", 1, 9, 5, 7, 6),
    ]


def from_sides(asks: int, labels: int, contents: int) -> Callable[..., Tensor]:
    """The layer with its three inputs taken from x, 0, or from the context, 1."""

    def belief(x: Tensor, context: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
        sides = (x, context)
        query, key, value = sides[asks] @ w_q, sides[labels] @ w_k, sides[contents] @ w_v
        return (query @ key.mT / math.sqrt(query.size(-1))).softmax(dim=-1) @ value

    return belief


CROSS = Exercise(
    id="05.cross",
    title="Cross-attention by hand",
    level=1,
    minutes=8,
    section="5.3",
    prompt="""
Write `my_cross(x, context, w_q, w_k, w_v)`, one head of cross-attention, with its scale and without
a mask: `x` (..., Lq, D) asks, `context` (..., Lk, D) is asked. The matrices are w_q (D, Dk), w_k
(D, Dk), w_v (D, Dv), and rows are multiplied with them: `x @ w_q`. The answer is (..., Lq, Dv); the
dots stand for a batch, for any number of axes, or for none.
""",
    stub="""
def my_cross(x, context, w_q, w_k, w_v):
    raise NotImplementedError
""",
    reference=my_cross,
    cases=cross_cases,
    axes="A B Lq Dv",
    others=(cross_row_by_row, cross_by_pytorch),
    mistakes=(
        Mistake(
            from_sides(0, 0, 0),
            "The context is never used: keys and values come from x as well. That is "
            "self-attention.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: (x @ w_q @ (x @ w_k).mT).softmax(-1) @ (x @ w_v),
            "The context is never used: that is self-attention. And the scores are not divided by "
            "√Dk.",
        ),
        Mistake(
            from_sides(1, 0, 0),
            "The roles are turned around: here the context asks and x answers. One row of output "
            "belongs to each row of x.",
        ),
        Mistake(
            from_sides(1, 1, 1),
            "x is never used: the context asks itself.",
        ),
        Mistake(
            from_sides(0, 1, 0),
            "The keys are the context's and the values are x's. A key finds a value, so both "
            "belong to the same row of the context.",
        ),
        Mistake(
            from_sides(0, 0, 1),
            "The keys are x's and the values the context's. A key finds a value, so both belong "
            "to the same row of the context.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: (
                ((context @ w_k) @ (x @ w_q).mT / math.sqrt(w_q.size(-1))).softmax(-1)
                @ (context @ w_v)
            ),
            "What meets the values is (Lk, Lq). Do the keys ask the queries, or were the weights "
            "turned around? Row i of the weights belongs to row i of x: (Lq, Lk).",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(x, context, w_k, w_q, w_v),
            "W_Q and W_K have changed places. They have one shape, so nothing is raised: W_Q "
            "belongs to those who ask.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(x, context, w_q, w_q, w_v),
            "The keys were made with W_Q. The context has a matrix of its own for being found: "
            "W_K.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(
                x, torch.cat((x, context), -2), w_q, w_k, w_v
            ),
            "Keys and values are made of x and the context, one below the other. Here the context "
            "alone is asked.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(x, context, w_q.mT, w_k.mT, w_v.mT),
            "You transposed the matrices. S1 and nn.Linear store them so; here rows are multiplied "
            "with them as they are.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: F.scaled_dot_product_attention(
                x, context, context @ w_v
            ),
            "The rows were compared as they are. Query and key come first: x through W_Q, the "
            "context through W_K.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: lambda x, context, w_q, w_k, w_v: head(x @ w_q, context @ w_k, context @ w_v),
        SCORE_MISTAKES,
        WEIGHT_MISTAKES,
        OUTPUT_MISTAKES,
        widths={
            "D": lambda x, context, w_q, w_k, w_v: x.size(-1),
            "Dv": lambda x, context, w_q, w_k, w_v: w_v.size(-1),
        },
    ),
    hints=(
        "Three projections. Which two belong to the same sequence, and why?",
        "A key finds a value, so both are made from the context. Only the query is made from x.",
        "After the three projections it is the equation of chapter 3, unchanged.",
    ),
    insight="One word differs from self-attention, twice: `context` for `x`.",
    comes_back="Chapter 8's decoder asks the encoder in these three lines.",
)

# --- 05.align: read an alignment off the weights ---------------------------------------------


def align(weights: Tensor) -> Tensor:
    return weights.mean(dim=1).argmax(dim=-1)


def align_word_by_word(weights: Tensor) -> Tensor:
    summed = weights.sum(dim=1)  # (B, Lq, Lk)
    return torch.stack([torch.stack([row.argmax() for row in rows]) for rows in summed])


def align_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        names = dict(zip(("B", "H", "Lq", "Lk"), sizes, strict=True))
        return Case(((2 * draw(generator, *sizes)).softmax(-1),), names, note)

    return [
        case("one sentence, 2 heads", 1, 2, 3, 5),
        case("3 sentences, 4 heads", 3, 4, 6, 7),
        case("6 heads", 2, 6, 5, 9),
        case("more queries than keys", 2, 3, 8, 5),
    ]


ALIGN = Exercise(
    id="05.align",
    title="Whom does each word look at?",
    level=2,
    minutes=8,
    section="5.6",
    prompt="""
Somebody wants, for each word that asks, the place in the source that gets the most weight in the
mean of the heads. The line below does not give it: repair it. `weights` is (B, H, Lq, Lk), the
answer (B, Lq), a tensor of whole numbers between 0 and Lk − 1.
""",
    stub="""
def align(weights):
    raise NotImplementedError  # repair the line below, then delete this one
    return weights.argmax(dim=-2).mean(dim=1)
""",
    reference=align,
    cases=align_cases,
    axes="B Lq",
    mistakes=(
        Mistake(
            lambda weights: weights.argmax(dim=-2).mean(dim=1),
            "PyTorch refuses to take the mean of places, and rightly: half-way between word 2 and "
            "word 6 is no word. Take the mean of the weights first.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).double().mean(dim=1),
            "This is the mean of the heads' places: 3.5 is no word, and neither is what lies "
            "between 2 and 6. Take the mean of the weights first.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).mode(dim=1).values,
            "Here each head has a vote, however undecided it is. The mean of the weights is asked "
            "for: it counts how sure each head is.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1),
            "Each head still has a place of its own. One place for each word is asked for: take "
            "the mean of the heads' weights first.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=-1).argmax(dim=1),
            "You averaged over the source, and each row sums to 1: those means are all the same. "
            "The heads are axis 1.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=2).argmax(dim=-1),
            "Axis 2 is the words that ask: you averaged those. The heads are axis 1.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=1).flatten(1).argmax(dim=-1),
            "One place for a whole map: the largest of all its weights. Each word that asks has a "
            "row, and a largest weight in it.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=1).argmax(dim=-1) + 1,
            "Your places are counted from 1. The first word of the source is word 0.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).double().mean(dim=1).round().long(),
            "This is the mean of the heads' places. Half-way between word 2 and word 6 is a word "
            "nobody looked at: take the mean of the weights first.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=1).argmax(dim=-2),
            "For each word of the source you found who looks at it most: the columns. The question "
            "is whom each asking word looks at: along the rows.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=1).amax(dim=-1),
            "This is how much weight the winner gets. Its place is asked for: argmax.",
        ),
        Mistake(
            lambda weights: weights[:, 0].argmax(dim=-1),
            "Only head 0 was asked. The mean over all heads is wanted.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=0).argmax(dim=-1),
            "Axis 0 is the batch: you averaged different sentences. The heads are axis 1.",
        ),
        Mistake(
            lambda weights: weights.amax(dim=1).argmax(dim=-1),
            "This follows whichever head is most decided. The mean of the heads is wanted.",
        ),
    ),
    hints=(
        "Two steps in the wrong order, and one along the wrong axis.",
        "First one map per sentence: the mean over the heads, (B, Lq, Lk).",
        "Then the place of the largest weight in each row: `argmax(dim=-1)`.",
    ),
    others=(align_word_by_word,),
    insight="The mean can look where no head looked most. Look at each head before you average.",
    comes_back="Chapter 9 reads the alignment of a whole translator so, and chapter 12 asks how "
    "far such a map may be believed.",
)

# --- 05.cost: count the multiplications ------------------------------------------------------


def multiplications(Lq: int, Lk: int, D: int, Dc: int, Dk: int, Dv: int) -> int:
    projections = Lq * D * Dk + Lk * Dc * Dk + Lk * Dc * Dv
    scores = Lq * Lk * Dk
    mixing = Lq * Lk * Dv
    return projections + scores + mixing


def cost_cases(generator: Generator) -> list[Case]:
    drawn = [torch.randperm(30, generator=generator)[:6].add(3).tolist() for _ in range(4)]
    return [
        Case(tuple(s), note=f"Lq, Lk, D, Dc, Dk, Dv = {s}") for s in ([3, 5, 7, 11, 13, 17], *drawn)
    ]


def products_counted(Lq: int, Lk: int, D: int, Dc: int, Dk: int, Dv: int) -> int:
    products = [(Lq, D, Dk), (Lk, Dc, Dk), (Lk, Dc, Dv), (Lq, Dk, Lk), (Lq, Lk, Dv)]
    return sum(rows * inner * columns for rows, inner, columns in products)


def all_but(term: Callable[..., int]) -> Callable[[Any, Case], bool]:
    """Whether it is not so that one of the five products alone is missing, or made of others."""

    def holds(answer: Any, case: Case) -> bool:
        right, sizes = multiplications(*case.arguments), case.arguments
        instead = answer - right + term(*sizes)
        products = (math.prod(p) for n in (2, 3) for p in itertools.product(sizes, repeat=n))
        return bool(answer == right or (instead != 0 and instead not in products))

    return holds


COST = Exercise(
    id="05.cost",
    title="Count the multiplications",
    level=2,
    minutes=10,
    section="5.4",
    prompt="""
How many multiplications does one head of cross-attention take? Count the three projections, the
scores, and the mixing of the values; leave out the scale and the softmax. X is (Lq, D), the context
(Lk, Dc), W_Q (D, Dk), W_K (Dc, Dk), W_V (Dc, Dv). A product of an (a, b) and a (b, c) matrix takes
a·b·c multiplications. Return a whole number. (One head has no W_O.)
""",
    stub="""
def multiplications(Lq, Lk, D, Dc, Dk, Dv):
    raise NotImplementedError
""",
    reference=multiplications,
    cases=cost_cases,
    mistakes=(
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Lk * (Dk + Dv),
            "Scores and mixing are right. The three projections are missing.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * Dc * (Dk + Dv),
            "The projections are right. Every query still has to meet every key, and every output "
            "mixes every value.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: 2 * multiplications(Lq, Lk, D, Dc, Dk, Dv),
            "Exactly twice as much: you counted the additions, too. Multiplications are asked for.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: multiplications(Lq, Lk, D, Dc, Dk, Dv) + Lq * Lk,
            "Lq·Lk too many: one for each score. The scale and the softmax are to be left out.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: multiplications(Lq, Lk, D, Dc, Dk, Dv) + Lq * Dv * D,
            "You led the output back to the width D, by a W_O. One head ends with its mixture.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Lk * D * Dc * Dk * Dv,
            "You multiplied all six sizes. There are five products of matrices, one after the "
            "other: count each, then add.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: D * Dk + Dc * Dk + Dc * Dv + Lq * Lk * (Dk + Dv),
            "You counted the numbers in the three matrices. Each row of X or of the context is "
            "multiplied with all of them.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: (
                Lq * D * Dk + Lq * Lk * Dc * (Dk + Dv) + Lq * Lk * (Dk + Dv)
            ),
            "You project the context anew for every query. Keys and values are computed once and "
            "serve them all.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * Dc * (Dk + Dv) + Lq * Lq * (Dk + Dv),
            "You counted Lq² scores, as in self-attention. Here Lq rows meet Lk columns.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * Dc * (Dk + Dv) + Lk * Lk * (Dk + Dv),
            "You counted Lk² scores, as if the context asked itself. Here Lq rows meet Lk.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * D * (Dk + Dv) + Lq * Lk * (Dk + Dv),
            "The context has a width of its own: its rows are Dc wide, not D.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + 2 * Lk * Dc * Dk + 2 * Lq * Lk * Dk,
            "Values have a width of their own, Dv: in their projection and in the mixing.",
        ),
    ),
    properties=(
        Property(
            "All is right but the queries: X, (Lq, D), times W_Q, (D, Dk).",
            all_but(lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk),
        ),
        Property(
            "All is right but the keys: the context, (Lk, Dc), times W_K, (Dc, Dk).",
            all_but(lambda Lq, Lk, D, Dc, Dk, Dv: Lk * Dc * Dk),
        ),
        Property(
            "All is right but the values: the context, (Lk, Dc), times W_V, (Dc, Dv).",
            all_but(lambda Lq, Lk, D, Dc, Dk, Dv: Lk * Dc * Dv),
        ),
        Property(
            "All is right but the scores: Q, (Lq, Dk), times Kᵀ, (Dk, Lk).",
            all_but(lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Dk * Lk),
        ),
        Property(
            "All is right but the mixing: the weights, (Lq, Lk), times the values, (Lk, Dv).",
            all_but(lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Lk * Dv),
        ),
    ),
    hints=(
        "Five products. Write the two shapes of each.",
        "X W_Q is (Lq, D)(D, Dk): Lq·D·Dk. The context has two such products, with Dc.",
        "Q Kᵀ takes Lq·Lk·Dk, and A V takes Lq·Lk·Dv.",
    ),
    others=(products_counted,),
    comes_back="Chapter 10 makes the term with Lq·Lk smaller, and counts again.",
    insight="Only two of the five terms hold Lq·Lk, and where Lk is a short prompt they are small. "
    "The total grows with the size of the picture, not with its square.",
)

# --- 05.maps: one map per word ---------------------------------------------------------------


def maps(weights: Tensor, height: int, width: int) -> Tensor:
    return weights.mT.unflatten(-1, (height, width))


def map_by_map(weights: Tensor, height: int, width: int) -> Tensor:
    words = [weights[:, :, j].reshape(-1, height, width) for j in range(weights.size(2))]
    return torch.stack(words, dim=1)


def map_cases(generator: Generator) -> list[Case]:
    def case(note: str, batch: int, height: int, width: int, words: int) -> Case:
        weights = draw(generator, batch, height * width, words).softmax(-1)
        names = {"B": batch, "Lk": words, "height": height, "width": width}
        return Case((weights, height, width), names, note)

    return [
        case("a picture of 2 by 3 patches, 5 words", 1, 2, 3, 5),
        case("3 pictures of 4 by 5 patches, 7 words", 3, 4, 5, 7),
        case("a tall picture", 2, 7, 3, 5),
        case("as many words as patches", 5, 2, 3, 6),
    ]


MAPS = Exercise(
    id="05.maps",
    title="One map per word",
    level=3,
    minutes=10,
    section="5.7",
    prompt="""
Section 5.7 lays each column of the weights out as a picture. Write `maps(weights, height, width)`:
`weights` is (B, height·width, Lk), with the patches row by row, left to right, from the top; the
answer (B, Lk, height, width), one map per word.
""",
    stub="""
def maps(weights, height, width):
    raise NotImplementedError
""",
    reference=maps,
    cases=map_cases,
    axes="B Lk height width",
    mistakes=(
        Mistake(
            lambda weights, height, width: weights.reshape(weights.size(0), -1, height, width),
            "The shape is right and the numbers are not: `view` and `reshape` deal the numbers out "
            "anew in the order in which they lie in memory, so patches and words get mixed. Swap "
            "the two axes first, then cut.",
        ),
        Mistake(
            lambda weights, height, width: weights.mT.unflatten(-1, (width, height)),
            "You cut into columns first. The patches lie row by row: height is the outer axis, "
            "width the inner one.",
        ),
        Mistake(
            lambda weights, height, width: weights.mT.unflatten(-1, (width, height)).mT,
            "The shape is right, but the picture lies on its side, as if the patches ran down the "
            "columns. They run along the rows.",
        ),
        Mistake(
            lambda weights, height, width: weights.unflatten(1, (height, width)),
            "The patches are cut rightly, but the words stand in the last axis. One map per word "
            "means: words before height and width.",
        ),
        Mistake(
            lambda weights, height, width: weights.unflatten(1, (height, width)).movedim(-1, 0),
            "Your words stand in front of the batch. First comes which picture, then which word.",
        ),
        Mistake(
            lambda weights, height, width: maps(weights, height, width).flip(-2),
            "Your pictures stand on their heads. The first patches are the top row, row 0.",
        ),
        Mistake(
            lambda weights, height, width: weights.sum(-1).unflatten(-1, (height, width)),
            "All words were added up, and each patch shares out one whole: your map is all ones. "
            "One map per word is asked for.",
        ),
        Mistake(
            lambda weights, height, width: weights.mT.softmax(-1).unflatten(-1, (height, width)),
            "You took another softmax, over the patches. The weights are asked for as they are: a "
            "patch shares itself out among the words, not a word among the patches.",
        ),
    ),
    hints=(
        "Two steps: bring the words in front of the patches, then cut the patches into rows.",
        "Swapping axes moves numbers; cutting an axis does not. Swap first.",
        "`weights.mT` is (B, Lk, height·width). `unflatten(-1, ...)` cuts the last axis.",
    ),
    others=(map_by_map,),
    comes_back="Chapter 12 draws such maps for every head of a model.",
    insight="The same slip waits in every multi-head layer: `view` where `transpose` was meant.",
)

# --- 05.experiment: choose the control -------------------------------------------------------

CLAIMS = ("task", "pairs", "word", "luck", "new", "needed")


def which_control(claim: str) -> str:
    return {"task": "B", "pairs": "C", "word": "A", "luck": "B", "new": "C", "needed": "A"}[claim]


EXPERIMENT = Exercise(
    id="05.experiment",
    title="Which control decides?",
    level=3,
    minutes=10,
    section="5.7",
    prompt="""
The map of a trained translator shows its large weights where the right Chinese words stand. Six
claims are made about it, or about the painter, each with three experiments. `which_control(claim)`
gets the word in front of a claim and returns `"A"`, `"B"` or `"C"`: the one experiment that can
show the claim to be wrong if it is wrong.

`"task"`: *training made the map; it was not there from the start.*
- A: train the model twice as long and read the map again
- B: read the map of the same model before its first step
- C: read the map on a hundred more sentences

`"pairs"`: *the map comes from which sentence translates which, not from the sentences themselves.*
- A: train with the Chinese words of each sentence in another order
- B: train with half as many pairs
- C: train with the Chinese sentences dealt out at random among the translations

`"word"`: *the model finds 苹果 (apple) by what it is, not by where it stands.*
- A: read the map on sentences in which 苹果 stands first, in the middle, last
- B: read the map on sentences in which another food stands in the place of 苹果
- C: read the map on a hundred sentences of one order

`"luck"`: *any start leads there.*
- A: many more sentences in the exam
- B: other random starts, all of them counted
- C: other random starts, the best map of them

`"new"`: *the model can look at pairs of words that it never met together.*
- A: an exam on sentences of training, in another order
- B: an exam on new sentences, drawn like those of training
- C: an exam on tastes and foods that training kept apart

`"needed"`: *the painter needs to look: that is why its picture is right.*
- A: give every patch the same mixture of the prompt, and compare the pictures
- B: lay map and picture side by side and see whether they agree
- C: paint another scene with the same prompt
""",
    stub="""
def which_control(claim):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"task": "", "pairs": "", "word": ""}
    then = {"luck": "", "new": "", "needed": ""}
    return (first | then)[claim]
""",
    reference=which_control,
    cases=lambda generator: [Case((c,), note=f'which_control("{c}")') for c in CLAIMS],
    mistakes=choices(
        which_control,
        {
            ("task", "A"): "Longer training shows how the map goes on. Whether it was there "
            "at the start, nobody has looked.",
            ("task", "C"): "More sentences make you surer of what the map is now. The claim "
            "is about where it comes from: what has to be changed or taken away?",
            ("pairs", "A"): "In another order a sentence still belongs to its translation, "
            "and the model knows no places. What the claim calls the cause is untouched.",
            ("pairs", "B"): "Half as many pairs are still pairs. The map may get worse, and "
            "you would not know why.",
            ("word", "B"): "Here the place holds still and the word changes. If the weight "
            "stays, that is bad for the claim; if it goes, no 苹果 was there to be found.",
            ("word", "C"): "In one order, word and place say the same. A model that looks at "
            "the third word always would do as well.",
            ("luck", "A"): "More sentences test the same trained model. The start is what "
            "may have been lucky.",
            ("luck", "C"): "The best of many starts shows that *some* start leads there. "
            "That was known.",
            ("new", "A"): "The words of these sentences did meet in training.",
            ("new", "B"): "A new sentence may consist of pairs that are all old. What has to "
            "be new is the pair.",
            ("needed", "B"): "Two things that agree need not be cause and effect. Take "
            "away the looking and keep the rest.",
            ("needed", "C"): "Another scene is painted right too, by the same looking. "
            "What would the picture be without it?",
        },
    ),
    hints=(
        "What does the claim call the cause? The experiment has to change that, and nothing else.",
        "Imagine the claim is wrong. In which of the three would you then see something else?",
        "Two claims need something taken away: training, or looking. One needs something torn "
        "apart, one something moved, one something kept back, and one more throws of the dice.",
    ),
    comes_back="Chapter 7 asks so about models that read longer texts than they were trained on.",
    insight="An untrained model, a shuffled one, several starts, pairs kept back: each of these "
    "controls answers another doubt. Ask for them wherever you are shown a map.",
    code=False,
)

CHAPTER = "5. Two sequences"
EXERCISES = (ROLES, CROSS, ALIGN, COST, MAPS, EXPERIMENT)
