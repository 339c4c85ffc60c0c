"""Rows that come one after the other: a softmax that meets its keys in turn, a cache that fills."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from attnbook.cache import KVCache
from attnbook.widgets.element import one_row, show_element

__all__ = ["gather_online", "write_words"]

LEGEND = {
    "new": "computed for the first time",
    "again": "computed again",
    "masked": "computed, and masked",
    "read": "read from the cache",
    "gone": "let go",
}


def gather_online(
    scores: Tensor, values: Tensor, labels: Sequence[str], sizes: Sequence[int] = (1, 2, 3, 6)
) -> None:
    """Let the reader order the keys of one query, and gather their softmax block by block.

    Shapes:  scores (Lk,), values (Lk, Dv), labels Lk; sizes: the keys of a block to choose from
    Raises:  ValueError if the lengths do not fit
    """
    row = one_row(scores, labels)
    if len(values) != len(labels):
        raise ValueError(f"values has {len(values)} rows: {len(labels)} labels need as many")
    data = {
        "labels": list(labels),
        "scores": row,
        "values": [[round(x, 2) for x in value] for value in values.tolist()],
        "sizes": list(sizes),
        "words": {
            "name": "A softmax whose keys arrive in an order of your choice",
            "seen": "keys so far",
            "sizes": "keys at a time",
            "how": "Drag a word to another place, or press it: it comes one place earlier.",
            "rows": {
                "words": "key",
                "power": "e^(s − m)",
                "score": "score s",
                "largest": "largest m",
                "shrink": "old times",
                "total": "sum l",
            },
            "output": "mixture / sum, number by number; the marks are the softmax of the whole row",
            "first": "{words}: the sum begins with {plus}.",
            "larger": "{words}: a new largest score. All that was gathered is multiplied by "
            "{shrink}, then {plus} is added: the sum is {total}.",
            "smaller": "{words}: no larger score. {plus} is added: the sum is {total}.",
            "so_far": "Mixture / sum is off by up to {off}.",
            "end": "All keys have come. Times that the sum has shrunk: {shrinks}. Level m + log l: "
            "{level}. Mixture / sum is off by {off}.",
        },
    }
    rows, largest, total = [], -math.inf, 0.0
    for label, score in zip(labels, row, strict=True):
        before, largest = largest, max(largest, score)
        shrink = math.exp(before - largest)
        total = total * shrink + math.exp(score - largest)
        rows.append([label, *(f"{x:.2f}" for x in (score, largest, shrink, total))])
    show_element("attn-online", data, ["key", "score s", "largest m", "old times", "sum l"], rows)


def write_words(
    labels: Sequence[str],
    caches: Mapping[str, KVCache | None],
    d_model: int,
    n_heads: int,
    key_heads: Sequence[int],
) -> None:
    """Let the reader write word by word, and see what is computed and what a cache hands over.

    caches: ways of writing by name, the first to begin with: an empty cache, or None to begin anew
    key_heads: the numbers of key heads to choose from, the largest first
    The numbers are those of one layer, GroupedQueryAttention, in float32.
    """
    ways = [_held(cache, len(labels)) for cache in caches.values()]
    data = {
        "labels": list(labels),
        "modes": [{"name": n, "read": held} for n, held in zip(caches, ways, strict=True)],
        "width": d_model,
        "head": d_model // n_heads,
        "key_heads": list(key_heads),
        "words": {
            "name": "What is computed for the newest word, and what is read",
            "newest": "newest word",
            "modes": "written",
            "heads": "key heads",
            "keys": "keys",
            "values": "values",
            "legend": {name: text for name, text in LEGEND.items() if name in _states(caches)},
            "counts": [
                "written",
                "rows computed",
                "multiplications",
                "in all so far",
                "bytes kept",
            ],
            "again": "Rows computed for {word}: {rows}. Not for the first time: {before}.",
            "cached": "Rows computed for {word}: 1. Read from the cache: {read}. "
            + ("Let go: {gone}. " if "gone" in _states(caches) else "")
            + "For the next word {bytes} bytes are kept.",
        },
    }
    rows = [
        [label, *("–" if held is None else " ".join(labels[i] for i in held[at]) for held in ways)]
        for at, label in enumerate(labels)
    ]
    head = ["newest word", *(f"read from: {name}" for name in caches)]
    show_element("attn-cache", data, head, rows)


def _held(cache: KVCache | None, length: int) -> list[list[int]] | None:
    """Which positions such a cache holds when each word comes, and after the last one."""
    if cache is None:
        return None
    fresh = KVCache(cache.window, cache.n_sinks)
    held = []
    for position in torch.arange(float(length)).view(-1, 1, 1):
        together, _ = fresh.append(position, position)
        held.append([int(i) for i in together[:-1, 0]])
    assert fresh.key is not None
    return [*held, [int(i) for i in fresh.key[:, 0]]]


def _states(caches: Mapping[str, KVCache | None]) -> set[str]:
    """What may become of a row in these ways of writing."""
    states = {"new"}
    for cache in caches.values():
        states |= {"again", "masked"} if cache is None else {"read"}
        states |= {"gone"} if cache and cache.window else set()
    return states
