"""Exercises of chapter 5: two sequences."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, choices, draw

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
            ("translate", ("source", "target")): "translate: turned around, the Chinese sentence "
            "would look at the English one, which is not written yet.",
            ("translate", ("target", "target")): "translate: if the target only looks at itself, "
            "it never learns what it is to translate.",
            ("translate", ("source", "source")): "translate: the source looking at itself is the "
            "encoder's work. Whose next word is being looked for?",
            ("paint", ("prompt", "picture")): "paint: turned around, each word of the prompt would "
            "get a mixture of patches. It is the patches that need to know their colour.",
            ("paint", ("picture", "picture")): "paint: patches that look at patches see no prompt.",
            ("paint", ("prompt", "prompt")): "paint: that is the text encoder reading the prompt. "
            "Who wants to know how to be painted?",
            ("caption", ("picture", "caption")): "caption: this is painting, not describing. Who "
            "is being made here, and so has the questions?",
            ("caption", ("caption", "caption")): "caption: words that look at words never see the "
            "picture.",
            ("caption", ("picture", "picture")): "caption: the picture looking at itself is how it "
            "is read in. Who writes?",
            ("library", ("cards", "question")): "library: the cards do not ask. Your question is "
            "compared with each of them.",
            ("library", ("question", "question")): "library: one question looking at itself finds "
            "itself. The keys are on the cards.",
            ("library", ("cards", "cards")): "library: books that read one another are the end of "
            "chapter 1. At its beginning somebody walks in with a question.",
            ("encode", ("target", "source")): "encode: that is the decoder's cross-attention. "
            "While the encoder reads there is no target yet.",
            ("encode", ("source", "target")): "encode: there is no target while the encoder reads.",
            ("encode", ("target", "target")): "encode: the target is the decoder's. In the encoder "
            "the source looks at itself.",
        },
    ),
    hints=(
        "Whoever is being made has the questions.",
        "The output has one row per query. Of which sequence do you want new rows?",
        "In self-attention both words are the same.",
    ),
    insight="The output always has the length of those who ask: that alone tells you the roles.",
    code=False,
)

# --- 05.cross: the layer, by hand ------------------------------------------------------------


def cross(x: Tensor, context: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    query, key, value = x @ w_q, context @ w_k, context @ w_v
    weights = (query @ key.mT / math.sqrt(query.size(-1))).softmax(dim=-1)
    return weights @ value


def cross_cases(generator: Generator) -> list[Case]:
    def case(note: str, lq: int, lk: int, *leading: int) -> Case:
        rows = [draw(generator, *leading, n, 8) for n in (lq, lk)]
        tables = [draw(generator, 8, width) for width in (4, 4, 6)]
        batch = {"B": leading[0]} if leading else {}
        return Case((*rows, *tables), {**batch, "Lq": lq, "Lk": lk, "Dv": 6}, note)

    return [
        case("2 rows ask 3", 2, 3),
        case("5 rows ask 7", 5, 7),
        case("a batch of 2", 5, 7, 2),
        case("1 row asks 9", 1, 9),
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
Write `cross(x, context, w_q, w_k, w_v)`: `x` (..., Lq, D) asks, `context` (..., Lk, D) is asked.
The matrices are w_q (D, Dk), w_k (D, Dk), w_v (D, Dv); the answer is (..., Lq, Dv). No mask.
""",
    stub="""
def cross(x, context, w_q, w_k, w_v):
    raise NotImplementedError
""",
    reference=cross,
    cases=cross_cases,
    axes="B Lq Dv",
    mistakes=(
        Mistake(
            "self-attention",
            from_sides(0, 0, 0),
            "The context is never used: keys and values come from x as well. That is "
            "self-attention.",
        ),
        Mistake(
            "the context asks",
            from_sides(1, 0, 0),
            "The roles are turned around: here the context asks and x answers. One row of output "
            "belongs to each row of x.",
        ),
        Mistake(
            "the context alone",
            from_sides(1, 1, 1),
            "x is never used: the context asks itself.",
        ),
        Mistake(
            "values of those who ask",
            from_sides(0, 1, 0),
            "The keys are the context's and the values are x's. A key finds a value, so both "
            "belong to the same row of the context.",
        ),
        Mistake(
            "keys of those who ask",
            from_sides(0, 0, 1),
            "The keys are x's and the values the context's. A key finds a value, so both belong "
            "to the same row of the context.",
        ),
        Mistake(
            "no scale",
            lambda x, context, w_q, w_k, w_v: (
                ((x @ w_q) @ (context @ w_k).mT).softmax(-1) @ (context @ w_v)
            ),
            "The scores are not divided by √Dk.",
        ),
        Mistake(
            "scaled by the model's width",
            lambda x, context, w_q, w_k, w_v: (
                ((x @ w_q) @ (context @ w_k).mT / math.sqrt(x.size(-1))).softmax(-1)
                @ (context @ w_v)
            ),
            "You divided by √D, the width of x. The dot products add up over the width of the "
            "projected queries, Dk.",
        ),
        Mistake(
            "over the queries",
            lambda x, context, w_q, w_k, w_v: (
                ((x @ w_q) @ (context @ w_k).mT / math.sqrt(w_q.size(-1))).softmax(-2)
                @ (context @ w_v)
            ),
            "Softmax ran over those who ask. Each query shares out one whole among the rows of the "
            "context: the last axis.",
        ),
    ),
    hints=(
        "Three projections. Which two belong to the same sequence, and why?",
        "A key finds a value, so both are made from the context. Only the query is made from x.",
        "After the three projections it is the equation of chapter 3, unchanged.",
    ),
    insight="One word differs from self-attention, twice: `context` for `x`.",
)

# --- 05.align: read an alignment off the weights ---------------------------------------------


def align(weights: Tensor) -> Tensor:
    return weights.mean(dim=1).argmax(dim=-1)


def align_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        names = dict(zip(("B", "H", "Lq", "Lk"), sizes, strict=True))
        return Case(((2 * draw(generator, *sizes)).softmax(-1),), names, note)

    return [
        case("one sentence, 2 heads", 1, 2, 3, 4),
        case("2 sentences, 3 heads", 2, 3, 5, 7),
        case("6 heads", 2, 6, 5, 9),
        case("more queries than keys", 2, 3, 8, 4),
    ]


ALIGN = Exercise(
    id="05.align",
    title="Whom does each word look at?",
    level=2,
    minutes=8,
    section="5.6",
    prompt="""
Somebody wants, for each word that asks, the place in the source that gets the most weight in the
mean of the heads. The function below runs. Repair it. `weights` is (B, H, Lq, Lk), the answer
(B, Lq), whole numbers between 0 and Lk − 1.
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
            "as found",
            lambda weights: weights.argmax(dim=-2).mean(dim=1),
            "PyTorch refuses to take the mean of places, and rightly: half-way between word 2 and "
            "word 6 is no word. Take the mean of the weights first.",
        ),
        Mistake(
            "mean of places",
            lambda weights: weights.argmax(dim=-1).double().mean(dim=1).round().long(),
            "This is the mean of the heads' places. Half-way between word 2 and word 6 is a word "
            "nobody looked at: take the mean of the weights first.",
        ),
        Mistake(
            "who looks at me",
            lambda weights: weights.mean(dim=1).argmax(dim=-2),
            "For each word of the source you found who looks at it most: the columns. The question "
            "is whom each asking word looks at: along the rows.",
        ),
        Mistake(
            "the weight itself",
            lambda weights: weights.mean(dim=1).amax(dim=-1),
            "This is how much weight the winner gets. Its place is asked for: argmax.",
        ),
        Mistake(
            "first head only",
            lambda weights: weights[:, 0].argmax(dim=-1),
            "Only head 0 was asked. The mean over all heads is wanted.",
        ),
        Mistake(
            "mean over the batch",
            lambda weights: weights.mean(dim=0).argmax(dim=-1),
            "Axis 0 is the batch: you averaged different sentences. The heads are axis 1.",
        ),
        Mistake(
            "the loudest head",
            lambda weights: weights.amax(dim=1).argmax(dim=-1),
            "This follows whichever head is most decided. The mean of the heads is wanted.",
        ),
    ),
    hints=(
        "Two steps in the wrong order, and one along the wrong axis.",
        "First one map per sentence: the mean over the heads, (B, Lq, Lk).",
        "Then the place of the largest weight in each row: `argmax(dim=-1)`.",
    ),
    insight="The mean can look where no head looked. Chapter 12 comes back to that.",
)

# --- 05.cost: count the multiplications ------------------------------------------------------


def multiplications(Lq: int, Lk: int, D: int, Dc: int, Dk: int, Dv: int) -> int:
    projections = Lq * D * Dk + Lk * Dc * Dk + Lk * Dc * Dv
    scores = Lq * Lk * Dk
    mixing = Lq * Lk * Dv
    return projections + scores + mixing


def cost_cases(generator: Generator) -> list[Case]:
    sizes = [torch.randperm(30, generator=generator)[:6].add(2).tolist() for _ in range(4)]
    return [
        Case(tuple(s), note=f"Lq, Lk, D, Dc, Dk, Dv = {s}") for s in ([2, 3, 4, 5, 6, 7], *sizes)
    ]


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
a·b·c multiplications. Return a whole number.
""",
    stub="""
def multiplications(Lq, Lk, D, Dc, Dk, Dv):
    raise NotImplementedError
""",
    reference=multiplications,
    cases=cost_cases,
    mistakes=(
        Mistake(
            "no projections",
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * Lk * (Dk + Dv),
            "Scores and mixing are right. The three projections are missing.",
        ),
        Mistake(
            "projections only",
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * Dc * (Dk + Dv),
            "The projections are right. Every query still has to meet every key, and every output "
            "mixes every value.",
        ),
        Mistake(
            "no mixing",
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * Dc * (Dk + Dv) + Lq * Lk * Dk,
            "The weights still have to be multiplied with the values: (Lq, Lk) times (Lk, Dv).",
        ),
        Mistake(
            "keys projected once per query",
            lambda Lq, Lk, D, Dc, Dk, Dv: (
                Lq * D * Dk + Lq * Lk * Dc * (Dk + Dv) + Lq * Lk * (Dk + Dv)
            ),
            "You project the context anew for every query. Keys and values are computed once and "
            "serve them all.",
        ),
        Mistake(
            "square scores",
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * Dc * (Dk + Dv) + Lq * Lq * (Dk + Dv),
            "You counted Lq² scores, as in self-attention. Here Lq rows meet Lk columns.",
        ),
        Mistake(
            "one width for both",
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + Lk * D * (Dk + Dv) + Lq * Lk * (Dk + Dv),
            "The context has a width of its own: its rows are Dc wide, not D.",
        ),
        Mistake(
            "values as wide as keys",
            lambda Lq, Lk, D, Dc, Dk, Dv: Lq * D * Dk + 2 * Lk * Dc * Dk + 2 * Lq * Lk * Dk,
            "Values have a width of their own, Dv: in their projection and in the mixing.",
        ),
    ),
    hints=(
        "Five products. Write the two shapes of each.",
        "X W_Q is (Lq, D)(D, Dk): Lq·D·Dk. The context has two such products, with Dc.",
        "Q Kᵀ takes Lq·Lk·Dk, and A V takes Lq·Lk·Dv.",
    ),
    insight="Only two of the five terms hold Lq·Lk: the bill for length. The other three are why a "
    "short prompt is cheap to look at, however large the picture.",
)

# --- 05.maps: one map per word ---------------------------------------------------------------


def maps(weights: Tensor, height: int, width: int) -> Tensor:
    return weights.mT.unflatten(-1, (height, width))


def map_cases(generator: Generator) -> list[Case]:
    def case(note: str, batch: int, height: int, width: int, words: int) -> Case:
        weights = draw(generator, batch, height * width, words).softmax(-1)
        names = {"B": batch, "Lk": words, "height": height, "width": width}
        return Case((weights, height, width), names, note)

    return [
        case("a picture of 2 by 3 patches, 4 words", 1, 2, 3, 4),
        case("2 pictures of 3 by 5 patches, 4 words", 2, 3, 5, 4),
        case("a tall picture", 2, 7, 3, 5),
        case("as many words as the picture is wide and high", 7, 2, 3, 6),
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
            "view instead of transpose",
            lambda weights, height, width: weights.reshape(weights.size(0), -1, height, width),
            "The shape is right and the numbers are not: `view` and `reshape` deal the numbers out "
            "anew in the order in which they lie in memory, so patches and words get mixed. Swap "
            "the two axes first, then cut.",
        ),
        Mistake(
            "width before height",
            lambda weights, height, width: weights.mT.unflatten(-1, (width, height)),
            "You cut into columns first. The patches lie row by row: height is the outer axis, "
            "width the inner one.",
        ),
        Mistake(
            "picture turned on its side",
            lambda weights, height, width: weights.mT.unflatten(-1, (width, height)).mT,
            "The shape is right, but the picture lies on its side, as if the patches ran down the "
            "columns. They run along the rows.",
        ),
        Mistake(
            "words last",
            lambda weights, height, width: weights.unflatten(1, (height, width)),
            "The patches are cut rightly, but the words stand in the last axis. One map per word "
            "means: words before height and width.",
        ),
        Mistake(
            "shared out per word",
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
    insight="The same slip waits in every multi-head layer: `view` where `transpose` was meant.",
)

CHAPTER = "5. Two sequences"
EXERCISES = (ROLES, CROSS, ALIGN, COST, MAPS)
