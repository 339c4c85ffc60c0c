"""Count the parameters of a Transformer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Property
from attnbook.mistakes.head import WrongLine
from attnbook.models.transformer import Transformer


def my_count(
    source_size: int, target_size: int, d_model: int, n_layers: int, d_ff: int, norm_first: bool
) -> int:
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    last_norms = 2 * norm if norm_first else 0
    tables = (source_size + target_size) * d_model
    to_words = d_model * target_size + target_size
    return n_layers * (encoder_layer + decoder_layer) + last_norms + tables + to_words


def count_of_a_model(
    source_size: int, target_size: int, d_model: int, n_layers: int, d_ff: int, norm_first: bool
) -> int:
    sizes = (source_size, target_size, d_model, 1, n_layers, d_ff)
    with torch.device("meta"):  # only shapes, no numbers
        model = Transformer(*sizes, norm_first=norm_first)
    return sum(p.numel() for p in model.parameters())


def count_cases(generator: Generator) -> list[Case]:
    sizes = (
        (11, 17, 6, 1, 13),
        (23, 37, 10, 2, 19),
        (61, 47, 12, 3, 29),
        (9000, 7000, 512, 6, 2048),
    )
    return [
        Case(
            (*each, norm_first),
            {"D": each[2], "F": each[4]},
            "source_size {}, target_size {}, d_model {}, n_layers {}, d_ff {}".format(*each)
            + f", norm_first {norm_first}",
        )
        for each in sizes
        for norm_first in (False, True)
    ]


@dataclass(frozen=True)
class Count:
    """The terms of the sum. Each is right unless it is replaced.

    `attentions` and `norms` count those of an encoder layer and a decoder layer together.
    """

    attention: Callable[..., int] = lambda d: 4 * (d * d + d)
    attentions: Callable[..., int] = lambda: 3
    network: Callable[..., int] = lambda d, f: 2 * d * f + f + d
    norm: Callable[..., int] = lambda d: 2 * d
    norms: Callable[..., int] = lambda: 5
    last_norms: Callable[..., int] = lambda first: 2 if first else 0
    tables: Callable[..., int] = lambda s, t, d: (s + t) * d
    to_words: Callable[..., int] = lambda t, d: d * t + t

    def __call__(self, s: int, t: int, d: int, n: int, f: int, first: bool) -> int:
        layers = self.attentions() * self.attention(d) + 2 * self.network(d, f)
        norms = (n * self.norms() + self.last_norms(first)) * self.norm(d)
        return n * layers + norms + self.tables(s, t, d) + self.to_words(t, d)


COUNT_MISTAKES = (
    WrongLine(
        "attention",
        lambda d: 4 * d * d,
        "The biases of attention are missing: each of its four linear layers has one.",
    ),
    WrongLine("attention", lambda d: 3 * (d * d + d), "Attention has a fourth linear layer, W_O."),
    WrongLine(
        "attentions",
        lambda: 2,
        "A decoder layer has two attention sublayers: self-attention and cross-attention.",
    ),
    WrongLine("network", lambda d, f: 2 * d * f, "The feed-forward network has two biases."),
    WrongLine(
        "network",
        lambda d, f: d * f + f + d,
        "The feed-forward network has two matrices: one to d_ff, the other back to d_model.",
    ),
    WrongLine("norm", lambda d: d, "A norm learns two vectors, a gain and a shift."),
    WrongLine(
        "norms",
        lambda: 4,
        "Either the third norm of each decoder layer is missing, or the second bias of each "
        "feed-forward network. Both change the count by the same amount.",
    ),
    WrongLine(
        "last_norms",
        lambda first: 0,
        "With `norm_first`, each stack has one more norm at the top.",
    ),
    WrongLine(
        "last_norms",
        lambda first: 2,
        "Only with `norm_first` does each stack have a norm at the top.",
    ),
    WrongLine("tables", lambda s, t, d: 0, "The two embedding tables are missing."),
    WrongLine("to_words", lambda t, d: 0, "The last linear layer, which scores words, is missing."),
    WrongLine("to_words", lambda t, d: d * t, "The last linear layer has a bias."),
)


def count_encoder(s: int, t: int, d: int, n: int, f: int, first: bool) -> int:
    layer = 4 * (d * d + d) + 2 * d * f + f + d + 4 * d
    return n * layer + (2 * d if first else 0)


def count_weights(s: int, t: int, d: int, n: int, f: int, first: bool) -> int:
    return n * (12 * d * d + 4 * d * f) + (s + 2 * t) * d


def not_counted(message: str, *counts: Callable[..., int]) -> Property:
    """Give this message to an answer that equals one of these counts."""
    return Property(
        message, lambda answer, case: answer not in [count(*case.arguments) for count in counts]
    )


def off_by(name: str, sizes: Callable[..., Sequence[int]]) -> Property:
    return Property(
        f"You are off by exactly {name}.",
        lambda answer, case: abs(answer - my_count(*case.arguments)) not in sizes(*case.arguments),
    )


EXERCISE = Exercise(
    title="Count the parameters",
    level=2,
    minutes=10,
    section="8.9",
    prompt="""
Write `my_count(source_size, target_size, d_model, n_layers, d_ff, norm_first)`: the number of
parameters of the library's `Transformer` with these sizes, for any number of heads. The first two
arguments are the vocabulary sizes of the source and the target. The encoder and the decoder have
`n_layers` layers each, and positions are sinusoids. With `norm_first`, the layers are pre-norm, as
in section 8.10. Count what is below and above the layers, too. Return a whole number. (Counting the
parameters of a built model also passes, but the point is to find a formula.)
""",
    reference=my_count,
    cases=count_cases,
    mistakes=(),
    common_mistakes=MistakeSet(lambda count: count, COUNT_MISTAKES, right=Count()),
    properties=(
        not_counted(
            "This is the encoder alone. The decoder has its own layers and embedding table.",
            count_encoder,
            lambda s, t, d, *more: s * d + count_encoder(s, t, d, *more),
        ),
        not_counted(
            "The matrices are right. Biases, gains and shifts are parameters, too.",
            count_weights,
            lambda s, t, d, n, *more: 10 * n * d + count_weights(s, t, d, n, *more),
        ),
        not_counted(
            "Source and target each have an embedding table, and the last linear layer has its own "
            "matrix.",
            lambda s, t, d, *more: my_count(s, t, d, *more) - s * d,
            lambda s, t, d, *more: my_count(s, t, d, *more) - t * d,
        ),
        off_by("one norm, or one norm per layer", lambda s, t, d, n, f, first: (2 * d, 2 * d * n)),
        off_by("the norms of all layers", lambda s, t, d, n, f, first: (10 * d * n,)),
        off_by(
            "one attention sublayer per layer", lambda s, t, d, n, f, first: (4 * (d * d + d) * n,)
        ),
        off_by(
            "one feed-forward network per layer",
            lambda s, t, d, n, f, first: ((2 * d * f + f + d) * n,),
        ),
        off_by(
            "a whole number of layers",
            lambda s, t, d, n, f, first: [
                i * my_count(0, 0, d, 1, f, False) for i in range(1, n + 1)
            ],
        ),
    ),
    hints=(
        "Section 8.9 counts a layer of each kind. What is below the layers and above them, and "
        "what does `norm_first` add?",
        "An embedding table has d_model numbers for each word. The last linear layer has d_model "
        "weights and a bias for each target word. With `norm_first`, each stack ends in a norm.",
        "Add up n_layers · (12 (D² + D) + 2 (2 D F + F + D) + 10 D), (S + T) · D, and D · T + T, "
        "and with `norm_first` another 4 D.",
    ),
    insight="The layers do not grow with the vocabulary, and the embedding tables and the last "
    "layer do not grow with depth. The number of heads and the length of a sentence do not matter.",
    comes_back="11.bytes counts what such a model keeps in memory while it writes.",
    others=(count_of_a_model,),
)
