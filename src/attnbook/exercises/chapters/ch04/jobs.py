"""Which head does what?"""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def which_head(question: str) -> str:
    return {"a": "1", "b": "0", "c": "both", "d": "neither"}[question]


EXERCISE = Exercise(
    title="Which head does what?",
    level=1,
    minutes=8,
    section="4.11",
    prompt="""
Here are two attention maps of one layer. 苹果 (píngguǒ) is “apple”, 很 (hěn) is “very”,
甜 (tián) is “sweet”, and 它 (tā) is “it”.

| head 0 | 苹果 | 很 | 甜 | 它 |
|:--|--:|--:|--:|--:|
| **苹果** | 0.05 | 0.05 | 0.10 | 0.80 |
| **很** | 0.25 | 0.25 | 0.30 | 0.20 |
| **甜** | 0.80 | 0.05 | 0.05 | 0.10 |
| **它** | 0.90 | 0.02 | 0.05 | 0.03 |

| head 1 | 苹果 | 很 | 甜 | 它 |
|:--|--:|--:|--:|--:|
| **苹果** | 0.05 | 0.05 | 0.85 | 0.05 |
| **很** | 0.10 | 0.10 | 0.70 | 0.10 |
| **甜** | 0.90 | 0.03 | 0.04 | 0.03 |
| **它** | 0.10 | 0.30 | 0.30 | 0.30 |

A head *leads* one word to another if more than half of the weight in the first word's row is on the
second word. `which_head(question)` returns `"0"`, `"1"`, `"both"` or `"neither"`.

- `"a"`: which head leads 苹果 to the word that describes it?
- `"b"`: which head leads 苹果 to the word that refers to it?
- `"c"`: which head leads 甜 to 苹果?
- `"d"`: set head 0's block of W_O to 0. Which head still leads 它 to 苹果 *and* affects the output?
""",
    stub="""
def which_head(question):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": ""}[question]
""",
    reference=which_head,
    cases=lambda generator: [Case((q,), note=_("question {name}").format(name=q)) for q in "abcd"],
    choices={
        (
            "a",
            "0",
        ): "In head 0, 苹果 gives 0.80 to 它, which refers to it. The word that describes it "
        "is 甜.",
        (
            "a",
            "both",
        ): "Head 0 leads 甜 to 苹果, not 苹果 to 甜. The question is about the row of 苹果.",
        (("a", "b"), "neither"): "Read the row of 苹果 in both maps.",
        ("b", "1"): "In head 1, 苹果 gives 它 only 0.05.",
        ("b", "both"): "Only one map has a weight above one half in the row of 苹果 and the column "
        "of 它.",
        ("c", "0"): "Head 0 does. But look at the row of 甜 in the other map.",
        ("c", "1"): "Head 1 does. But look at the row of 甜 in the other map.",
        ("c", "neither"): "The row of 甜 counts, not its column.",
        ("d", "0"): "Head 0 still has its map, but nothing that it does reaches the output.",
        ("d", "1"): "In head 1, 它 gives 苹果 only 0.10.",
        ("d", "both"): "Nothing from head 0 reaches the output, and in head 1, 它 gives 苹果 only "
        "0.10.",
    },
    hints=(
        "A row belongs to the word that attends.",
        "(a) and (b) are about the row of 苹果, (c) is about the row of 甜, and (d) about "
        "the row of 它.",
        "In (d) only head 1 is left. How much does 它 give to 苹果 there?",
    ),
    comes_back="Chapter 13 removes heads from a trained model to see what breaks.",
    insight="Two heads can both lead one word to another. Whether you can remove one of them also "
    "depends on its block of W_O, which no map shows.",
)
