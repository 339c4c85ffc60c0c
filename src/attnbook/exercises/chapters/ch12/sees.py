"""On how many tokens does a prediction depend?"""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def tokens_seen(thing: str) -> int:
    return {"a": 4, "b": 5, "c": 7, "d": 7, "e": 2, "f": 3, "g": 4}[thing]


EXERCISE = Exercise(
    title="How many tokens does it see?",
    level=1,
    minutes=8,
    section="12.11",
    prompt="""
苹果 很 甜 (*píngguǒ hěn tián*) means “the apple is sweet”. Below are vectors in the last block of
trained models, which have several blocks; “both” means an encoder and a decoder. On how many tokens
of the input can each vector depend, including its own? BEGIN and GAP, which marks a hidden word,
also count as tokens. `tokens_seen(thing)` returns the number.

| thing | model | input | the vector at |
|:--|:--|:--|:--|
| `"a"` | decoder-only | BEGIN the apple is sweet | is |
| `"b"` | encoder-only | the GAP is sweet today | GAP |
| `"c"` | both | 苹果 很 甜; BEGIN the apple is sweet | is (decoder) |
| `"d"` | decoder-only | 苹果 很 甜 BEGIN the apple is | is |
| `"e"` | decoder-only | 苹果 很 甜 BEGIN the apple is | 很 |
| `"f"` | both | 苹果 很 甜; BEGIN the apple is sweet | 很 (encoder) |
| `"g"` | encoder-only | GAP apple is sweet | GAP |
""",
    stub="""
def tokens_seen(thing):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"a": None, "b": None, "c": None}
    then = {"d": None, "e": None, "f": None, "g": None}
    return (first | then)[thing]
""",
    reference=tokens_seen,
    cases=lambda generator: [Case((t,), note=_("thing {name}").format(name=t)) for t in "abcdefg"],
    choices={
        **dict.fromkeys([("a", 5), ("c", 8)], "“sweet” comes later: the causal mask hides it."),
        **dict.fromkeys(
            [("a", 3), *((x, n) for x in "cd" for n in (5, 6)), ("e", 1)],
            "too few. The vector also depends on its own token, and BEGIN counts as a token.",
        ),
        **dict.fromkeys(
            [("b", 6), ("d", 8), ("g", 5)],
            "nothing is added to the input, such as another BEGIN. Count its tokens in the table.",
        ),
        **dict.fromkeys([("b", 4), ("g", 3)], "GAP is a token of the input, and it counts."),
        **dict.fromkeys(
            [("b", 2), ("f", 2), ("g", 1)],
            "an encoder has no causal mask: count the token itself, all before it and all after "
            "it.",
        ),
        (("c", "d"), 4): "it also sees the source: through cross-attention, or because the source "
        "is earlier.",
        (("c", "d"), 3): "it sees not only the source, but also what has been written so far.",
        ("e", 7): "a decoder-only model has the causal mask everywhere, even in the source.",
        ("e", 3): "the causal mask hides 甜, although it belongs to the source.",
        ("f", 1): "in an encoder each word attends to all words of its sentence.",
        ("f", 8): "the encoder does not see what the decoder is given.",
        ("f", 7): "the encoder does not see BEGIN, “the”, “apple” and “is”.",
    },
    hints=(
        "Which models have a causal mask, and for which of their tokens?",
        "A decoder-only model hides every later token. An encoder hides none. A decoder with "
        "cross-attention also sees the whole source.",
        "d: all of 苹果 很 甜 BEGIN the apple is. e: only what comes before 甜.",
    ),
    insight="At “is”, the decoder-only model of d depends on the same 7 tokens as the decoder of "
    "c. The difference is in the source: with a causal mask, 很 depends on 2 tokens, but in "
    "an encoder it depends on 3.",
    comes_back="12.perplexity scores a sequence like the one in d.",
)
