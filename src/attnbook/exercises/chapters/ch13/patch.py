"""Repair a path patching experiment that leaks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from attnbook.attention.masks import causal_mask
from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.exercises.chapters.ch13.shared import some_layer
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw
from attnbook.mistakes.head import WrongLine


def patched_keys(
    first: MultiHeadAttention, second: MultiHeadAttention, x: Tensor, other: Tensor, mask: Tensor
) -> Tensor:
    stream = x + first(x, mask=mask)[0]
    patched = x + first(other, mask=mask)[0]
    read, _ = second(stream, patched, stream, mask=mask)
    return stream + read


def patched_keys_by_difference(
    first: MultiHeadAttention, second: MultiHeadAttention, x: Tensor, other: Tensor, mask: Tensor
) -> Tensor:
    added, exchanged = (first(rows, mask=mask)[0] for rows in (x, other))
    stream = x + added
    keys = stream - added + exchanged
    return stream + second(query=stream, key=keys, value=stream, mask=mask)[0]


def patch_cases(generator: Generator) -> list[Case]:
    def case(note: str, h: int, d: int, length: int, *front: int) -> Case:
        layers = (some_layer(generator, d, h), some_layer(generator, d, h))
        x, other = draw(generator, *front, length, d), draw(generator, *front, length, d)
        sizes = {**({"B": front[0]} if front else {}), "L": length, "D": d}
        return Case((*layers, x, other, causal_mask(length)), sizes, note)

    return [
        case("one sequence, 2 heads", 2, 6, 5),
        case("2 sequences, 4 heads", 4, 12, 5, 2),
        case("3 sequences, 5 heads", 5, 10, 7, 3),
    ]


Reads = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Patch:
    """What the second layer reads and adds to. Each is right unless it is replaced.

    Each receives the embeddings and what layer 1 adds, first for this run, then for the other.
    """

    query: Reads = lambda x, added, other, theirs: x + added
    key: Reads = lambda x, added, other, theirs: x + theirs
    value: Reads = lambda x, added, other, theirs: x + added
    onward: Reads = lambda x, added, other, theirs: x + added

    def __call__(
        self,
        first: MultiHeadAttention,
        second: MultiHeadAttention,
        x: Tensor,
        other: Tensor,
        mask: Tensor,
    ) -> Tensor:
        both = (x, first(x, mask=mask)[0], other, first(other, mask=mask)[0])
        ways = (way(*both) for way in (self.query, self.key, self.value))
        return self.onward(*both) + second(*ways, mask=mask)[0]


def all_of_the_other(x: Tensor, added: Tensor, other: Tensor, theirs: Tensor) -> Tensor:
    return other + theirs


def their_layer_1(x: Tensor, added: Tensor, other: Tensor, theirs: Tensor) -> Tensor:
    return x + theirs


def without_mask(layer: MultiHeadAttention) -> Any:
    return lambda *ways, mask: layer(*ways)


PATCH_MISTAKES = (
    WrongLine(
        "key",
        all_of_the_other,
        "Your keys also contain the other run's embeddings. Only what layer 1 adds should come "
        "from that run.",
    ),
    WrongLine(
        "key",
        lambda x, added, other, theirs: x + added,
        "Nothing is patched: the keys come from the run on `x`.",
    ),
    WrongLine(
        "key",
        lambda x, added, other, theirs: other + added,
        "The keys contain the other run's embeddings, and what layer 1 adds in the run on `x`. It "
        "should be the other way around.",
    ),
    WrongLine(
        "key",
        lambda x, added, other, theirs: x + added + theirs,
        "The keys contain what layer 1 adds in *both* runs. Replace it instead of adding it.",
    ),
    WrongLine(
        "key",
        lambda x, added, other, theirs: theirs,
        "The keys lack the embeddings `x`.",
    ),
    WrongLine(
        "value",
        their_layer_1,
        "The values read the patched stream. If `second` gets no value, it takes the key.",
    ),
    WrongLine(
        "value",
        all_of_the_other,
        "The values come from the other run. They have to come from the run on `x`.",
    ),
    WrongLine(
        "value",
        lambda x, added, other, theirs: x,
        "The values lack what layer 1 adds. They have to come from the run on `x`.",
    ),
    WrongLine("query", their_layer_1, "The queries read the patched stream. Only the keys may."),
    WrongLine(
        "query",
        all_of_the_other,
        "The queries come from the other run. They have to come from the run on `x`.",
    ),
    WrongLine(
        "onward",
        their_layer_1,
        "You added the output of layer 2 to the patched stream. The stream itself must not change.",
    ),
    WrongLine(
        "onward",
        all_of_the_other,
        "You added the output of layer 2 to the other run's stream. Add it to the stream of `x`.",
    ),
    WrongLine(
        "onward",
        lambda x, added, other, theirs: torch.zeros_like(x),
        "That is only what layer 2 adds. Return the stream after layer 2.",
    ),
    WrongLine(
        "onward",
        lambda x, added, other, theirs: x,
        "The stream that you return lacks what layer 1 adds.",
    ),
)

EXERCISE = Exercise(
    title="A patch that leaks",
    level=3,
    minutes=15,
    section="13.8",
    prompt="""
`first` and `second` are two causal attention layers. `x` (..., L, D) contains the embeddings of one
sequence, and `other` those of another. In the run on `x`, only the *keys* of `second` should read a
patched stream, in which the part added by `first` comes from the run on `other`. The function
returns the stream after `second`, (..., L, D). It runs without an error, but it leaks in three
places. Repair it.
""",
    stub="""
def patched_keys(first, second, x, other, mask):
    raise NotImplementedError  # repair the lines below, then delete this one
    stream = x + first(x, mask=mask)[0]
    patched = other + first(other, mask=mask)[0]
    read, _ = second(stream, patched, mask=mask)
    return patched + read
""",
    reference=patched_keys,
    cases=patch_cases,
    axes="B L D",
    gradients=False,
    mistakes=(
        Mistake(
            Patch(key=all_of_the_other, value=all_of_the_other, onward=all_of_the_other),
            "All three leaks are still there. Whose embeddings are in the patched stream? What "
            "are the values of `second` if it gets only two tensors? And what is `read` added to?",
        ),
        Mistake(
            Patch(value=their_layer_1, onward=their_layer_1),
            "The embeddings are now right. What are the values of `second` if it gets only two "
            "tensors? And what is `read` added to?",
        ),
        Mistake(
            Patch(key=all_of_the_other, onward=all_of_the_other),
            "The values are now right. Whose embeddings are in the patched stream? And what is "
            "`read` added to?",
        ),
        Mistake(
            Patch(key=all_of_the_other, value=all_of_the_other),
            "`read` is now added to the right stream. Whose embeddings are in the patched stream? "
            "And what are the values of `second` if it gets only two tensors?",
        ),
        Mistake(
            Patch(all_of_the_other, all_of_the_other, all_of_the_other, all_of_the_other),
            "This is the whole run on `other`. Only the keys may read anything from it.",
        ),
        Mistake(
            Patch(their_layer_1, their_layer_1, their_layer_1, their_layer_1),
            "You patched queries, keys, values and the stream, so this tests more than one path.",
        ),
        Mistake(
            lambda first, second, x, other, mask: patched_keys(first, second, other, x, mask),
            "You swapped the two runs: this is the run on `other`, with keys from the run on `x`.",
        ),
        Mistake(
            lambda first, second, x, other, mask: Patch()(
                first, without_mask(second), x, other, mask
            ),
            "`second` has no mask, so its queries attend to later positions.",
        ),
    ),
    common_mistakes=MistakeSet(lambda patch: patch, PATCH_MISTAKES, right=Patch()),
    hints=(
        "Write down four streams: those that the queries, the keys and the values of `second` "
        "read, and the one that its output is added to. Which of them may depend on `other`?",
        "The patched stream has the embeddings `x`. Only what `first` adds comes from the "
        "other run.",
        "`patched = x + first(other, mask=mask)[0]`, `second(stream, patched, stream, mask=mask)`, "
        "`stream + read`.",
    ),
    insight="In the five models of 13.8, fewer than one letter in ten is right after this patch, "
    "and the same is true after the leaky one. The two differ in how often the models predict the "
    "wrong letter that we expect: in about 19 of 20 cases after this patch, and in about 1 of 16 "
    "after the leaky one.",
    comes_back="Question 3 in section 13.15 is about such a path.",
    others=(patched_keys_by_difference,),
)
