"""Which card gets the largest weight?"""

from attnbook.exercises.exercise import Case, Exercise


def winner(what: str) -> str:
    answers = {"dot": "B", "cosine": "A", "shout": "B", "flip": "C", "mute": "tie"}
    return answers[what]


EXERCISE = Exercise(
    title="Which card gets the largest weight?",
    level=1,
    minutes=5,
    section="1.5",
    prompt="""
There are three cards: A is [3, 0], B is [4, 4], and C is [0, 9]. The query is [1, 0]. Without
running anything, which card gets the largest weight after the softmax? `winner(what)` takes one of
five words and returns `"A"`, `"B"`, `"C"`, or `"tie"` if all three cards get the same weight.

- `"dot"`: the scores are plain dot products
- `"cosine"`: the scores are cosines
- `"shout"`: dot products, and the query is multiplied by 10
- `"flip"`: dot products, and the query is multiplied by −1
- `"mute"`: dot products, and the query is multiplied by 0
""",
    stub="""
def winner(what):
    raise NotImplementedError  # fill in the answers, then delete this line
    answers = {"dot": "", "cosine": "", "shout": "", "flip": "", "mute": ""}
    return answers[what]
""",
    reference=winner,
    cases=lambda generator: [
        Case((w,), note=f'winner("{w}")') for w in ("dot", "cosine", "shout", "flip", "mute")
    ],
    choices={
        ("dot", "A"): "A points in the query's direction, but it is short. A dot product also "
        "depends on the length.",
        (("dot", "cosine", "shout"), "C"): "C is perpendicular to the query, so its score is 0.",
        (("dot", "cosine", "shout", "flip"), "tie"): "The three scores differ. Write them down.",
        ("cosine", "B"): "B wins only because it is long. A cosine divides by the lengths.",
        ("shout", "A"): "× 10 applies to every score, so their order stays the same.",
        ("flip", "A"): "A's score is −3 now. Is that the largest?",
        ("flip", "B"): "B had the largest score. With the opposite sign it is the smallest.",
        ("mute", "A"): "× 0 makes A's score 0. What are the other two?",
        ("mute", "B"): "× 0 makes B's score 0. What are the other two?",
        ("mute", "C"): "C's score is 0, as before. What are the other two?",
    },
    hints=(
        "Write down the three scores for each word.",
        "With the query [1, 0], only the first number of a card counts. The lengths are 3, √32 "
        "and 9.",
        "Multiplied by −1, the scores are −3, −4 and 0. Which is the largest? What do they become "
        "when multiplied by 0?",
    ),
    insight="A query's length, unless it is 0, cannot change which card wins. Its sign can: among "
    "negative scores, 0 is the largest.",
    comes_back="Chapter 3 measures how scores grow with the width, and what √Dk changes.",
)
