"""A KV cache that fills word by word: what is computed, and what is read from the cache."""

from collections.abc import Mapping, Sequence

import torch

from attnbook.attention.kv_cache import KVCache
from attnbook.language import _
from attnbook.widgets.element import play, show_element

__all__ = ["explore_cache"]


def explore_cache(
    labels: Sequence[str],
    caches: Mapping[str, KVCache],
    d_model: int,
    n_heads: int,
) -> None:
    """Let the reader generate word by word, and see what is computed and what is read from a cache.

    caches: an empty cache for each name; the last is shown first
    The counts are those of one MultiHeadAttention layer in float32.
    """
    positions = [_cached_positions(cache, len(labels)) for cache in caches.values()]
    data = {
        "labels": list(labels),
        "modes": [{"name": n, "read": held} for n, held in zip(caches, positions, strict=True)],
        "width": d_model,
        "heads": n_heads,
        "words": {
            "name": _("What is computed for the newest word, and what is read"),
            "try": _("Press play. Then pick another way of generating, and compare the counts."),
            **play(),
            "newest": _("newest word"),
            "modes": _("generated"),
            "keys": _("keys"),
            "values": _("values"),
            "legend": {
                "new": _("computed for the first time"),
                "read": _("read from the cache"),
                "gone": _("dropped"),
            },
            "counts": [
                _("generated"),
                _("multiplications"),
                _("in total so far"),
                _("bytes kept"),
            ],
            "said": _(
                "Newest word: {word}. Read from the cache: {read}. Dropped: {gone}. "
                "{bytes} bytes are kept for the next word."
            ),
        },
    }
    rows = [
        [label, *(" ".join(labels[i] for i in held[at]) for held in positions)]
        for at, label in enumerate(labels)
    ]
    head = [_("newest word"), *(_("read from: {name}").format(name=name) for name in caches)]
    show_element("attn-cache", data, head, rows)


def _cached_positions(cache: KVCache, length: int) -> list[list[int]]:
    """The positions that a cache like this holds before each word, and after the last word."""
    copy = KVCache(cache.window, cache.n_sinks)
    held = []
    for position in torch.arange(float(length)).view(-1, 1, 1):
        keys, _ = copy.update(position, position)
        held.append([int(i) for i in keys[:-1, 0]])
    assert copy.key is not None
    return [*held, [int(i) for i in copy.key[:, 0]]]
