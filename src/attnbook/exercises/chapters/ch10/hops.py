"""How many layers until the last word can depend on the first?"""

from attnbook.exercises.exercise import EVERY, Case, Exercise
from attnbook.language import _


def layers_needed(pattern: str) -> int:
    return {"a": 8, "b": 4, "c": 2, "d": 5, "e": 0, "f": 3}[pattern]


EXERCISE = Exercise(
    title="How many layers from the first word to the last?",
    level=2,
    minutes=10,
    section="10.8",
    prompt="""
Here are six masks for nine words. Row i has an `x` for each word that word i may attend to. All
layers of a model use the same mask. `layers_needed(pattern)` returns the smallest number of layers
after which the output of the *last* word, row 8, can depend on the *first* word, 0. If that never
happens, it returns 0.

```
      a                     b                     c
0     x x . . . . . . .     x x x . . . . . .     x x . . x . . . .
1     x x x . . . . . .     x x x x . . . . .     x x x . x . . . .
2     . x x x . . . . .     x x x x x . . . .     . x x x x . . . .
3     . . x x x . . . .     . x x x x x . . .     . . x x x . . . .
4     . . . x x x . . .     . . x x x x x . .     x x x x x x x x x
5     . . . . x x x . .     . . . x x x x x .     . . . . x x x . .
6     . . . . . x x x .     . . . . x x x x x     . . . . x x x x .
7     . . . . . . x x x     . . . . . x x x x     . . . . x . x x x
8     . . . . . . . x x     . . . . . . x x x     . . . . x . . x x

      d                     e                     f
0     x x . . x . . . .     x x x . . . . . .     x x . . . . . . x
1     x x x . x . . . .     x x x . . . . . .     x x x . . x . . .
2     . x x x x . . . .     x x x . . . . . .     . x x x . . . . .
3     . . x x x . . . .     . . . x x x . . .     . . x x x . . . .
4     . . . x x x . . .     . . . x x x . . .     x . . x x x . . .
5     . . . . x x x . .     . . . x x x . . .     . . . . x x x . x
6     . . . . x x x x .     . . . . . . x x x     . . x . . x x x .
7     . . . . x . x x x     . . . . . . x x x     . . . x . . x x x
8     . . . . x . . x x     . . . . . . x x x     . . . . . x . x x
```
""",
    stub="""
def layers_needed(pattern):
    raise NotImplementedError  # fill in, 0 for never; then delete this line
    found = {"a": None, "b": None, "c": None, "d": None, "e": None, "f": None}
    return found[pattern]
""",
    reference=layers_needed,
    cases=lambda generator: [Case((p,), note=_("mask {name}").format(name=p)) for p in "abcdef"],
    choices={
        ("a", 4): "each word attends to one word on each side here, not to two.",
        ("d", 2): "all attend to word 4, but word 4 itself attends only to its window.",
        ("e", 3): "there are three blocks, but no `x` leads from one to another.",
        ("e", 8): "words 6, 7 and 8 attend only to one another, in every layer.",
        ("f", 1): "you read row 0, column 8. Row 8, column 0 is empty.",
        (EVERY, 1): "row 8 has no `x` in column 0.",
        (EVERY, 0): "there is a path. The words that word 8 attends to have attended to others in "
        "earlier layers.",
        (EVERY, lambda right: right + 1): "one too many. Count the steps of the path, not its "
        "words.",
        (EVERY, lambda right: max(right - 1, 0)): "one too few. After that many layers, row 8 "
        "depends only on other words.",
        (("a", "b", "c", "d", "f"), 8): "there is a shorter path than the one from neighbor to "
        "neighbor.",
    },
    hints=(
        "Write down the words that word 8 attends to. Which words did *those* attend to, one "
        "layer earlier?",
        "An `x` in row i, column j takes information from word j to word i.",
        "In c, the path is 8, 4, 0. In d, it is 8, 4, and then from neighbor to neighbor. In f, "
        "look at rows 8, 5, 4.",
    ),
    insight="With a window of w words on each side, information needs about L / w layers to cross "
    "a text. With a global word it needs two, and with separate blocks it never gets across.",
    comes_back="Section 10.10 sends a fact through such a global word.",
)
