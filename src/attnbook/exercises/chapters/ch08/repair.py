"""Repair three faults in a decoder layer."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.attention.masks import causal_mask
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw
from attnbook.mistakes.head import WrongLine

Rows = Callable[..., Tensor]


def my_decoder_layer(
    y: Tensor, z: Tensor, look_back: Rows, look_across: Rows, feed_forward: Rows, norms: list[Rows]
) -> Tensor:
    norm_1, norm_2, norm_3 = norms
    a = norm_1(y + look_back(y))
    b = norm_2(a + look_across(a, z))
    return norm_3(b + feed_forward(b))


def by_a_loop(
    y: Tensor, z: Tensor, look_back: Rows, look_across: Rows, feed_forward: Rows, norms: list[Rows]
) -> Tensor:
    parts = look_back, lambda rows: look_across(rows, z), feed_forward
    for part, norm in zip(parts, norms, strict=True):
        y = norm(y + part(y))
    return y


def some_parts(generator: Generator, d: int) -> tuple[Rows, Rows, Rows, list[Rows]]:
    """Return the sublayers and norms of a decoder layer with random matrices, as functions."""
    back, across = draw(generator, 2, 3, d, d) / d**0.5
    w_in, w_out = draw(generator, 2, d, d) / d**0.5
    gains, shifts = draw(generator, 2, 3, d)

    def attend(rows: Tensor, context: Tensor, matrices: Tensor, mask: Tensor | None) -> Tensor:
        w_q, w_k, w_v = matrices.to(rows)
        return scaled_dot_product_attention(rows @ w_q, context @ w_k, context @ w_v, mask)[0]

    def look_back(rows: Tensor) -> Tensor:
        return attend(rows, rows, back, causal_mask(rows.size(-2)).to(rows.device))

    def norm(i: int) -> Rows:
        return lambda rows: F.layer_norm(rows, (d,), 1 + gains[i].to(rows), shifts[i].to(rows))

    return (
        look_back,
        lambda rows, context: attend(rows, context, across, None),
        lambda rows: (rows @ w_in.to(rows)).relu() @ w_out.to(rows),
        [norm(0), norm(1), norm(2)],
    )


def layer_cases(generator: Generator) -> list[Case]:
    def case(note: str, b: int, target: int, source: int, d: int) -> Case:
        y, z = draw(generator, b, target, d), draw(generator, b, source, d)
        sizes = {"B": b, "Lt": target, "Ls": source, "D": d}
        return Case((y, z, *some_parts(generator, d)), sizes, note)

    return [
        case("2 target words, 3 source words", 1, 2, 3, 5),
        case("a batch of 2", 2, 3, 5, 7),
        case("a batch of 3, more target than source words", 3, 7, 2, 10),
    ]


Line = Callable[[Tensor, Tensor, Rows, Rows], Tensor]  # (before, x, part, norm)


def post(before: Tensor, x: Tensor, part: Rows, norm: Rows) -> Tensor:
    """The form of each line: x is this line's input, and `before` is the previous line's input."""
    return norm(x + part(x))


@dataclass(frozen=True)
class Layer:
    """The three lines of a decoder layer. Each is right unless it is replaced."""

    first: Line = post
    second: Line = post
    third: Line = post

    def __call__(
        self,
        y: Tensor,
        z: Tensor,
        look_back: Rows,
        look_across: Rows,
        feed_forward: Rows,
        norms: list[Rows],
    ) -> Tensor:
        a = self.first(y, y, look_back, norms[0])
        b = self.second(y, a, lambda rows: look_across(rows, z), norms[1])
        return self.third(a, b, feed_forward, norms[2])


FORMS: dict[str, Line] = {
    "no residual": lambda before, x, part, norm: norm(part(x)),
    "no norm": lambda before, x, part, norm: x + part(x),
    "pre-norm": lambda before, x, part, norm: x + part(norm(x)),
    "norm of the part": lambda before, x, part, norm: x + norm(part(x)),
    "norm of the input": lambda before, x, part, norm: norm(x) + part(x),
    "norm of both": lambda before, x, part, norm: norm(x) + part(norm(x)),
    "norm twice": lambda before, x, part, norm: norm(x + part(norm(x))),
    "adds before": lambda before, x, part, norm: norm(before + part(x)),
    "reads before": lambda before, x, part, norm: norm(x + part(before)),
    "only before": lambda before, x, part, norm: norm(before + part(before)),
    "adds both": lambda before, x, part, norm: norm(before + x + part(x)),
}
LAYER_MISTAKES = (
    WrongLine(
        "first",
        FORMS["no residual"],
        "The first line has no residual connection: nothing is added to the output of `look_back`.",
    ),
    WrongLine(
        "second",
        FORMS["adds before"],
        "The second line adds `y`, so its residual connection skips two sublayers. Each sublayer "
        "adds to its own input.",
    ),
    WrongLine(
        "third",
        FORMS["pre-norm"],
        "The last line normalizes the input of the feed-forward network, as pre-norm does. "
        "Post-norm normalizes the sum.",
    ),
    WrongLine(
        "second",
        FORMS["no residual"],
        "The second line has no residual connection: nothing is added to the output of "
        "`look_across`.",
    ),
    WrongLine(
        "second",
        FORMS["reads before"],
        "Your cross-attention reads `y`. Its queries come from the result of the first line.",
    ),
    WrongLine(
        "third",
        FORMS["norm twice"],
        "The last line normalizes twice. Post-norm normalizes the sum only.",
    ),
    WrongLine(
        "third",
        FORMS["reads before"],
        "Your feed-forward network reads `a`. Its input is the result of the second line.",
    ),
)


def source_first(
    y: Tensor, z: Tensor, look_back: Rows, look_across: Rows, feed_forward: Rows, norms: list[Rows]
) -> Tensor:
    a = norms[0](y + look_across(y, z))
    b = norms[1](a + look_back(a))
    return norms[2](b + feed_forward(b))


def not_a_form(message: str, *lines: str) -> Property:
    """Give this message if these lines share one of the FORMS and the others are right."""

    def holds(answer: Tensor, case: Case) -> bool:
        if torch.allclose(answer, my_decoder_layer(*case.arguments)):
            return True  # in the first line, some of the forms are right
        layers = [Layer(**dict.fromkeys(lines, form)) for form in FORMS.values()]
        return not any(torch.allclose(answer, layer(*case.arguments)) for layer in layers)

    return Property(message, holds)


def has_no_other_norms(answer: Tensor, case: Case) -> bool:
    y, z, back, across, network, norms = case.arguments
    others = (list(used) for used in itertools.product(norms, repeat=3) if list(used) != norms)
    layers = (my_decoder_layer(y, z, back, across, network, used) for used in others)
    return not any(torch.allclose(answer, layer) for layer in layers)


EXERCISE = Exercise(
    title="Three faults in a decoder layer",
    level=2,
    minutes=12,
    section="8.7",
    prompt="""
Someone wrote this post-norm decoder layer from memory. The sublayers are functions:
`look_back(rows)` is the masked self-attention of the target, `look_across(rows, context)` is the
cross-attention of `rows` to `context`, and `feed_forward(rows)` is the feed-forward network.
`norms` is a list of three norms, in the order in which they are used. `y` (B, Lt, D) is the target,
`z` (B, Ls, D) is the encoder's output, and the answer has the same shape as `y`. The code runs, but
each of its three lines has a fault. Repair them.
""",
    stub="""
def my_decoder_layer(y, z, look_back, look_across, feed_forward, norms):
    raise NotImplementedError  # repair the lines below, then delete this one
    norm_1, norm_2, norm_3 = norms
    a = norm_1(look_back(y))
    b = norm_2(y + look_across(a, z))
    return b + feed_forward(norm_3(b))
""",
    reference=my_decoder_layer,
    cases=layer_cases,
    axes="B Lt D",
    mistakes=(
        Mistake(
            Layer(FORMS["no residual"], FORMS["adds before"], FORMS["pre-norm"]),
            "All three faults are still there. Ask of each sublayer: what is its input, is that "
            "input added to its output, and where is the norm?",
        ),
        Mistake(
            Layer(FORMS["pre-norm"], FORMS["pre-norm"], FORMS["pre-norm"]),
            "This is a pre-norm layer: each sublayer reads normalized rows. In a post-norm layer "
            "the norm comes after each sum.",
        ),
        Mistake(
            source_first,
            "You attend to the source before the target. The decoder's self-attention comes first.",
        ),
        Mistake(
            lambda y, z, back, across, network, norms: my_decoder_layer(
                y, z, back, lambda rows, context: across(rows, rows), network, norms
            ),
            "`z` is never read: your cross-attention attends to the target.",
        ),
    ),
    common_mistakes=MistakeSet(lambda layer: layer, LAYER_MISTAKES, right=Layer()),
    properties=(
        not_a_form("Only the first line is wrong.", "first"),
        not_a_form("Only the second line is wrong.", "second"),
        not_a_form("Only the third line is wrong.", "third"),
        not_a_form("The same thing is wrong in all three lines.", "first", "second", "third"),
        Property(
            "The lines are right except for their norms: the first should use `norms[0]`, the "
            "second `norms[1]`, and the third `norms[2]`.",
            has_no_other_norms,
        ),
    ),
    hints=(
        "Each of the three lines should have the form norm(input + sublayer(input)). Compare them "
        "with this form.",
        "In the first line, something is missing. In the second, the wrong tensor is added. In the "
        "third, two things are in the wrong order.",
        "In the second line, `look_across` reads `a`, so `a` has to be added to its output.",
    ),
    insight="A post-norm decoder layer is the same line three times, with three sublayers. None "
    "of the three faults changes the shape, so only a comparison of numbers reveals them.",
    comes_back="In 08.experiment you find such faults without seeing the code.",
    others=(by_a_loop,),
)
