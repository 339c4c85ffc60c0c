"""A KV cache that fills word by word: what is computed, and what is read from the cache."""

from collections.abc import Mapping, Sequence

import torch

from attnbook.attention.kv_cache import KVCache
from attnbook.language import _
from attnbook.widgets.element import play, show_element

__all__ = ["explore_cache"]


def explore_cache(
    labels: Sequence[str],
    caches: Mapping[str, KVCache | None],
    d_model: int,
    n_heads: int,
    key_heads: Sequence[int],
) -> None:
    """Let the reader generate word by word, and see what is computed and what is read from a cache.

    caches: an empty cache for each name, or None to generate without one; the last is shown first
    key_heads: the numbers of key heads to choose from, the largest first
    The counts are those of one GroupedQueryAttention layer in float32.
    """
    positions = [_cached_positions(cache, len(labels)) for cache in caches.values()]
    cached = _(
        "Rows computed for {word}: 1. Read from the cache: {read}. "
        "{bytes} bytes are kept for the next word."
    )
    if "gone" in _states(caches):
        cached = _(
            "Rows computed for {word}: 1. Read from the cache: {read}. Dropped: {gone}. "
            "{bytes} bytes are kept for the next word."
        )
    data = {
        "labels": list(labels),
        "modes": [{"name": n, "read": held} for n, held in zip(caches, positions, strict=True)],
        "width": d_model,
        "head": d_model // n_heads,
        "key_heads": list(key_heads),
        "words": {
            "name": _("What is computed for the newest word, and what is read"),
            "try": _("Press play. Then pick another way of generating, and compare the counts."),
            **play(),
            "newest": _("newest word"),
            "modes": _("generated"),
            "heads": _("key heads"),
            "keys": _("keys"),
            "values": _("values"),
            "legend": {name: text for name, text in _legend().items() if name in _states(caches)},
            "counts": [
                _("generated"),
                _("rows computed"),
                _("multiplications"),
                _("in total so far"),
                _("bytes kept"),
            ],
            "again": _("Rows computed for {word}: {rows}. Computed before: {before}."),
            "cached": cached,
        },
    }
    rows = [
        [
            label,
            *("–" if held is None else " ".join(labels[i] for i in held[at]) for held in positions),
        ]
        for at, label in enumerate(labels)
    ]
    head = [_("newest word"), *(_("read from: {name}").format(name=name) for name in caches)]
    show_element("attn-cache", data, head, rows)


def _cached_positions(cache: KVCache | None, length: int) -> list[list[int]] | None:
    """The positions that a cache like this holds before each word, and after the last word."""
    if cache is None:
        return None
    copy = KVCache(cache.window, cache.n_sinks)
    held = []
    for position in torch.arange(float(length)).view(-1, 1, 1):
        keys, _ = copy.update(position, position)
        held.append([int(i) for i in keys[:-1, 0]])
    assert copy.key is not None
    return [*held, [int(i) for i in copy.key[:, 0]]]


def _states(caches: Mapping[str, KVCache | None]) -> set[str]:
    """The names of the states in `_legend` that can occur with these caches."""
    states = {"new"}
    for cache in caches.values():
        states |= {"again", "masked"} if cache is None else {"read"}
        states |= {"gone"} if cache and cache.window else set()
    return states


def _legend() -> dict[str, str]:
    """The names of the states of a row, in the reader's language."""
    return {
        "new": _("computed for the first time"),
        "again": _("computed again"),
        "masked": _("computed, and masked"),
        "read": _("read from the cache"),
        "gone": _("dropped"),
    }
