"""Which experiment shows that a model can read longer texts?"""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def verdict(experiment: str) -> str:
    return {"A": "order", "B": "fair", "C": "seen", "D": "length", "E": "length"}[experiment]


EXERCISE = Exercise(
    title="Which experiment shows it?",
    level=2,
    minutes=8,
    section="7.12",
    prompt="""
Here is a claim: *with my encoding, a model can read longer texts than it was trained on.* Five
experiments are proposed. For each, `verdict(experiment)` returns `"fair"` (it can support or refute
the claim), `"order"` (the task can be done without order), `"seen"` (deals of 48 cards occur in
training), or `"length"` (in the test, the model never reads more than 12 cards at once). One of
these answers is right for two experiments.

| | training | test |
|:--|:--|:--|
| `"A"` | 12 cards; name the highest card of the deal | 48 cards, five seeds |
| `"B"` | 12 cards; name the card two before | 48 cards, scored at positions 12 to 47, five seeds |
| `"C"` | 3 to 48 cards; name the card two before | 500 new deals of 48 cards |
| `"D"` | 12 cards; name the card two before | 500 new deals of 12 cards |
| `"E"` | 12 cards; name the card two before | 48 cards, in four pieces read one at a time |
""",
    stub="""
def verdict(experiment):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"A": "", "B": "", "C": "", "D": "", "E": ""}[experiment]
""",
    reference=verdict,
    cases=lambda generator: [
        Case((e,), note=_("experiment {name}").format(name=e)) for e in "ABCDE"
    ],
    choices={
        ("A", "fair"): "The highest card is the same in every order.",
        (("A", "B"), "length"): "48 cards are more than the 12 in training.",
        (("A", "B"), "seen"): "No training deal has 48 cards.",
        (("B", "C", "D", "E"), "order"): "In another order, a different card comes two before.",
        ("C", "fair"): "Training also included deals of 48 cards.",
        ("C", "length"): "In this test, the model reads 48 cards at once.",
        ("D", "fair"): "The deals are new, but how long are they?",
        (("D", "E"), "seen"): "No training deal has 48 cards. How many does the model read at once "
        "in the test?",
        ("E", "fair"): "The deal has 48 cards. How many does the model read at once?",
    },
    hints=(
        "Does the task need order? Is the test longer than anything in training? Does the model "
        "read it in one piece?",
        "In one of the tasks the right answer stays the same when the cards are shuffled.",
        "One experiment passes all three checks. One fails because of its task, one because of "
        "its training, and two because of how much is read at once.",
    ),
    comes_back="Chapter 13 asks the same question about what single heads seem to do.",
    insight="A good score is evidence only if a model without the ability would have failed. Name "
    "that model first.",
)
