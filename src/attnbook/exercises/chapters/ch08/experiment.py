"""Where is the norm?"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.exercise import Case, Exercise, draw

Black = Callable[[Tensor], Tensor]


def where_is_the_norm(layer: Black) -> str:
    x = torch.randn(100, 1, 64)  # a hundred sentences of one word
    far = 1e6 * x
    out = layer(far)
    if out.norm() > 1e4 * x.norm():  # grows with x: nothing normalizes the sums
        return "pre" if (out - far).norm() < 1e-3 * far.norm() else "no norm"
    through = torch.cosine_similarity(out, x, dim=-1).mean()  # part of x is kept
    return "post" if through > 0.15 else "no residual"


def by_two_sizes(layer: Black) -> str:
    x = torch.randn(400, 3, 64)
    small, large = layer(1e4 * x), layer(1e6 * x)
    if large.norm() < 2 * small.norm():
        out = layer(x) - layer(x).mean(dim=(0, 1))  # without the shift shared by all rows
        return "post" if (x * out).mean() > 0.15 else "no residual"
    added = (large - 1e6 * x).norm() / (small - 1e4 * x).norm()
    return "no norm" if added > 10 else "pre"


MATRICES = draw(Generator().manual_seed(8), 6, 64, 64) / 8
GAIN, SHIFT = draw(Generator().manual_seed(9), 2, 64) / 4


def layer_norm(x: Tensor, learned: bool) -> Tensor:
    if not learned:
        return F.layer_norm(x, (64,))
    return F.layer_norm(x, (64,), 1 + GAIN.to(x), SHIFT.to(x))


def black_box(
    kind: str, strength: float = 1.0, learned: bool = False, sums: tuple[int, int] = (1, 1)
) -> Black:
    """Return an encoder layer of this kind; `sums` says where it has residual connections."""

    def attention(x: Tensor) -> Tensor:
        w_q, w_k, w_v, w_o = MATRICES[:4].to(x)
        return strength * scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)[0] @ w_o

    def feed_forward(x: Tensor) -> Tensor:
        w_in, w_out = MATRICES[4:].to(x)
        return strength * 2**0.5 * (x @ w_in).relu() @ w_out

    def layer(x: Tensor) -> Tensor:
        for part, kept in zip((attention, feed_forward), sums, strict=True):
            brought = part(layer_norm(x, learned) if kind == "pre" else x)
            total = x + brought if kept else brought
            x = layer_norm(total, learned) if kind == "post" else total
        return x

    return layer


BOXES: dict[str, dict[str, Black]] = {
    "pre": {
        "a pre-norm layer": black_box("pre"),
        "a pre-norm layer whose sublayers add little": black_box("pre", 0.05, learned=True),
        "a pre-norm layer whose sublayers add a lot": black_box("pre", 30.0),
    },
    "post": {
        "a post-norm layer": black_box("post"),
        "a post-norm layer with learned gains and shifts": black_box("post", 0.8, learned=True),
        "a post-norm layer whose sublayers add little": black_box("post", 0.05),
    },
    "no residual": {
        "norms before the sublayers, no residual connection": black_box("pre", sums=(0, 0)),
        "norms after the sublayers, no residual connection": black_box(
            "post", learned=True, sums=(0, 0)
        ),
        "post-norm, no residual connection around the FFN": black_box("post", sums=(1, 0)),
        "pre-norm, no residual connection around the attention": black_box("pre", sums=(0, 1)),
    },
    "no norm": {
        "residual connections and no norm": black_box("none"),
        "residual connections and no norm, with sublayers that add little": black_box("none", 0.05),
    },
}
PRE, POST, NO_RESIDUAL, NO_NORM = (tuple(boxes.values()) for boxes in BOXES.values())

EXERCISE = Exercise(
    title="Where is the norm?",
    level=3,
    minutes=15,
    section="8.10",
    prompt="""
You get twelve encoder layers without their source code. Each has self-attention and a feed-forward
network whose matrices you cannot see. `layer(x)` takes any `x` of shape (B, L, 64) and returns a
tensor of the same shape. Think of an experiment, and write `where_is_the_norm(layer)`, which
returns

- `"pre"` if each sublayer reads normalized rows and its output is added to its input,
- `"post"` if each sublayer's output is added to its input and the sum is normalized,
- `"no residual"` if one or both residual connections are missing (with norms before or after),
- `"no norm"` if both residual connections are there, but there is no norm.

Some sublayers add a lot, others add little, and some norms have learned gains and shifts.
""",
    reference=where_is_the_norm,
    cases=lambda generator: [
        Case((layer,), note=name) for boxes in BOXES.values() for name, layer in boxes.items()
    ],
    choices={
        (PRE, "post"): "Multiply the input by a million, and the output grows with it. It could "
        "not if a norm came last.",
        (PRE, "no residual"): "Multiply the input by a million, and the output grows with it. So "
        "residual connections bypass the norms.",
        (PRE, "no norm"): "Output minus input does not grow with the input, so the sublayers read "
        "normalized rows. Compare two inputs, both very large.",
        (POST, "pre"): "However large the input is, the output does not grow: the last step is a "
        "norm.",
        (POST, "no residual"): "Part of each input row is left in its output row. Take the mean "
        "cosine over many rows. A learned shift is the same in all output rows, so subtract their "
        "mean first.",
        (POST, "no norm"): "However large the input is, the output does not grow. (Rows of `randn` "
        "already have a mean near 0 and a variance near 1: try larger ones.)",
        (NO_RESIDUAL, "pre"): "A large input does not make this output large. It would if both "
        "sublayers added to their input.",
        (NO_RESIDUAL, "post"): "Almost nothing of an input row is left in its output row: take the "
        "mean cosine over many rows.",
        (NO_RESIDUAL, "no norm"): "A large input does not make this output large, so something "
        "normalizes it.",
        (NO_NORM, "pre"): "Output minus input grows with the input. It would not if the sublayers "
        "read normalized rows.",
        (NO_NORM, "post"): "The output grows with the input. It could not if a norm came last.",
        (NO_NORM, "no residual"): "The output grows with the input, so nothing is normalized. The "
        "layers without a residual connection have norms.",
    },
    hints=(
        "What does a norm do to a row that is a million times as large? And what does a residual "
        "connection do with it?",
        "If the output grows with the input, does output minus input grow as well? If it does not "
        "grow, is an output row at all similar to its input row?",
        "`layer(1e6 * x)` is large for two of the kinds. For the other two, the mean of "
        "`torch.cosine_similarity(out, x, dim=-1)` over many random rows is about 0 if nothing "
        "is left of the input.",
    ),
    insight="In a pre-norm stack, the input reaches the last norm as one term of a sum, and from "
    "there the gradient has a path back without a norm. In a post-norm stack, every norm rescales "
    "both the input and the gradient.",
    comes_back="10.experiment and 11.experiment examine other black boxes in this way.",
    others=(by_two_sizes,),
)
