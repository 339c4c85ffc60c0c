"""Which experiment can decide?"""

from attnbook.exercises.exercise import Case, Exercise


def experiment(claim: str) -> str:
    answers = {"fading": "B", "kind": "C", "distance": "A", "crowd": "C", "queue": "B"}
    return answers[claim]


EXERCISE = Exercise(
    title="Which experiment can decide?",
    level=3,
    minutes=10,
    section="1.9",
    second_reading=True,
    prompt="""
Here are five claims, with three experiments for each. `experiment(claim)` takes the word in front
of a claim and returns `"A"`, `"B"` or `"C"`. Choose the one experiment that could show the
claim to be wrong, whichever part of it is wrong.

`"fading"`: *with each additional input, less of the first one is left in an RNN's state.*
- A: two sequences that differ in every input; how far apart are the last states?
- B: two sequences that differ in the first input; how far apart are the states after each step?
- C: one sequence; how far is each state from the first state?

`"kind"`: *this kind of network forgets, not only the one that we initialized.*
- A: many more pairs of sequences, the same network
- B: sequences ten times as long, the same network
- C: the same measurement on several networks of this kind, each initialized differently

`"distance"`: *for attention, a distant input is as easy to learn from as a near one.*
- A: 64 inputs; how large is the gradient of the last output with respect to each of them?
- B: 8, 16, 32, 64 inputs; how large is the gradient of the last output with respect to the first?
- C: 64 inputs; is the gradient with respect to the first input larger in attention or in the RNN?

`"crowd"`: *if all other inputs have equal scores, the weight of a match depends on how many there
are, not on the position of the match.*
- A: 100 inputs; the match comes first, in the middle, or last
- B: 10, 100, 1,000 inputs; the match always comes last
- C: 10, 100, 1,000 inputs; for each number, the match comes first, in the middle, or last

`"queue"`: *if we compute the formulas exactly as written, the steps of an RNN have to wait for one
another, but those of attention do not.*
- A: for 4, 16, 64 inputs, run both on your machine and measure the time
- B: for 4, 16, 64 inputs, count the longest chain of operations that wait for one another
- C: for 4, 16, 64 inputs, count all operations
""",
    stub="""
def experiment(claim):
    raise NotImplementedError  # fill in the answers, then delete this line
    answers = {"fading": "", "kind": "", "distance": "", "crowd": "", "queue": ""}
    return answers[claim]
""",
    reference=experiment,
    cases=lambda generator: [
        Case((c,), note=f'experiment("{c}")')
        for c in ("fading", "kind", "distance", "crowd", "queue")
    ],
    choices={
        ("fading", "A"): "All inputs differ, so you cannot tell which part of the difference is "
        "due to the first.",
        ("fading", "C"): "A state changes with every input. That does not tell you how much is "
        "left of the first.",
        ("kind", "A"): "More pairs tell you more about the same network. The claim is also about "
        "other networks.",
        ("kind", "B"): "A longer sequence still tests the same network. The claim is also about "
        "other networks.",
        ("distance", "B"): "The first input gets farther away and has more competitors. You cannot "
        "tell which of the two matters.",
        ("distance", "C"): "This compares two networks at one distance. The claim is about "
        "distance.",
        ("crowd", "A"): "The number of inputs stays the same. The claim says that this number "
        "matters.",
        ("crowd", "B"): "The match changes its position and gets more competitors. You cannot tell "
        "which of the two matters.",
        ("queue", "A"): "Measured times describe one machine. The claim is about the formulas.",
        ("queue", "C"): "How much is computed and how much has to wait are different questions: "
        "attention computes L² scores, all at once.",
    },
    hints=(
        "If the claim were wrong, would this experiment show it? Could anything else cause the "
        "same result?",
        "What varies, and what stays fixed? If two things vary at once, you cannot tell "
        "their effects apart.",
        "One claim is about two things, the number and the position. Another is about formulas, "
        "not about machines.",
    ),
    insight="Sections 1.7 and 1.8 make the first four measurements, and section 1.6 has the count. "
    "For any curve, ask what was kept fixed.",
    comes_back="Chapters 5 and 7 ask the same question about trained models: which control can "
    "decide?",
)
