"""Which form of attention is cheapest at which size?"""

from attnbook.exercises.exercise import EVERY, Case, Exercise
from attnbook.language import _

TEXTS = {
    "a": (50, 64, 32, 0),
    "b": (512, 64, 64, 0),
    "c": (4096, 64, 15, 0),
    "d": (100, 128, 60, 0),
    "e": (100_000, 128, 256, 0),
    "f": (4096, 64, 8, 30),
    "g": (4096, 128, 8, 30),
}
TABLE = "\n".join(
    f'| `"{text}"` | {length:,} | {width} | {window} | {known} |'
    for text, (length, width, window, known) in TEXTS.items()
)


def cheapest(text: str) -> str:
    return {
        "a": "dense",
        "b": "linear",
        "c": "window",
        "d": "dense",
        "e": "linear",
        "f": "linear",
        "g": "window",
    }[text]


EXERCISE = Exercise(
    title="Which form at which size?",
    level=1,
    minutes=8,
    section="10.14",
    prompt=f"""
One head of width D reads L words. Which form needs the fewest multiplications for its scores and
its output: `"dense"` (every pair), `"window"` (each word attends to itself and to w words on each
side, and g global words have their rows and columns), or `"linear"` (not causal, computing the
D × D state first)? `cheapest(text)` returns the answer. Leave out the softmax and φ. Count a full
window even at the ends of the text. If a pair is both in the window and in a global row or column,
count it twice.

| text | L | D | w | g |
|:--|--:|--:|--:|--:|
{TABLE}
""",
    stub="""
def cheapest(text):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"a": "", "b": "", "c": "", "d": "", "e": "", "f": "", "g": ""}
    return found[text]
""",
    reference=cheapest,
    cases=lambda generator: [Case((t,), note=_("text {name}").format(name=t)) for t in TEXTS],
    choices={
        (("a", "d"), "window"): "A window with w words on each side is wider than this text.",
        ("f", "window"): "Every word attends to the 30 global words, and they attend to every "
        "word. That doubles the cost of the global words.",
        (EVERY, "window"): "A window has w words on *each* side. Compare its size with the head's "
        "width.",
        (EVERY, "dense"): "Dense attention computes L scores for each word. Another form needs "
        "fewer multiplications here.",
        (EVERY, "linear"): "Linear attention needs as many multiplications as dense attention with "
        "D scores for each word. Another form needs fewer here.",
    },
    hints=(
        "Dense attention needs L · L · D multiplications for the scores and as many for the "
        "output. Write down the other two in the same way.",
        "All three have the factor 2 · L · D. The other factor is L, or 2w + 1 + 2g, or D.",
        "So compare three numbers. For text a, they are 50, 65 and 64.",
    ),
    insight="Each form needs 2 · L · D · f multiplications, where the factor f is L, 2w + 1 + 2g, "
    "or D. The form with the smallest f wins.",
    comes_back="Section 10.14 lists the forms in the order in which to try them.",
)
