"""What a KV cache keeps."""

from attnbook.exercises.exercise import EVERY, Case, Exercise
from attnbook.language import _


def fate(thing: str) -> str:
    if thing in ("e", "h"):
        return "drop"
    return "again" if thing in ("d", "g") else "keep"


EXERCISE = Exercise(
    title="What is kept when a new word comes?",
    level=2,
    minutes=8,
    section="11.6",
    prompt="""
A model of many layers has read ten words, and an eleventh arrives. What happens to the things that
it has computed for the first ten? We want the outputs of the last layer for the eleventh word
if the model is causal, and for all words if it is not. `fate(thing)` returns `"keep"` (needed, and
still right), `"again"` (needed, but no longer right), or `"drop"` (no longer needed).

| thing | of the first ten words |
|:--|:--|
| `"a"` | keys of the first layer; causal model |
| `"b"` | keys of the second layer; causal model |
| `"c"` | keys of the first layer; no mask, each word attends to all |
| `"d"` | keys of the second layer; no mask, each word attends to all |
| `"e"` | queries of the second layer; causal model |
| `"f"` | keys, rotated by the positions 0 to 9; causal model |
| `"g"` | keys, rotated by the distance to the end of the text, 9 to 0; causal model |
| `"h"` | outputs of the last layer; causal model |
""",
    stub="""
def fate(thing):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"a": "", "b": "", "c": "", "d": ""}
    then = {"e": "", "f": "", "g": "", "h": ""}
    return (first | then)[thing]
""",
    reference=fate,
    cases=lambda generator: [Case((t,), note=_("thing {name}").format(name=t)) for t in "abcdefgh"],
    choices={
        ("c", "again"): "In the first layer a key depends on its own word alone.",
        ("d", "keep"): "The inputs of the second layer mix *all* words, so they change.",
        ("f", "again"): "Word 3 stays at position 3, so its key is rotated as before.",
        ("g", "keep"): "The tenth word was at distance 0 from the end, and now it is at distance "
        "1.",
        (EVERY, "drop"): "The eleventh word attends to the first ten. What are its queries "
        "compared with in each layer?",
        (EVERY, "again"): "In a causal model, nothing about the first ten words depends on the "
        "eleventh.",
        (EVERY, "keep"): "What would still use it? Nothing more is computed for the first ten "
        "words.",
    },
    hints=(
        "Ask two questions about each thing: what uses it when the eleventh word comes? And does "
        "it depend on the eleventh word?",
        "The query of an old word is not used again, but its key and value are. A vector that "
        "mixes all words changes with each new word.",
        "Two are dropped, and two are computed again. A causal mask keeps the keys of the second "
        "layer valid, and positions counted from the beginning do the same for rotated keys.",
    ),
    insight="A cache of rotated keys relies on the causal mask and on positions counted from the "
    "beginning. Without a mask, as in an encoder, it could keep only the keys and values of the "
    "first layer.",
    comes_back="11.repair computes such a step, with cached keys and values.",
)
