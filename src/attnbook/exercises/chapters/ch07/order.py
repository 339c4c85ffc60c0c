"""What a shuffle does."""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def after_shuffle(situation: str) -> str:
    return {
        "bare": "reordered",
        "positions": "other",
        "baggage": "reordered",
        "context": "same",
        "torn": "other",
    }[situation]


EXERCISE = Exercise(
    title="What a shuffle does",
    level=1,
    minutes=8,
    section="7.3",
    prompt="""
Six rows go through attention without a mask. Then they are shuffled as the table says and go
through it again.
`after_shuffle(situation)` says how the output changes: `"same"` (equal, row by row), `"reordered"`
(the same rows, shuffled in the same way as the input), or `"other"` (new numbers).

| situation | what happens |
|:--|:--|
| `"bare"` | self-attention without positions, all rows are shuffled |
| `"positions"` | the words are shuffled, then sinusoids are added, then self-attention |
| `"baggage"` | sinusoids are added, then the sums are shuffled, then self-attention |
| `"context"` | keys and values are shuffled, both in the same way; the queries stay in place |
| `"torn"` | only the keys are shuffled; queries and values stay in place |
""",
    stub="""
def after_shuffle(situation):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"bare": "", "positions": "", "baggage": ""}
    then = {"context": "", "torn": ""}
    return (first | then)[situation]
""",
    reference=after_shuffle,
    cases=lambda generator: [
        Case((s,), note=_('situation "{name}"').format(name=s))
        for s in ("bare", "positions", "baggage", "context", "torn")
    ],
    choices={
        ("bare", "same"): "The rows are the same, but each has moved with its word. *Equivariant* "
        "is not *invariant*.",
        ("bare", "other"): "Each row is a sum over all words, and a sum does not depend on the "
        "order of its terms.",
        ("positions", "same"): "Each word gets the encoding of its new position, so its query, key "
        "and value change.",
        ("positions", "reordered"): "Each word gets the encoding of its new position. It does not "
        "keep the old one.",
        ("baggage", "same"): "The input rows have moved, and the output rows move with them.",
        ("baggage", "other"): "The encodings move with the words, so the layer sees the same six "
        "rows.",
        ("context", "reordered"): "The output has one row per query, and the queries have not "
        "moved.",
        ("context", "other"): "Each key has moved with its value, so every query finds the same "
        "pairs.",
        ("torn", "same"): "Each weight belongs to a key, but now it multiplies the value of "
        "another key.",
        ("torn", "reordered"): "Every query now mixes the values with weights that belong to other "
        "values.",
    },
    hints=(
        "An output row is a sum over pairs of a weight and a value. When do the terms change?",
        "Does the *set* of key-value pairs change? Do the *queries* move?",
        "The order of the pairs does not matter. Queries that move take their output rows with "
        "them. If keys and values are separated, the numbers are new.",
    ),
    comes_back="The last exercise of this chapter tests layers that you cannot see.",
    insight="Attention treats keys and values as a set of pairs and handles each query by itself. "
    "This explains the result of section 7.1.",
)
