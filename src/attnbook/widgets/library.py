"""The library of chapter 1: a query that its books answer, and draggable keys in the plane."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import from_numpy

from attnbook.attention.scaled_dot_product import softmax
from attnbook.language import _
from attnbook.widgets.element import check_shape, show_element

__all__ = ["ask_library", "drag_keys"]

REACH = 3  # the maximum length of a dragged vector


def ask_library(
    wishes: Mapping[str, np.ndarray],
    keys: np.ndarray,
    values: np.ndarray,
    titles: Sequence[str],
    topics: Sequence[str],
    contents: Sequence[str],
) -> None:
    """Let the reader compose a query from topics, and see the weights of the books and the output.

    Shapes:  each wish (Dk,), a query; the first is shown initially; keys (Lk, Dk),
             values (Lk, Dv); titles Lk, topics Dk, contents Dv
    Raises:  ValueError if a shape does not fit
    """
    check_shape("keys", keys, (len(titles), len(topics)))
    check_shape("values", values, (len(titles), len(contents)))
    for name, wish in wishes.items():
        check_shape(name, wish, (len(topics),))
    offered = {*np.arange(0, 4.5, 0.5).tolist(), *(x for w in wishes.values() for x in w.tolist())}
    data = {
        "topics": list(topics),
        "titles": list(titles),
        "contents": list(contents),
        "keys": keys.tolist(),
        "values": values.tolist(),
        "amounts": sorted(offered),
        "wishes": [{"name": name, "query": wish.tolist()} for name, wish in wishes.items()],
        "words": {
            "name": _("A library to query: a question, ten books, a report"),
            "try": _("Ask for what you want: move a slider. Then pick a book to see its key."),
            "start": _("start from"),
            "query": _("query: how much you want of each topic"),
            "key": _("key: what the selected card offers"),
            "weights": _("weights"),
            "output": _("output: the pages of your report"),
            "said": _(
                "{title}: {sum} = {score}, weight {weight}. "
                "So {pages} of the report's {all} pages come from it."
            ),
            "apart": _(
                "{title}: no topic in common, score 0, weight {weight}. "
                "So {pages} of the report's {all} pages come from it."
            ),
        },
    }
    scores = keys @ next(iter(wishes.values()))
    weights = softmax(from_numpy(scores)).numpy()
    rows = [
        [title, f"{score:g}", f"{weight:.3f}"]
        for title, score, weight in zip(titles, scores, weights, strict=True)
    ]
    report = zip(contents, weights @ values, strict=True)
    rows += [
        [_("report: {content}").format(content=content), "", _("{n:.1f} pages").format(n=pages)]
        for content, pages in report
    ]
    show_element("attn-library", data, [_("book"), _("score"), _("weight")], rows)


def drag_keys(query: np.ndarray, keys: np.ndarray, names: Sequence[str]) -> None:
    """Let the reader turn and stretch the vectors, and see dot products, cosines and weights.

    Shapes:  query (2,), keys (Lk, 2), names Lk
    Raises:  ValueError if a shape does not fit, or a vector is longer than 3
    """
    check_shape("query", query, (2,))
    check_shape("keys", keys, (len(names), 2))
    longest = max(np.linalg.norm(vector) for vector in (query, *keys))
    if longest > REACH:
        raise ValueError(f"a vector has length {longest:.3g}: the figure reaches to {REACH}")
    data = {
        "query": query.tolist(),
        "keys": keys.tolist(),
        "names": list(names),
        "reach": REACH,
        "words": {
            "name": _("Length and angle: a query and keys to drag"),
            "try": _("Drag an arrowhead: make a key longer, then turn it."),
            "query": _("query"),
            "key": _("key {name}"),
            "length": _("length"),
            "cosine": _("cosine"),
            "dot": _("dot product"),
            "by_dot": _("weight by dot product"),
            "by_cosine": _("weight by cosine"),
            "turned": _("length {length}, direction {degrees}°"),
            "said": _(
                "{name}: length {length}, {degrees}° away from the query. "
                "Weight {weight} by dot product, {fair} by cosine."
            ),
            "said_query": _(
                "Query: length {length}. Of the keys, {name} has the largest weight by "
                "dot product, {weight}."
            ),
        },
    }
    dots = keys @ query
    lengths = np.linalg.norm(keys, axis=1)
    cosines = dots / (lengths * np.linalg.norm(query))
    by_dot, by_cosine = (softmax(from_numpy(scores)).numpy() for scores in (dots, cosines))
    columns = np.stack([lengths, cosines, dots, by_dot, by_cosine], axis=1)
    rows = [[name, *(f"{x:.2f}" for x in row)] for name, row in zip(names, columns, strict=True)]
    head = [
        _("key"),
        _("length"),
        _("cosine"),
        _("dot product"),
        _("weight"),
        _("weight by cosine"),
    ]
    show_element("attn-plane", data, head, rows)
