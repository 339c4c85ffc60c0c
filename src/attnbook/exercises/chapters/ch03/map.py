"""Read an attention map."""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def read(question: str) -> str:
    return {"a": "short", "b": "Life", "c": "is", "d": "is"}[question]


EXERCISE = Exercise(
    title="Read a map",
    level=1,
    minutes=8,
    section="3.6",
    prompt="""
These are attention weights, one row per query and one column per key.

| | Life | is | short | eat |
|:--|--:|--:|--:|--:|
| **Life** | 0.10 | 0.20 | 0.60 | 0.10 |
| **is** | 0.25 | 0.25 | 0.25 | 0.25 |
| **short** | 0.05 | 0.80 | 0.05 | 0.10 |
| **eat** | 0.40 | 0.10 | 0.30 | 0.20 |

`read(question)` returns one of the four words.

- `"a"`: To which word does “Life” attend most?
- `"b"`: Which word attends most to “short”?
- `"c"`: Which word's output is the plain average of all four values?
- `"d"`: Which word's value has the most weight in the four outputs together?
""",
    stub="""
def read(question):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": ""}[question]
""",
    reference=read,
    cases=lambda generator: [Case((q,), note=_("question {name}").format(name=q)) for q in "abcd"],
    choices={
        ("a", "eat"): "You read down the column of “Life”: “eat” attends most to it. Queries are "
        "the rows.",
        ("a", "is"): "0.20 is the second largest weight in the row of “Life”.",
        ("a", "Life"): "A word need not attend most to itself: “Life” gives itself only 0.10.",
        ("b", "is"): "In its row, “short” attends most to “is”. The question is about the column "
        "of “short”.",
        ("b", "eat"): "“eat” gives “short” 0.30. Another row gives it more.",
        ("b", "short"): "“short” gives itself 0.05, the smallest weight in its column.",
        ("c", "Life"): "One value gets 0.60 of its weight. An average needs four equal weights.",
        ("c", "short"): "One value gets 0.80 of its weight. An average needs four equal weights.",
        ("c", "eat"): "One value gets 0.40 of its weight. An average needs four equal weights.",
        ("d", "short"): "The column of “short” adds up to 1.20. Another column adds up to more.",
        ("d", "Life"): "The column of “Life” adds up to 0.80. (Every row adds up to 1.)",
        ("d", "eat"): "The column of “eat” adds up to 0.65, less than any other. Add up columns, "
        "not rows.",
    },
    hints=(
        "A row belongs to a query, and a column to a key.",
        "(a) is about one row, and (b) about one column. (c) asks for a row of equal numbers.",
        "For (d), add up each column. It holds the weights of one value in the four outputs.",
    ),
    insight="Rows sum to 1, but columns do not: a word can get weight from every word or from "
    "none.",
    comes_back="Chapter 4 reads two attention maps of the same layer.",
)
