"""Which program leaks the future?"""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def verdict(program: str) -> str:
    return {
        "a": "leak",
        "b": "blind",
        "c": "leak",
        "d": "sealed",
        "e": "sealed",
        "f": "leak",
    }[program]


EXERCISE = Exercise(
    title="Sealed, blind or leaking",
    level=2,
    minutes=10,
    section="6.11",
    prompt="""
Six programs should be causal. Each gets six words; `attend(x, mask)` is one head that masks before
the softmax, `ones` is a (6, 6) mask that is True everywhere, and `causal` is `ones.tril()`.

| | program |
|:--|:--|
| a | `attend(x, ones.tril(1))` |
| b | `attend(x, causal & ~ones.tril(-3))` |
| c | `(scores.softmax(-1) * causal) @ value` |
| d | `scores.masked_fill(~causal, -1e9).softmax(-1) @ value`, in float32 |
| e | `y = x + attend(x, causal)`, then `y + attend(y, causal)` |
| f | `out = attend(x, causal)`, then `out - out.mean(0)` |

The leak detector replaces each word in turn. `verdict(program)` returns `"leak"` if some output
changes with a later word; otherwise `"blind"` if some output does not change with its own or an
earlier word; otherwise `"sealed"`.
""",
    stub="""
def verdict(program):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"a": "", "b": "", "c": "", "d": "", "e": "", "f": ""}
    return found[program]
""",
    reference=verdict,
    cases=lambda generator: [Case((p,), note=_("program {name}").format(name=p)) for p in "abcdef"],
    choices={
        ("a", "sealed"): "`tril(1)` keeps one diagonal too many. Which column does it add to row "
        "0?",
        (("a", "c", "f"), "blind"): "Every output still depends on all words up to its own.",
        ("b", "sealed"): "`~ones.tril(-3)` removes the lower left corner: row 4 cannot see word 0.",
        ("b", "leak"): "`&` can only hide more. Nothing above the diagonal is permitted.",
        ("c", "sealed"): "The weights above the diagonal are 0, but the others were divided by a "
        "sum. Over which words?",
        ("d", "leak"): "In float32, exp(−10⁹) is exactly 0, and each row has at least one ordinary "
        "score: that of its own word.",
        (("d", "e"), "blind"): "Nothing but the future is hidden.",
        ("e", "leak"): "Row j of `y` depends on words 0 … j, and row i attends only to rows j ≤ i.",
        ("f", "sealed"): "`mean(0)` runs over the words, so part of the last row enters every row.",
    },
    hints=(
        "Output i is computed from several numbers. Which words affect each of them? Check more "
        "than the weights.",
        "A sum can leak. What do the softmax of (c) and the mean of (f) sum over?",
        "Three programs leak and one is blind. If no layer looks ahead, neither does a stack of "
        "two.",
    ),
    insight="Two of the three leaks have triangular weights, so no attention map reveals them, "
    "but changing a word does.",
    comes_back="In 06.experiment you change words yourself. Chapter 7 shuffles them.",
)
