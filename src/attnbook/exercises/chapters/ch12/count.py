"""Count the parameters of a decoder-only model."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake
from attnbook.language import _
from attnbook.mistakes.head import WrongLine
from attnbook.models.language_model import LanguageModel


def count_parameters(
    vocabulary_size: int,
    d_model: int,
    n_heads: int,
    n_kv_heads: int,
    n_layers: int,
    d_ff: int,
    tied: bool,
) -> int:
    d_kv = d_model // n_heads * n_kv_heads  # the width of all key heads together
    attention = 2 * d_model * d_model + 2 * d_model * d_kv  # W_Q, W_O, and W_K, W_V
    block = attention + 3 * d_model * d_ff + 2 * d_model  # three matrices, two norms
    n_tables = 1 if tied else 2
    return n_tables * vocabulary_size * d_model + n_layers * block + d_model


def count_by_building(
    vocabulary_size: int,
    d_model: int,
    n_heads: int,
    n_kv_heads: int,
    n_layers: int,
    d_ff: int,
    tied: bool,
) -> int:
    sizes = vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff
    with torch.device("meta"):  # only shapes, no numbers
        model = LanguageModel(*sizes, tied=tied)
    return sum(p.numel() for p in model.parameters())


def count_cases(generator: Generator) -> list[Case]:
    def case(*sizes: int, tied: bool) -> Case:
        text = _(
            "{words} words, d_model {d_model}, {heads} heads, {key_heads} key heads, "
            "{layers} layers, d_ff {d_ff}, tied {tied}"
        )
        names = ("words", "d_model", "heads", "key_heads", "layers", "d_ff")
        note = text.format(**dict(zip(names, sizes, strict=True)), tied=tied)
        return Case((*sizes, tied), note=note)

    return [
        case(11, 24, 6, 2, 3, 7, tied=False),
        case(11, 24, 6, 2, 3, 7, tied=True),
        case(386, 64, 4, 2, 2, 160, tied=True),  # this chapter's model
        case(29, 36, 6, 1, 5, 47, tied=False),
        case(9000, 512, 16, 2, 4, 1376, tied=True),
    ]


@dataclass(frozen=True)
class Count:
    """The terms of the sum. Each is right unless it is replaced."""

    query_output: Callable[[int, int, int], int] = lambda d, h, g: 2 * d * d
    key_value: Callable[[int, int, int], int] = lambda d, h, g: 2 * d * (d // h * g)
    network: Callable[[int, int], int] = lambda d, f: 3 * d * f
    norms: Callable[[int, int], int] = lambda d, n: 2 * d * n
    last_norm: Callable[[int, int], int] = lambda d, n: d
    tables: Callable[[bool], int] = lambda tied: 1 if tied else 2
    layers: Callable[[int], int] = lambda n: n

    def __call__(self, v: int, d: int, h: int, g: int, n: int, f: int, tied: bool) -> int:
        attention = self.query_output(d, h, g) + self.key_value(d, h, g)
        n = self.layers(n)
        norms = self.norms(d, n) + self.last_norm(d, n)
        return self.tables(tied) * v * d + n * (attention + self.network(d, f)) + norms


BIAS_OF_NORM = "You gave a norm a bias. RMSNorm has only a weight for each column."
COUNT_MISTAKES = (
    WrongLine(
        "key_value",
        lambda d, h, g: 2 * d * d,
        "W_K and W_V are narrower than W_Q: each has only `n_kv_heads` heads, which are "
        "d_model / n_heads wide.",
    ),
    WrongLine(
        "key_value",
        lambda d, h, g: 2 * d * (d // h),
        "You counted one key head. There are `n_kv_heads` of them.",
    ),
    WrongLine(
        "key_value",
        lambda d, h, g: d * (d // h * g),
        "Keys and values each have a matrix of their own.",
    ),
    WrongLine(
        "key_value",
        lambda d, h, g: 2 * d * (d // g),
        "You divided by `n_kv_heads`. A key head is as wide as a query head, d_model / n_heads, "
        "and there are `n_kv_heads` of them.",
    ),
    WrongLine(
        "key_value",
        lambda d, h, g: 2 * d * g,
        "You counted one column for each key head. A key head is d_model / n_heads wide.",
    ),
    WrongLine("query_output", lambda d, h, g: d * d, "Attention has a fourth matrix, W_O."),
    WrongLine(
        "query_output",
        lambda d, h, g: 2 * d * (d // h * g),
        "Only W_K and W_V are narrower. W_Q and W_O serve all `n_heads` heads: d_model × d_model.",
    ),
    WrongLine(
        "network",
        lambda d, f: 2 * d * f,
        "A gated feed-forward network has three matrices: gate, up and down.",
    ),
    WrongLine(
        "network",
        lambda d, f: 3 * d * f + 2 * f + d,
        "You counted biases in the feed-forward network. This one has none.",
    ),
    WrongLine("norms", lambda d, n: 4 * d * n, BIAS_OF_NORM),
    WrongLine(
        "norms",
        lambda d, n: d * n,
        "A block has two norms: each of its two sublayers has its own.",
    ),
    WrongLine(
        "norms",
        lambda d, n: 2 * d,
        "You counted the norms of one block. Each of the `n_layers` blocks has its own two.",
    ),
    WrongLine(
        "last_norm",
        lambda d, n: n * d,
        "You counted the last norm once for each block. There is one, above all blocks.",
    ),
    WrongLine("last_norm", lambda d, n: 2 * d, BIAS_OF_NORM),
    WrongLine("last_norm", lambda d, n: 0, "The last norm, above all blocks, is missing."),
    WrongLine(
        "tables",
        lambda tied: 2,
        "With `tied`, the last matrix is the embedding table itself. It counts once.",
    ),
    WrongLine(
        "tables",
        lambda tied: 1,
        "Without `tied`, there are two tables: the embedding and the last matrix.",
    ),
)

EXERCISE = Exercise(
    title="How many parameters?",
    level=1,
    minutes=10,
    section="12.4",
    prompt="""
Write `count_parameters(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied)`: the
number of parameters of the chapter's `LanguageModel` with these sizes. It has `n_layers` blocks and
no biases. If `tied` is True, the last matrix is the embedding table itself. Return a whole number.
(Building the model and counting its parameters also passes, but the point is to find a formula.)
""",
    stub="""
def count_parameters(
    vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied
):
    raise NotImplementedError
""",
    reference=count_parameters,
    cases=count_cases,
    mistakes=(
        Mistake(
            Count(norms=lambda d, n: 0, last_norm=lambda d, n: 0),
            "The matrices are right. Each RMSNorm has d_model weights, and there are two in each "
            "block and one above all blocks.",
        ),
        Mistake(
            Count(norms=lambda d, n: 4 * d * n, last_norm=lambda d, n: 2 * d),
            "You counted two vectors for each norm, as in LayerNorm. RMSNorm has no bias.",
        ),
        Mistake(
            Count(
                query_output=lambda d, h, g: 2 * d * (d + 1),
                key_value=lambda d, h, g: 2 * (d + 1) * (d // h * g),
                network=lambda d, f: 3 * d * f + 2 * f + d,
            ),
            "You counted a bias for each matrix of a block. None of them has one.",
        ),
        Mistake(
            Count(
                query_output=lambda d, h, g: 2 * d * (d + 1),
                key_value=lambda d, h, g: 2 * (d + 1) * (d // h * g),
            ),
            "You counted biases in attention. Its four matrices have none.",
        ),
        Mistake(Count(layers=lambda n: 1), "That is one block. There are `n_layers` of them."),
        Mistake(
            Count(tables=lambda tied: 0),
            "You counted the blocks and the last norm, but the embedding table is missing.",
        ),
        Mistake(
            Count(tables=lambda tied: 0 if tied else 1),
            "There is one table below the blocks and one above. With `tied` they are the same "
            "table, which still counts once.",
        ),
        Mistake(
            Count(tables=lambda tied: 2 if tied else 1),
            "You swapped the two cases: `tied` means one table, otherwise there are two.",
        ),
    ),
    common_mistakes=MistakeSet(lambda count: count, COUNT_MISTAKES, right=Count()),
    hints=(
        "Begin with one block: the matrices of attention, the matrices of the feed-forward "
        "network, and the norms.",
        "W_Q and W_O are d_model × d_model. W_K and W_V have d_model / n_heads · n_kv_heads "
        "columns. The network has three matrices, and each RMSNorm has d_model weights.",
        "`d_kv = d_model // n_heads * n_kv_heads`. A block has `2 * d_model * (d_model + d_kv) + "
        "3 * d_model * d_ff + 2 * d_model`. Add the tables and the last norm.",
    ),
    insight="`count_parameters(128_256, 2048, 32, 8, 16, 8192, True)` is Llama 3.2 1B: "
    "1,235,814,400 parameters, 65% of them in the feed-forward networks. Without tying, it would "
    "have 263 million more.",
    comes_back="The cache grows with `n_kv_heads` in the same way, as in 11.bytes.",
    others=(count_by_building,),
)
