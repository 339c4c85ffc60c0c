"""Which experiment decides?"""

from attnbook.exercises.exercise import EVERY, Case, Exercise
from attnbook.language import _


def which(report: str) -> str:
    if report in "fg":
        return "compare"
    if report in "ch":
        return "rows"
    return {"a": "cache", "b": "sentences", "d": "padding", "e": "order"}[report]


WITHIN = (
    "It would notice that the words of a sentence do not reach each other. But what do they see "
    "instead? Change another sentence."
)

EXERCISE = Exercise(
    title="Which experiment?",
    level=1,
    minutes=8,
    section="15.3",
    prompt="""
Eight reports. The suspect is always one causal layer with positions, a mask of real words and a
cache, and one line of it is wrong. Which experiment shows the fault? `which(report)` returns
`"rows"` (change one row: who moves?), `"sentences"` (change another sentence of the batch),
`"order"` (exchange two earlier words), `"padding"` (add padding and nothing else), `"cache"`
(compare cached steps with the full text), or `"compare"` (the same weights in a layer that is
right).

| report | what was seen, or found in the code |
|:--|:--|
| `"a"` | the first word that it writes is always right, and the second repeats it |
| `"b"` | `nn.MultiheadAttention` was built without `batch_first=True`, and gets (B, L, D) |
| `"c"` | a loss of 0.1 on random tokens |
| `"d"` | a prompt alone and the same prompt in a batch with longer ones are continued differently |
| `"e"` | “dog bites man” and “man bites dog” get the same last vector |
| `"f"` | the scores are divided by the width of the model instead of its root |
| `"g"` | values and keys are the same projection, and nobody meant it |
| `"h"` | each word sees those before it, and never itself |
""",
    stub="""
def which(report):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"a": "", "b": "", "c": "", "d": ""}
    then = {"e": "", "f": "", "g": "", "h": ""}
    return (first | then)[report]
""",
    reference=which,
    cases=lambda generator: [
        Case((r,), note=_("report {name}").format(name=r)) for r in "abcdefgh"
    ],
    choices={
        ("a", "rows"): "A leak would spoil the first word as well, since no later word is there to "
        "be copied. What is new at the second word?",
        ("b", "rows"): WITHIN,
        ("b", "order"): WITHIN,
        ("c", "cache"): "They differ, since in a step the later words are not there yet. But with "
        "a fault of the cache, they differ too. Change a later row: that tells which it is.",
        ("d", "cache"): "The same cache serves the prompt alone. What is there in the batch that "
        "is not there when the prompt is alone?",
        ("d", "sentences"): "It could be, but the others are also *longer*, so this prompt is "
        "padded. Add padding to it, and no other sentence.",
        (EVERY, "rows"): "All rows may depend on the same rows as before. Changing one row of one "
        "sentence moves those that should move.",
        (EVERY, "sentences"): "Nothing suggests that one sentence reaches another.",
        (EVERY, "order"): "Exchanging two earlier words moves the last one, as it should. That is "
        "right here.",
        (EVERY, "padding"): "The fault is there without any padding.",
        (EVERY, "cache"): "Both ways of computing have the fault, so they agree.",
        (EVERY, "compare"): "A comparison needs a right layer with the same weights, and shows "
        "that something differs. Here, one of the five says what.",
    },
    hints=(
        "Ask what depends on what it should not depend on: on a later row, on another sentence, "
        "on padding, on the way of computing. Or does it not depend on what it should?",
        "Two of the faults change numbers only: every row still depends on the same rows.",
        "`f` and `g` need a comparison. `c` and `h` are about rows of one sentence.",
    ),
    insight="Five experiments tell who depends on whom. A wrong number on the right rows needs "
    "something to compare it with.",
    comes_back="15.patients asks you to write the experiments.",
)
