"""How is a head told about positions?"""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.attention.sparse_masks import sink_mask
from attnbook.exercises.exercise import EVERY, Case, Exercise, draw
from attnbook.positions.absolute import sinusoids
from attnbook.positions.rotary import apply_rotary

Layer = Callable[[Tensor], Tensor]


def how_told(attend: Layer) -> str:
    word = torch.randn(8, dtype=torch.float64)
    row = attend(word.expand(200, 8))[-1]  # one word 200 times: what the last attends to
    if not row.all():
        return "window"
    if torch.allclose(row, row[:1]):
        return "nothing"
    zeros = attend(torch.zeros(200, 8, dtype=torch.float64))[-1]
    if torch.allclose(zeros, zeros[:1]):
        return "rotary"  # rotated zeros are zeros
    steps = row.log().diff()
    return "alibi" if torch.allclose(steps, steps[:1]) else "added"


W_Q, W_K = draw(Generator().manual_seed(11), 2, 8, 8) / 3
TABLE = draw(Generator().manual_seed(12), 256, 8)
LATER = TABLE * (torch.arange(256)[:, None] > 3)


def causal_head(
    rows: Callable[[Tensor], Tensor] = lambda x: x,
    rotate: Callable[[Tensor, Tensor], Tensor] = lambda x, positions: x,
    slope: float = 0.0,
    window: int = 256,
    n_sinks: int = 0,
) -> Layer:
    """Return a function for the weights of a causal head with this kind of positional encoding.

    The function computes in float64, and returns weights in the dtype of its input.
    """

    def attend(x: Tensor) -> Tensor:
        inputs = rows(x.double().cpu())
        positions = torch.arange(len(x))
        query, key = rotate(inputs @ W_Q, positions), rotate(inputs @ W_K, positions)
        bias = -slope * (positions[:, None] - positions).abs()
        mask = sink_mask(len(x), window, n_sinks)
        return scaled_dot_product_attention(query, key, inputs, mask, bias.double())[1].to(x.dtype)

    return attend


def rotate_half(x: Tensor, positions: Tensor) -> Tensor:
    return torch.cat((apply_rotary(x[:, :4], positions), x[:, 4:]), dim=-1)


HEADS = {
    "no positions": causal_head(),
    "rows of length 1": causal_head(lambda x: x / x.norm(dim=-1, keepdim=True).clamp_min(1e-9)),
    "sinusoids, added to the rows": causal_head(lambda x: x + sinusoids(torch.arange(len(x)), 8)),
    "learned rows, added": causal_head(lambda x: x + TABLE[: len(x)]),
    "added from position 4 on": causal_head(lambda x: x + LATER[: len(x)]),
    "rotary": causal_head(rotate=apply_rotary),
    "rotary, half of the columns": causal_head(rotate=rotate_half),
    "ALiBi, slope 1/4": causal_head(slope=0.25),
    "ALiBi, slope 1/256": causal_head(slope=1 / 256),
    "a window of 6": causal_head(window=6),
    "a window of 120": causal_head(window=120),
    "a window of 5 and 3 sinks": causal_head(window=5, n_sinks=3),
}

EXERCISE = Exercise(
    title="How is it told about positions?",
    level=3,
    minutes=15,
    section="11.10",
    prompt="""
Here are twelve causal heads without descriptions. Each takes rows `x` (L, 8) of your choice, with L
at most 256, and returns its weights, (L, L). `how_told(attend)` may call a head as often as you
like, and returns how it is told about positions:

- `"nothing"`: not at all, apart from the causal mask;
- `"added"`: something is added to the rows, different for each position;
- `"rotary"`: queries and keys are rotated, all of their columns or some;
- `"alibi"`: each step of distance subtracts the same amount from the score;
- `"window"`: not at all, but it attends only to the last words, 120 at most, and perhaps to the
  first few.
""",
    reference=how_told,
    cases=lambda generator: [Case((head,), note=name) for name, head in HEADS.items()],
    choices={
        (HEADS["rows of length 1"], "rotary"): "zeros are not enough. Use one random word at all "
        "positions.",
        (HEADS["added from position 4 on"], "nothing"): "positions 0 to 3 are not marked. Use a "
        "longer text.",
        (HEADS["rotary"], "nothing"): "rotated zeros are zeros. Use one random word at all "
        "positions.",
        (HEADS["ALiBi, slope 1/4"], "window"): "a window has weights of exactly 0. Here they are "
        "only small.",
        (HEADS["ALiBi, slope 1/256"], "nothing"): "the slope is 1/256. Use a long text and a small "
        "tolerance.",
        (HEADS["a window of 120"], "nothing"): "it attends to 120 words. Use a longer text.",
        (EVERY, "nothing"): "with one random word at all positions, the weights in the last row "
        "differ.",
        (EVERY, "added"): "if something is added, rows of zeros get weights that differ. None is "
        "exactly 0, and their logarithms do not change in equal steps. That is not the case here.",
        (EVERY, "rotary"): "with rotary positions, rows of zeros get equal weights, and one random "
        "word at all positions gets weights that differ. One of the two is not true here.",
        (EVERY, "alibi"): "for one word at all positions, ALiBi changes the logarithm of the "
        "weight by the same step from key to key, and this step is not 0.",
        (EVERY, "window"): "with a window of at most 120 words, some weights in a text of 200 "
        "words are exactly 0. Here, none of them are.",
    },
    hints=(
        "Put one word at all positions, so that only the positions differ. Which weights of the "
        "last row are 0, and are the others equal?",
        "Three kinds are left. What remains of each if the word is a row of zeros? And what does "
        "ALiBi do to the logarithm of the weight, from key to key?",
        "If some weights are exactly 0, it is `window`; if all are equal, `nothing`; if they are "
        "equal only for rows of zeros, `rotary`. If `row.log().diff()` is the same everywhere, it "
        "is `alibi`, and otherwise `added`.",
    ),
    insight="Each kind needs its own input: a long text, one word at all positions, or zeros. An "
    "input on which two of the five agree cannot decide between them.",
    comes_back="You can test any head this way: change one thing, and see what effect it has.",
)
