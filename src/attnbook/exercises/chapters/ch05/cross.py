"""Exercises of chapter 5: two sequences."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.common_mistakes import (
    OUTPUT_MISTAKES,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
    MistakeSet,
)
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    named_sizes,
    some_sizes,
)

# --- 05.roles: which sequence asks -------------------------------------------------------------

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
    title="Which sequence asks, and which is asked",
    level=1,
    minutes=5,
    section="5.5",
    prompt="""
`roles(situation)` returns two words: the sequence from which the queries come, and the sequence
from which the keys and values come.

| situation | what happens | choose from |
|:--|:--|:--|
| `"translate"` | a decoder writes English, the target, and reads Chinese | target, source |
| `"paint"` | an unfinished picture attends to its prompt | picture, prompt |
| `"caption"` | a caption is written for a finished picture | caption, picture |
| `"library"` | chapter 1: your question and ten cards | question, cards |
| `"encode"` | an encoder reads the source, in self-attention | target, source |

Take the words from the last column, and return a pair such as `("prompt", "prompt")`. Both words
may be the same.
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
            ("translate", ("source", "target")): "Reversed: the Chinese sentence cannot attend to "
            "the English one, which is not written yet.",
            ("translate", ("target", "target")): "A target that attends only to itself never "
            "sees the source.",
            ("translate", ("source", "source")): "This is the encoder's self-attention. The "
            "decoder writes the target.",
            ("paint", ("prompt", "picture")): "Reversed: this makes a new row for each word of "
            "the prompt, not for each patch.",
            (
                "paint",
                ("picture", "picture"),
            ): "Patches that attend to patches never see the prompt.",
            ("caption", ("picture", "caption")): "Reversed: this makes a new row for each patch, "
            "not for each word.",
            (
                "caption",
                ("caption", "caption"),
            ): "Words that attend to words never see the picture.",
            ("library", ("cards", "question")): "Reversed: your question is compared with each "
            "card.",
            ("library", ("cards", "cards")): "The cards query each other at the end of chapter 1. "
            "Here, the question is yours.",
            ("encode", ("target", "source")): "This is the decoder's cross-attention.",
            ("encode", ("source", "target")): "There is no target while the encoder reads.",
            ("encode", ("target", "target")): "This is the decoder's self-attention.",
        },
    ),
    hints=(
        "The queries belong to the sequence that is being produced.",
        "The output has one row per query. For which sequence do you want new rows?",
        "In self-attention both words are the same.",
    ),
    insight="The output has one row per query, so its shape shows which sequence asked.",
    comes_back="Each layer of chapter 8's decoder has both kinds of attention, one after the "
    "other.",
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
        sizes = named_sizes("A B Lq Lk D Dk Dv", (*leading, lq, lk, d, d_k, d_v))
        return Case((*rows, *matrices), sizes, note)

    return [
        case("2 queries, 3 keys", 2, 3, 7, 5, 6),
        case("other sizes", *some_sizes(generator, 5)),
        case("a batch of 2", 7, 9, 8, 6, 5, 2),
        case("two leading axes", 5, 8, 6, 10, 7, 2, 3),
        case("1 query, 9 keys", 1, 9, 5, 7, 6),
    ]


def from_sides(asks: int, labels: int, contents: int) -> Callable[..., Tensor]:
    """Return the layer with each of its three inputs taken from x (0) or the context (1)."""

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
Write `my_cross(x, context, w_q, w_k, w_v)`: one head of cross-attention, scaled as usual, with no
mask. The queries come from `x` (..., Lq, D), the keys and values from `context` (..., Lk, D). The
matrices are w_q (D, Dk), w_k (D, Dk) and w_v (D, Dv), and rows are multiplied by them: `x @ w_q`.
The answer is (..., Lq, Dv); the dots stand for any number of axes, or none.
""",
    reference=my_cross,
    cases=cross_cases,
    axes="A B Lq Dv",
    others=(cross_row_by_row, cross_by_pytorch),
    mistakes=(
        Mistake(from_sides(0, 0, 0), "You never use the context. That is self-attention."),
        Mistake(
            from_sides(1, 0, 0),
            "The roles are reversed: the output needs one row for each row of x.",
        ),
        Mistake(from_sides(1, 1, 1), "You never use x: the context queries itself."),
        Mistake(
            from_sides(0, 1, 0),
            "Your keys come from the context and your values from x. Both have to come from the "
            "same rows.",
        ),
        Mistake(
            from_sides(0, 0, 1),
            "Your keys come from x and your values from the context. Both have to come from the "
            "same rows.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: (
                ((context @ w_k) @ (x @ w_q).mT / math.sqrt(w_q.size(-1))).softmax(-1)
                @ (context @ w_v)
            ),
            "You multiply the values by a matrix (Lk, Lq). Row i of the weights belongs to row i "
            "of x, so the weights are (Lq, Lk).",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(x, context, w_k, w_q, w_v),
            "You exchanged W_Q and W_K. They have the same shape, so this raises no error.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(x, context, w_q, w_q, w_v),
            "You made the keys with W_Q. They have their own matrix.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(
                x, torch.cat((x, context), -2), w_q, w_k, w_v
            ),
            "You made the keys and values from x and the context together. They come from the "
            "context alone.",
        ),
        Mistake(
            lambda x, context, w_q, w_k, w_v: my_cross(x, context, w_q.mT, w_k.mT, w_v.mT),
            "You transposed the matrices, as nn.Linear stores them. Here, multiply the rows by "
            "them as they are.",
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
        "There are three projections. Which two use the same sequence, and why?",
        "A key leads to its value, so both are made from the context. Only the query is made from "
        "x.",
        "After the projections, the equation of chapter 3 applies unchanged.",
    ),
    insight="Only one thing differs from self-attention: `context` replaces `x` for keys "
    "and values.",
    comes_back="The decoder of chapter 8 reads the encoder's output with these three lines.",
)

# --- 05.align: read an alignment off the weights ---------------------------------------------


def align(weights: Tensor) -> Tensor:
    return weights.mean(dim=1).argmax(dim=-1)


def align_word_by_word(weights: Tensor) -> Tensor:
    summed = weights.sum(dim=1)  # (B, Lq, Lk)
    return torch.stack([torch.stack([row.argmax() for row in rows]) for rows in summed])


def align_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        weights = (2 * draw(generator, *sizes)).softmax(-1)
        return Case((weights,), named_sizes("B H Lq Lk", sizes), note)

    return [
        case("one sentence, 2 heads", 1, 2, 3, 5),
        case("3 sentences, 4 heads", 3, 4, 6, 7),
        case("6 heads", 2, 6, 5, 9),
        case("more queries than keys", 2, 3, 8, 5),
    ]


ALIGN = Exercise(
    id="05.align",
    title="Which word does each word attend to?",
    level=2,
    minutes=8,
    section="5.6",
    prompt="""
For each query, this line should return the source position that has the most weight after the
weights are averaged over the heads. It does not. Repair it. `weights` is (B, H, Lq, Lk), and the
answer is (B, Lq), a tensor of whole numbers between 0 and Lk − 1.
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
            "PyTorch refuses to average whole numbers. And the average of words 2 and 6 would be "
            "word 4, which may have no weight. Average the weights first.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).double().mean(dim=1),
            "You averaged positions. The average of words 2 and 6 is word 4, which may have no "
            "weight. Average the weights first.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).mode(dim=1).values,
            "Here each head has one vote, even if its weights are nearly equal. Average the "
            "weights instead.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1),
            "Your answer still has one position for each head. Average the heads' weights first.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=2).argmax(dim=-1),
            "You averaged axis 2, the queries. The heads are axis 1.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).double().mean(dim=1).round().long(),
            "You averaged positions and rounded, but the word at that position may have no "
            "weight. Average the weights first.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=-1).double().mean(dim=1).long(),
            "You averaged positions and cut off the fraction, but the word at that position may "
            "have no weight. Average the weights first.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=1).argmax(dim=-2),
            "For each source word, you found the query that gives it the most weight, so you "
            "searched the columns. The question is about the rows.",
        ),
        Mistake(
            lambda weights: weights.mean(dim=1).amax(dim=-1),
            "This is the largest weight. The question is about its position.",
        ),
        Mistake(lambda weights: weights[:, 0].argmax(dim=-1), "You used head 0 only."),
        Mistake(
            lambda weights: weights.amax(dim=1).argmax(dim=-1),
            "This follows the head with the largest weight. Average the heads instead.",
        ),
    ),
    hints=(
        "The two steps are in the wrong order, and one of them uses the wrong axis.",
        "First make one map per sentence: the mean over the heads, (B, Lq, Lk).",
        "Then find the position of the largest weight in each row: `argmax(dim=-1)`.",
    ),
    others=(align_word_by_word,),
    insight="The word with the largest mean weight need not have the largest weight in any head. "
    "Look at each head before you average.",
    comes_back="Chapter 9 reads a translator's alignment this way, and chapter 13 asks how far to "
    "trust it.",
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
        Case(tuple(s), note=f"Lq, Lk, D, Dc, Dk, Dv = {s}")
        for s in ([7, 11, 19, 13, 17, 23], *drawn)
    ]


def products_counted(Lq: int, Lk: int, D: int, Dc: int, Dk: int, Dv: int) -> int:
    products = [(Lq, D, Dk), (Lk, Dc, Dk), (Lk, Dc, Dv), (Lq, Dk, Lk), (Lq, Lk, Dv)]
    return sum(rows * inner * columns for rows, inner, columns in products)


def all_but(term: Callable[..., int]) -> Callable[[Any, Case], bool]:
    """Return a check that fails if only this one of the five products is missing or wrong."""

    def holds(answer: Any, case: Case) -> bool:
        right, sizes = multiplications(*case.arguments), case.arguments
        instead = answer - right + term(*sizes)
        products = (math.prod(p) for n in (2, 3) for p in itertools.combinations(sizes, n))
        return bool(answer == right or (instead != 0 and instead not in products))

    return holds


TERMS: tuple[tuple[str, Callable[..., int]], ...] = (
    ("X times W_Q", lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk),
    ("the context times W_K", lambda Lq, Lk, D, Dc, Dk, Dv: Lk * Dc * Dk),
    ("the context times W_V", lambda Lq, Lk, D, Dc, Dk, Dv: Lk * Dc * Dv),
    ("queries times keys", lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Dk * Lk),
    ("weights times values", lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Lk * Dv),
)

COST = Exercise(
    id="05.cost",
    title="Count the multiplications",
    level=2,
    minutes=10,
    section="5.4",
    prompt="""
How many multiplications does one head of cross-attention take? Count the three projections, the
scores, and the mixing of the values, but not the scaling or the softmax. X is (Lq, D), the context
(Lk, Dc), W_Q (D, Dk), W_K (Dc, Dk), and W_V (Dc, Dv). Multiplying an (a, b) matrix by a (b, c)
matrix takes a·b·c multiplications. Return a whole number. (One head has no W_O.)
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
            "The projections are right. The scores and the mixing are missing.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: 2 * multiplications(Lq, Lk, D, Dc, Dk, Dv),
            "Your number is exactly twice the right one: you also counted the additions.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: multiplications(Lq, Lk, D, Dc, Dk, Dv) + Lq * Lk,
            "Your number is too large by Lq·Lk, one for each score. Do not count the scaling "
            "or the softmax.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: multiplications(Lq, Lk, D, Dc, Dk, Dv) + Lq * Dv * D,
            "You counted a W_O. One head has none.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Lk * D * Dc * Dk * Dv,
            "You multiplied all six sizes. Count each of the five products, then add them.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: D * Dk + Dc * Dk + Dc * Dv + Lq * Lk * (Dk + Dv),
            "You counted each number in the three matrices once. But every row of X or of the "
            "context is multiplied by them.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * (D * Dk + (Dc + Lk) * (Dk + Dv)),
            "The context has Lk rows, not Lq.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * Dc * (Dk + Dv) + Lq * Lq * (Dk + Dv),
            "You counted Lq² scores, as in self-attention. Cross-attention has Lq·Lk.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * D * (Dk + Dv) + Lq * Lk * (Dk + Dv),
            "The rows of the context are Dc wide, not D.",
        ),
        Mistake(
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + 2 * Lk * Dc * Dk + 2 * Lq * Lk * Dk,
            "Values are Dv wide, both in their projection and in the mixing.",
        ),
    ),
    properties=tuple(
        Property(f"Only one product is wrong: {name}.", all_but(term)) for name, term in TERMS
    ),
    hints=(
        "There are five products. What are the two shapes in each of them?",
        "X W_Q is (Lq, D)(D, Dk): Lq·D·Dk. The context has two such products, with Dc.",
        "Q Kᵀ takes Lq·Lk·Dk, and A V takes Lq·Lk·Dv.",
    ),
    others=(products_counted,),
    comes_back="Chapter 10 reduces the terms with Lq·Lk and counts again.",
    insight="Only two of the five terms contain Lq·Lk. For a prompt of fixed length, the total "
    "grows with the number of patches, not with its square.",
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
Section 5.7 shows each column of the weights as a picture. Write `maps(weights, height, width)`:
`weights` is (B, height·width, Lk), with the patches in reading order: row by row from the top, each
row from left to right. The answer is (B, Lk, height, width), one map per word.
""",
    reference=maps,
    cases=map_cases,
    axes="B Lk height width",
    mistakes=(
        Mistake(
            lambda weights, height, width: weights.reshape(weights.size(0), -1, height, width),
            "`view` and `reshape` keep the order of the numbers in memory, so patches and words "
            "get mixed. Swap the two axes first.",
        ),
        Mistake(
            lambda weights, height, width: weights.mT.unflatten(-1, (width, height)),
            "The patches are stored row by row, so height is the outer axis and width the inner "
            "one.",
        ),
        Mistake(
            lambda weights, height, width: weights.mT.unflatten(-1, (width, height)).mT,
            "Your pictures are transposed. The patches are stored row by row.",
        ),
        Mistake(
            lambda weights, height, width: weights.unflatten(1, (height, width)),
            "The patches are right, but the axis of the words comes last. It belongs before "
            "height and width.",
        ),
        Mistake(
            lambda weights, height, width: weights.unflatten(1, (height, width)).movedim(-1, 0),
            "In your answer, the axis of words comes before the batch.",
        ),
        Mistake(
            lambda weights, height, width: weights.mT.softmax(-1).unflatten(-1, (height, width)),
            "You took another softmax, over the patches. Keep the weights as they are.",
        ),
    ),
    hints=(
        "Move the axis of words in front of the axis of patches, then cut the patches into rows.",
        "Swapping axes moves numbers; cutting an axis does not. Swap first.",
        "`weights.mT` is (B, Lk, height·width). `unflatten(-1, ...)` cuts the last axis.",
    ),
    others=(map_by_map,),
    comes_back="Chapter 13 draws maps for every head of a model.",
    insight="This is the bug of section 4.6 again: `view` in place of a transpose.",
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
The attention map of a trained translator has its large weights on the right Chinese words. Here are
six claims about it, or about the painter, with three experiments for each. `which_control(claim)`
gets the name of a claim and returns `"A"`, `"B"` or `"C"`: the one experiment that can refute the
claim if it is wrong.

`"task"`: *training made the map; it was not there before.*
- A: train the model twice as long and read the map again
- B: read the map of the same model before its first step
- C: read the map on a hundred more sentences

`"pairs"`: *the map comes from the pairing of the sentences, not from the sentences themselves.*
- A: train with the Chinese words of each sentence in a different order
- B: train with only half of the pairs
- C: train with the Chinese sentences assigned to the translations at random

`"word"`: *the model finds 苹果 (apple) by the word, not by its position.*
- A: read the map on sentences in which 苹果 comes first, in the middle, or last
- B: read the map on sentences with another food at the position of 苹果
- C: read the map on a hundred sentences with the same word order

`"luck"`: *every initialization leads to such a map.*
- A: test with many more sentences
- B: train from other random seeds, and read all of their maps
- C: train from other random seeds, and read the best of their maps

`"new"`: *the model can align pairs of words that it has never seen together.*
- A: test on the training sentences, in another order
- B: test on new sentences, drawn at random like the training sentences
- C: test on pairs of a taste and a food that never occurred together in training

`"needed"`: *the painter needs attention: attention is why its picture is right.*
- A: give every patch the same mixture of the prompt, and compare the pictures
- B: compare the map and the picture, and see whether they agree
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
            ("task", "A"): "That tells you how the map changes later, not whether it was there "
            "before training.",
            ("task", "C"): "That tells you more about the map as it is now. The claim is about "
            "its cause.",
            ("pairs", "A"): "Each sentence still belongs to its translation, so the cause in the "
            "claim is unchanged.",
            ("pairs", "B"): "The remaining sentences are still paired correctly. If the map gets "
            "worse, you cannot tell why.",
            (
                "word",
                "B",
            ): "The position stays and the word changes. Whatever you see, there was no "
            "苹果 to find.",
            ("word", "C"): "With only one word order, you cannot tell the word and its position "
            "apart.",
            ("luck", "A"): "More sentences test the same trained model. The initialization may "
            "have been lucky.",
            (
                "luck",
                "C",
            ): "The best of many shows that *some* initialization leads to such a map. The "
            "claim is about all of them.",
            ("new", "A"): "The words of these sentences did occur together in training.",
            ("new", "B"): "A new sentence may contain only old pairs. The pairs have to be new.",
            ("needed", "B"): "Agreement between the map and the picture does not show a "
            "cause. Take attention away.",
            ("needed", "C"): "Attention may work for another scene, too. What would the picture "
            "look like without attention?",
        },
    ),
    hints=(
        "What cause does the claim name? The experiment has to change only this cause.",
        "Imagine that the claim is wrong. Which of the three results would then differ?",
        "One of the right experiments takes away the training, and one takes away attention. The "
        "others shuffle pairs, move a word, hold pairs out, or use other seeds.",
    ),
    comes_back="Chapter 7 asks the same question about models that read longer texts than they "
    "were trained on.",
    insight="An untrained model, shuffled pairs, several seeds and held-out pairs are all "
    "controls. Each addresses a different doubt about a map.",
)

CHAPTER = "5. Two sequences"
EXERCISES = (ROLES, CROSS, ALIGN, COST, MAPS, EXPERIMENT)
