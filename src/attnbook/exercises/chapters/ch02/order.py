"""What a summary keeps."""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def notices(summary: str) -> str:
    return {"a": "count", "b": "neither", "c": "both", "d": "order", "e": "neither"}[summary]


EXERCISE = Exercise(
    title="What a summary keeps",
    level=1,
    minutes=8,
    section="2.10",
    prompt="""
Two pairs of sentences are embedded with one random table, in which no two rows have a number in
common: "dog bites man" and "man bites dog" differ in *order*; "very very good" and "very good"
differ in *count*. Each line summarizes an embedded sentence `X` (L, D).

| | summary |
|:--|:--|
| a | `X.mean(0)` |
| b | `X.amax(0)` |
| c | `X.flatten()` |
| d | `X[0]` |
| e | a row of N zeros and ones: 1 for each word that occurs |

`notices(summary)` returns which of the two differences change the summary: `"order"`, `"count"`,
`"both"` or `"neither"`.
""",
    stub="""
def notices(summary):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": "", "e": ""}[summary]
""",
    reference=notices,
    cases=lambda generator: [Case((s,), note=_("summary {name}").format(name=s)) for s in "abcde"],
    choices={
        ("a", "neither"): "*very* makes up two thirds of one mean and half of the other.",
        (("a", "b", "e"), "both"): "This summary is the same for any order of the words.",
        (("a", "b", "e"), "order"): "Swap two words. Does anything change?",
        (("b", "e"), "count"): "Repeating a word changes neither a maximum nor a row of zeros and "
        "ones.",
        ("c", "order"): "Order, yes. But how many numbers does the summary have for three tokens, "
        "and for two?",
        ("c", "count"): "Count, yes. But which token comes first in the summary?",
        ("c", "neither"): "It contains every row, one after the other.",
        ("d", "neither"): "Which word comes first in each of the four sentences?",
        ("d", "count"): "Both sentences of the second pair begin with *very*. And the first pair?",
        ("d", "both"): "The first pair begins with different words. Does the second?",
    },
    hints=(
        "What happens if two rows of X are swapped? And if a row occurs twice?",
        "A mean and a maximum ignore the order. Only one of them ignores repetitions.",
        "Two of the summaries change in neither case, and one depends only on the first row.",
    ),
    comes_back="The last exercise of this chapter asks the same about summaries whose code is "
    "hidden.",
    insight="Attention without positions is like (a): a weighted mean. So chapter 7 has to add "
    "positions.",
)
