"""Which rows of the output change?"""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def moves(change: str) -> str:
    return {
        "a": "all",
        "b": "none",
        "c": "later",
        "d": "all",
        "e": "none",
        "f": "none",
        "g": "own",
        "h": "all",
    }[change]


EXERCISE = Exercise(
    title="Which rows change?",
    level=2,
    minutes=10,
    section="8.8",
    prompt="""
A Transformer like the one in this chapter, with two encoder and two decoder layers, reads five
source words, numbered 0 to 4, and four target words, numbered 0 to 3. Source word 4 is padding. The
padding is masked wherever source words are keys, and the future is masked wherever target words are
keys. Now one thing is changed. Which of the decoder's four output rows change? (Ignore rounding in
the last digit.)

- `"a"`: source word 1 becomes another word.
- `"b"`: source word 4, the padding, becomes another word.
- `"c"`: target word 2 becomes another word.
- `"d"`: as in b, but the decoder has no padding mask.
- `"e"`: source words 0 and 1 are swapped, and the source has no positional encoding.
- `"f"`: as in a, but in both decoder layers the output of the cross-attention is set to 0.
- `"g"`: as in c, but in both decoder layers the output of the self-attention is set to 0.
- `"h"`: as in c, but the second decoder layer has no causal mask.

`moves(change)` returns `"all"`, `"none"`, `"own"` (row 2 alone) or `"later"` (rows 2 and 3).
""",
    stub="""
def moves(change):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"a": "", "b": "", "c": "", "d": ""}
    then = {"e": "", "f": "", "g": "", "h": ""}
    return (first | then)[change]
""",
    reference=moves,
    cases=lambda generator: [
        Case((c,), note=_("change {name}").format(name=c)) for c in "abcdefgh"
    ],
    choices={
        (("a", "d"), "none"): "The decoder's cross-attention takes keys and values from all rows "
        "of the encoder's output that are not masked. Has one of those rows changed?",
        (("c", "g", "h"), "none"): "Row 2 starts as target word 2, and the residual connections "
        "carry it to the top.",
        (("a", "b", "d", "e", "f"), "own"): "Source word i and target row i do not belong "
        "together. Each target row attends to all source words that are not masked.",
        (("c", "h"), "own"): "Row 3 may attend to row 2, and does.",
        (("a", "b", "d", "e", "f"), "later"): "The causal mask applies between target words. It "
        "hides no source word.",
        ("b", "all"): "The padding is masked in the encoder and in the decoder. No path is left.",
        ("c", "all"): "Row 2 lies in the future of rows 0 and 1, so they may not attend to it in "
        "any layer.",
        ("e", "all"): "Without positions, the encoder's rows are the same in another order, and a "
        "weighted sum over keys and values does not depend on their order.",
        ("f", "all"): "The encoder's rows change, but their only path to the decoder was cut.",
        ("g", "all"): "Only self-attention connects target rows. Everything else works on each of "
        "them alone.",
        ("g", "later"): "How would row 3 learn about word 2? Cross-attention, norms and the "
        "feed-forward network work on each target row alone.",
        ("h", "later"): "In the second layer, rows 0 and 1 attend to row 2, which changed in the "
        "first layer.",
    },
    hints=(
        "Follow the change upward. At each sublayer, ask where its queries, keys and values come "
        "from and what is masked.",
        "Only attention moves information between rows. In each decoder layer there is one path "
        "between target rows, and one from source to target.",
        "A weighted sum over keys and values does not depend on their order. And one layer without "
        "a causal mask is enough to look ahead.",
    ),
    insight="Four questions describe a decoder layer: where its queries come from, where its keys "
    "and values come from, what is masked, and what is added. Everything else works row by row.",
    comes_back="Chapter 9 trains this model with these masks.",
)
