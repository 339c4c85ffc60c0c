"""The size of a KV cache in bytes."""

from collections.abc import Callable

import torch
from torch import Generator

from attnbook.exercises.exercise import Case, Exercise, Mistake
from attnbook.language import _


def cache_bytes(
    n_layers: int, d_model: int, n_heads: int, n_kv_heads: int, length: int, n_bytes: int
) -> int:
    numbers = n_kv_heads * (d_model // n_heads)  # in one word's keys in one layer
    return 2 * n_layers * length * numbers * n_bytes


def bytes_of_tensors(
    n_layers: int, d_model: int, n_heads: int, n_kv_heads: int, length: int, n_bytes: int
) -> int:
    keys = torch.empty(n_layers, n_kv_heads, length, d_model // n_heads, device="meta")
    return n_bytes * (keys.numel() + keys.numel())


def bytes_cases(generator: Generator) -> list[Case]:
    def case(*a: int) -> Case:
        text = _(
            "{layers} layers of width {width}, {heads} heads, {key_heads} key heads, "
            "{words} words, {bytes}-byte numbers"
        )
        names = ("layers", "width", "heads", "key_heads", "words", "bytes")
        return Case(a, note=text.format(**dict(zip(names, a, strict=True))))

    return [
        case(3, 60, 10, 5, 7, 4),
        case(6, 40, 8, 1, 11, 2),
        case(5, 72, 6, 6, 13, 1),
        case(32, 4096, 32, 8, 8192, 2),  # as in Llama 3 with 8 billion parameters
    ]


def counted(
    numbers: Callable[[int, int, int], int] = lambda d, h, g: 2 * g * (d // h),
    times: Callable[[int, int, int], int] = lambda n, length, size: n * length * size,
) -> Callable[[int, int, int, int, int, int], int]:
    """Count a cache's bytes, with a mistake in the numbers per word or in the other factors."""
    return lambda n, d, h, g, length, size: numbers(d, h, g) * times(n, length, size)


EXERCISE = Exercise(
    title="The size of a KV cache",
    level=1,
    minutes=6,
    section="11.4",
    prompt="""
Write `cache_bytes(n_layers, d_model, n_heads, n_kv_heads, length, n_bytes)`. It returns, as a whole
number, how many bytes the cache of a language model holds after `length` words of one text. The
model has `n_layers` layers. In each, `n_heads` query heads share `n_kv_heads` heads of keys and
values. A head is d_model / n_heads wide, and a number takes `n_bytes` bytes.
""",
    reference=cache_bytes,
    cases=bytes_cases,
    mistakes=(
        Mistake(
            counted(lambda d, h, g: g * (d // h)),
            "That is half of the memory. The cache keeps keys and values.",
        ),
        Mistake(
            counted(lambda d, h, g: 2 * d),
            "You counted d_model numbers for a word's keys. It has `n_kv_heads` key heads, each "
            "d_model / n_heads wide.",
        ),
        Mistake(
            counted(lambda d, h, g: 2 * g * d),
            "You gave each key head the width of the model. A head is d_model / n_heads wide.",
        ),
        Mistake(
            counted(lambda d, h, g: 2 * (d // h)),
            "You counted only one key head. There are `n_kv_heads` of them.",
        ),
        Mistake(
            counted(times=lambda n, length, size: length * size),
            "You counted only one layer. Each layer has its own keys and values.",
        ),
        Mistake(
            counted(times=lambda n, length, size: n * size),
            "You counted only one word. There are `length` of them.",
        ),
        Mistake(
            counted(times=lambda n, length, size: n * length),
            "You counted numbers, not bytes. Each number takes `n_bytes` bytes.",
        ),
        Mistake(
            counted(lambda d, h, g: 3 * g * (d // h)),
            "You counted three tensors. The cache keeps keys and values, but no queries.",
        ),
        Mistake(
            counted(lambda d, h, g: d + 2 * g * (d // h)),
            "You counted the queries, too. Later words need only keys and values.",
        ),
        Mistake(
            counted(times=lambda n, length, size: n * length**2 * size),
            "You multiplied by `length` twice. Each word adds the same amount to the cache. Only "
            "the attention map grows with the square of the length, and it is not kept.",
        ),
        Mistake(
            counted(lambda d, h, g: 2 * (d // h) * (h // g)),
            "You divided by `n_kv_heads`. More key heads need more memory.",
        ),
    ),
    hints=(
        "Begin with one word in one layer. How many numbers do its keys have?",
        "A key has d_model / n_heads numbers in each key head. Then count values, layers, words "
        "and bytes.",
        "`2 * n_layers * length * n_kv_heads * (d_model // n_heads) * n_bytes`.",
    ),
    insight="The last case has the sizes of Llama 3 with 8 billion parameters: 1 GiB for one text "
    "of 8,192 words. With a key head for each query head it would be 4 GiB.",
    comes_back="11.share computes attention with shared key heads.",
    others=(bytes_of_tensors,),
)
