"""Which sequence asks, and which is asked?"""

from attnbook.exercises.exercise import Case, Exercise


def roles(situation: str) -> tuple[str, str]:
    return {
        "translate": ("target", "source"),
        "paint": ("picture", "prompt"),
        "caption": ("caption", "picture"),
        "library": ("question", "cards"),
        "encode": ("source", "source"),
    }[situation]


EXERCISE = Exercise(
    title="Which sequence asks, and which is asked",
    level=1,
    minutes=5,
    section="5.5",
    prompt="""
`roles(situation)` returns two words: the sequence from which the queries come, and the sequence
from which the keys and values come.

| situation | what happens | choose from |
|:--|:--|:--|
| `"translate"` | a decoder writes English, the target, and reads Chinese | target, source |
| `"paint"` | an unfinished picture attends to its prompt | picture, prompt |
| `"caption"` | a caption is written for a finished picture | caption, picture |
| `"library"` | chapter 1: your question and ten cards | question, cards |
| `"encode"` | an encoder reads the source, in self-attention | target, source |

Take the words from the last column, and return a pair such as `("prompt", "prompt")`. Both words
may be the same.
""",
    stub="""
def roles(situation):
    raise NotImplementedError  # fill in the answers, then delete this line
    answers = {
        "translate": ("", ""),
        "paint": ("", ""),
        "caption": ("", ""),
        "library": ("", ""),
        "encode": ("", ""),
    }
    return answers[situation]
""",
    reference=roles,
    cases=lambda generator: [
        Case((s,), note=s) for s in ("translate", "paint", "caption", "library", "encode")
    ],
    choices={
        ("translate", ("source", "target")): "Reversed: the Chinese sentence cannot attend to the "
        "English one, which is not written yet.",
        ("translate", ("target", "target")): "A target that attends only to itself never sees the "
        "source.",
        ("translate", ("source", "source")): "This is the encoder's self-attention. The decoder "
        "writes the target.",
        ("paint", ("prompt", "picture")): "Reversed: this makes a new row for each word of the "
        "prompt, not for each patch.",
        ("paint", ("picture", "picture")): "Patches that attend to patches never see the prompt.",
        ("caption", ("picture", "caption")): "Reversed: this makes a new row for each patch, not "
        "for each word.",
        ("caption", ("caption", "caption")): "Words that attend to words never see the picture.",
        ("library", ("cards", "question")): "Reversed: your question is compared with each card.",
        ("library", ("cards", "cards")): "The cards query each other at the end of chapter 1. "
        "Here, the question is yours.",
        ("encode", ("target", "source")): "This is the decoder's cross-attention.",
        ("encode", ("source", "target")): "There is no target while the encoder reads.",
        ("encode", ("target", "target")): "This is the decoder's self-attention.",
    },
    hints=(
        "The queries belong to the sequence that asks, which often is the one being produced.",
        "The output has one row per query. For which sequence do you want new rows?",
        "In self-attention both words are the same.",
    ),
    insight="The output has one row per query, so its shape shows which sequence asked.",
    comes_back="Each layer of chapter 8's decoder has both kinds of attention, one after the "
    "other.",
)
