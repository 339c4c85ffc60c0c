"""Back through the softmax."""

from torch import Generator, Tensor

from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    draw,
    limited_to,
    named_sizes,
    some_sizes,
)


def push_back(weights: Tensor, d_weights: Tensor) -> Tensor:
    mean = (weights * d_weights).sum(dim=-1, keepdim=True)
    return weights * (d_weights - mean)


def in_two_parts(weights: Tensor, d_weights: Tensor) -> Tensor:
    gains = weights * d_weights
    return gains - weights * gains.sum(dim=-1, keepdim=True)


def backward_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int, sharp: float = 1.0) -> Case:
        weights = (sharp * draw(generator, *sizes)).softmax(-1)
        return Case((weights, draw(generator, *sizes)), named_sizes("A B H Lq Lk", sizes), note)

    many, small = case("3 queries, 47 keys", 3, 47), limited_to(3 * 47, "`weights`")
    return [
        case("3 queries, 5 keys", 3, 5),
        case("other sizes", *some_sizes(generator, 2)),
        case("batch and heads", 2, 3, 5, 7),
        case("one more leading axis", 2, 3, 4, 7, 5),
        case("saturated weights", 4, 6, sharp=200.0),
        Case(tuple(x.as_subclass(small) for x in many.arguments), many.sizes, many.note),
    ]


EXERCISE = Exercise(
    title="Back through the softmax",
    level=3,
    minutes=15,
    section="3.9",
    second_reading=True,
    prompt="""
Write `push_back(weights, d_weights)`, the backward pass of the softmax. `weights` (..., Lq, Lk) is
the output of the softmax; `d_weights`, of the same shape, is the gradient of the loss with respect
to the weights. Return the gradient with respect to the scores. Each of its rows is J times a row of
d_weights, but do not build the (Lk, Lk) matrix J = diag(a) − a aᵀ.
""",
    reference=push_back,
    cases=backward_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            lambda a, g: a * (1 - a) * g,
            "You used only the diagonal of J. A score also changes the other weights of its "
            "row, through −a aᵀ.",
        ),
        Mistake(
            lambda a, g: a * g,
            "You computed diag(a) times the gradient. The second part of J, −a aᵀ, is missing.",
        ),
        Mistake(
            lambda a, g: a * (g - (a * g).sum(-2, keepdim=True)),
            "You summed over the queries. Each row has its own Jacobian: sum over the keys.",
        ),
        Mistake(
            lambda a, g: a * (g - g.mean(-1, keepdim=True)),
            "You subtracted the plain mean. aᵀ times the gradient is a weighted mean, "
            "with the weights a.",
        ),
        Mistake(
            lambda a, g: g - (a * g).sum(-1, keepdim=True),
            "The weighted mean is right, but both parts of J begin with the factor a.",
        ),
        Mistake(
            lambda a, g: a * (g + (a * g).sum(-1, keepdim=True)),
            "The second part of J has a minus sign: what one key gains, the others lose.",
        ),
        Mistake(
            lambda a, g: a * (g - g.sum(-1, keepdim=True)),
            "You subtracted the plain sum of the gradient. First multiply each of its numbers by "
            "its weight in a.",
        ),
        Mistake(
            lambda a, g: a * (g - (a * g).sum()),
            "You took one sum over everything. Each row has its own sum.",
        ),
        Mistake(
            lambda a, g: ((a.diag_embed() - a[..., None] * a[..., None, :]) @ g[..., None])[..., 0],
            "You built J. Multiply J by the gradient on paper: the result needs only rows, no "
            "matrix.",
        ),
    ),
    gradients=False,
    properties=(
        Property(
            "Each row of the answer has to sum to 0, because a softmax only moves weight between "
            "keys.",
            lambda answer, case: bool(answer.sum(-1).abs().max() < 1e-6),
        ),
    ),
    hints=(
        "Write J g = diag(a) g − a (aᵀ g). What shape is aᵀ g?",
        "aᵀ g is one number per row. Keep its axis with `keepdim=True`.",
        "`weights * (d_weights - that number)`.",
    ),
    insight="Fused attention kernels compute the same expression. If one weight of a row is 1 and "
    "the others are 0, the gradient is 0: this is the saturation of section 3.9.",
    comes_back="In chapter 6 a query may have nothing to attend to, and then nan reaches this "
    "line.",
    others=(in_two_parts,),
)
