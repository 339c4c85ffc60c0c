"""Long sequences: the cost of chunks, the growth of cost with length, and decoding steps."""

import math
import statistics
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    blocked_attention,
    causal_mask,
    chunked_attention,
    fused_attention,
    linear_attention,
    scaled_dot_product_attention,
    window_attention,
)
from attnbook.models.grouped_query import attend_in_groups
from attnbook.notebook.cost import cost
from benchmarks.timing import ratio, turns


def draw(where: torch.device, length: int, learned: bool = False) -> list[Tensor]:
    """Queries, keys and values for eight heads of width 64."""
    return [x.to(where).requires_grad_(learned) for x in torch.randn(3, 1, 8, length, 64)]


def chunks(where: torch.device) -> None:
    """Compare chunked attention with PyTorch's kernel on a text of 8,192 words."""
    print("\nChunked / fused at 8,192 words, 8 heads of width 64: memory (counted) and time\n")
    for causal in (False, True):
        for name, learned in (("forward", False), ("both", True)):
            qkv = draw(where, 8192, learned)
            forms = {
                form.__name__: partial(step, partial(form, causal=causal), qkv, learned)
                for form in (fused_attention, chunked_attention)
            }
            memory = [cost(form).megabytes for form in forms.values()]
            fused, chunked = turns(forms, least=4).values()
            print(
                f"{'causal' if causal else 'none':6s}  {name:7s}  "
                f"{memory[1]:6.1f} / {memory[0]:5.1f} MB = {memory[1] / memory[0]:4.2f}"
                f"   time {ratio(chunked, fused)}",
                flush=True,
            )


def step(attend: partial, qkv: list[Tensor], learned: bool) -> object:
    """The output or, if `learned`, the gradients; returning them makes them count as memory."""
    output = attend(*qkv)[0]
    return torch.autograd.grad(output.sum(), qkv) if learned else output


def growth(where: torch.device) -> None:
    """Fit the exponent p of each function's cost: twice as many words cost 2^p times as much."""
    lengths = (512, 1024, 2048, 4096)
    print(f"\nExponents, fitted over {lengths} words: time, memory, multiplications\n")
    forms = {
        "plain": scaled_dot_product_attention,
        "blocked": blocked_attention,
        "chunked": chunked_attention,
        "fused": fused_attention,
        "window 64": partial(window_attention, window=64),
        "linear": linear_attention,
        "linear, causal": partial(linear_attention, causal=True),
    }
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in forms}
    for length in lengths:
        qkv = draw(where, length)
        runs = {name: partial(form, *qkv) for name, form in forms.items()}
        took = turns(runs, seconds=2.0, least=5)
        for name, run in runs.items():
            spent = cost(run)
            line = (statistics.median(took[name]), spent.megabytes, float(spent.multiplications))
            found[name].append(line)
    for name, lines in found.items():
        p = [slope(lengths, column) for column in zip(*lines, strict=True)]
        print(f"{name:15s} {p[0]:5.2f} {p[1]:5.2f} {p[2]:5.2f}")


def slope(x: tuple[int, ...], y: tuple[float, ...]) -> float:
    """The slope of the line fitted to the logarithms."""
    return statistics.linear_regression([math.log(v) for v in x], [math.log(v) for v in y]).slope


def decoding(where: torch.device) -> None:
    """Time one more token: with a cache, and with all rows computed again."""
    print("\nOne more token of a layer (D 512, 8 heads), milliseconds; `each` is the mean over")
    print("all tokens when a text of that length is generated from the first one on\n")
    print("words  recomputed  with cache  (its attention alone)   each   recomputed / with cache")
    layer = GroupedQueryAttention(512, 8, 8, attend=fused_attention).to(where)
    text = torch.randn(1, 1024, 512).to(where)
    for length in (128, 256, 512, 1024):
        kept, x = KVCache(), text[:, :length]
        with torch.no_grad():
            layer(x[:, :-1], cache=kept)
            query = torch.randn(1, 8, 1, 64).to(where)
            key, value = torch.randn(2, 1, 8, length, 64).to(where)
            forms = {
                "again": partial(layer, x, causal_mask(length).to(where)),
                "cache": partial(one_more, layer, x[:, -1:], kept),
                "alone": partial(fused_attention, query, key, value),
                "text": partial(written, layer, x),
            }
            found = turns(forms, seconds=5.0)
        again, cache, alone, text_of_it = (1e3 * statistics.median(runs) for runs in found.values())
        print(
            f"{length:5d} {again:11.2f} {cache:11.3f} {alone:16.3f} {text_of_it / length:14.3f}"
            f" {ratio(found['again'], found['cache']):>18s}",
            flush=True,
        )


def one_more(layer: GroupedQueryAttention, row: Tensor, kept: KVCache) -> None:
    """Run a step, then undo it, so that the next run starts from the same cache."""
    before = kept.key, kept.value, kept.length
    layer(row, cache=kept)
    kept.key, kept.value, kept.length = before


def written(layer: GroupedQueryAttention, rows: Tensor) -> None:
    """Run all steps of a text, starting with an empty cache."""
    kept = KVCache()
    for row in rows.split(1, dim=1):
        layer(row, cache=kept)


def shared_heads(where: torch.device) -> None:
    """Time a step with different numbers of key heads: with fewer of them, less memory is read.

    One thread is used, because on a busy machine several threads would mostly wait for each other
    during such a short step.
    """
    counts, words = (32, 8, 4, 1), 4096
    print(f"\nTime of a step of grouped-query attention, {words:,} cached words, 32 query heads of")
    print("width 32, / the time with 32 key heads, on one thread. First attention alone, in groups")
    print(
        "and with a copy of a key head for each query head, then the layer (D 1024) and its cache\n"
    )
    print("key heads     in groups   with copies         layer")
    forms: dict[str, Callable[[], object]] = {}
    query, row = torch.randn(1, 32, 1, 32).to(where), torch.randn(1, 1, 1024).to(where)
    for count in counts:
        layer, kept = GroupedQueryAttention(1024, 32, count).to(where), KVCache()
        key, value = kept.update(*torch.randn(2, 1, count, words, 32).to(where))
        attend = partial(scaled_dot_product_attention, query)
        forms[f"groups {count}"] = partial(
            attend_in_groups, scaled_dot_product_attention, query, key, value, None, None
        )
        forms[f"copies {count}"] = partial(with_copies, attend, key, value, 32 // count)
        forms[f"layer {count}"] = partial(one_more, layer, row, kept)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        found = turns(forms, least=15)
    torch.set_num_threads(threads)
    floors = {"groups": "groups 32", "copies": "groups 32", "layer": "layer 32"}
    for count in counts:
        line = [ratio(found[f"{name} {count}"], found[floor]) for name, floor in floors.items()]
        print(f"{count:9d} ", *(f"{text:>13s}" for text in line), flush=True)


def with_copies(attend: Callable, key: Tensor, value: Tensor, shared: int) -> object:
    """Attend without groups: each key head is copied for every query head that shares it."""
    if shared == 1:
        return attend(key, value)
    return attend(*(x.repeat_interleave(shared, dim=-3) for x in (key, value)))
