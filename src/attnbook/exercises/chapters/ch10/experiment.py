"""Which kind of attention is it?"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.chapters.ch10.shared import chunked_by_merging
from attnbook.exercises.exercise import EVERY, Case, Exercise
from attnbook.language import _

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def what_is(attend: Attend) -> str:
    query, key = torch.randn(2, 64, 8)
    seen = attend(query, key, torch.eye(64)) != 0  # values of 0 and 1: the output is the weights
    if not seen[-1].all():  # if the last word does not attend to every word
        return "global" if seen[-1, :32].any() else "window"
    largest = attend(1e6 * query, key, torch.eye(64))[-1].max()
    return "softmax" if largest > 0.9 else "linear"


def masked_by(look: Callable[[Tensor], Tensor]) -> Attend:
    """Return attention with the mask that `look` computes from i − j."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        position = torch.arange(len(query), device=query.device)
        mask = look(position[:, None] - position)
        return scaled_dot_product_attention(query, key, value, mask)[0]

    return attend


def by_features(feature: Callable[[Tensor], Tensor], causal: bool = False) -> Attend:
    """Return linear attention with this feature map φ."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        weights = feature(query) @ feature(key).mT
        weights = weights.tril() if causal else weights
        return weights / weights.sum(-1, keepdim=True) @ value

    return attend


def five_keys_at_a_time(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return chunked_by_merging(query, key, value, 5)


def row_and_column(back: Tensor, token: int) -> Tensor:
    """Return a mask that is True in one word's row and column, given a matrix of i − j."""
    is_token = torch.arange(len(back), device=back.device) == token
    return is_token | is_token[:, None]


PROGRAMS = {
    "all pairs": masked_by(lambda back: back == back),
    "chunks": five_keys_at_a_time,
    "causal": masked_by(lambda back: back >= 0),
    "two words": masked_by(lambda back: back.abs() <= 2),
    "20 words": masked_by(lambda back: back.abs() <= 20),
    "three words, causal": masked_by(lambda back: (back >= 0) & (back <= 3)),
    "word 0": masked_by(lambda back: (back.abs() <= 2) | row_and_column(back, 0)),
    "word 7": masked_by(lambda back: (back.abs() <= 3) | row_and_column(back, 7)),
    "φ = elu + 1": by_features(lambda x: F.elu(x) + 1),
    "φ = relu + 0.01, causal": by_features(lambda x: F.relu(x) + 0.01, causal=True),
}

EXERCISE = Exercise(
    title="Which kind of attention is it?",
    level=3,
    minutes=15,
    section="10.11",
    prompt="""
Here are ten programs without source code. Each takes `query` (L, Dk), `key` (L, Dk) and `value`
(L, Dv) of your choice, with L at most 64, and returns the output, (L, Dv), without the weights.
Some are causal. `what_is(attend)` may call a program as often as you like, and returns

- `"softmax"` if each word attends to all words, or to all earlier ones, with weights e^score / sum;
- `"window"` if it attends only to words near it, at most 20 on each side;
- `"global"` if every word attends to those near it and to one word among the first eight;
- `"linear"` if it attends to the same words as a softmax, but with weights φ(q) · φ(k) / sum.
""",
    reference=what_is,
    cases=lambda generator: [
        Case((program,), note=_("program {name}").format(name=name))
        for name, program in zip("ABCDEFGHIJ", PROGRAMS.values(), strict=True)
    ],
    choices={
        (PROGRAMS["causal"], "window"): "it attends to all earlier words. Look at the last row.",
        (PROGRAMS["20 words"], "softmax"): "its window has 20 words on each side. Was your text "
        "long enough?",
        (PROGRAMS["20 words"], "global"): "its window has 20 words on each side. It has no global "
        "word.",
        (PROGRAMS["word 0"], "softmax"): "the last word attends to the first, but not to most "
        "words in between.",
        (PROGRAMS["word 7"], "window"): "every word attends to word 7. Did you try only the first "
        "word?",
        (PROGRAMS["chunks"], "linear"): "it reads keys in chunks, but large queries give one key "
        "all the weight.",
        (EVERY, "softmax"): "in a softmax over all keys, ordinary queries give no key a weight of "
        "exactly 0, and very large ones give one key all the weight. One of the two is not true "
        "here.",
        (EVERY, "window"): "the last word attends to a word far away. Look at its weights on the "
        "first eight.",
        (EVERY, "global"): "the last word attends to all distant words, or to none. With a global "
        "word it attends to exactly one.",
        (EVERY, "linear"): "in linear attention, ordinary queries give no key a weight of exactly "
        "0, and very large ones do not give one key all the weight. One of the two is not true "
        "here.",
    },
    hints=(
        "You choose the values. For which values is the output equal to the weights?",
        "`attend(query, key, torch.eye(64))` returns the weights. Which numbers of the last row "
        "are exactly 0? If none, what changes with queries a million times as large?",
        "Suppose the last row has no 0: it is `softmax` if the largest weight goes to 1 as the "
        "queries grow, and otherwise `linear`. Suppose it has one: it is `global` if the first "
        "half of the row has a number other than 0, and otherwise `window`.",
    ),
    insight="Large queries make a softmax choose one key. φ(q) · φ(k) cannot choose: beyond some "
    "size, larger queries multiply all weights by the same factor, which the division cancels.",
    comes_back="11.experiment asks how such a program is told about positions.",
)
