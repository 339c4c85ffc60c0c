"""Find three heads in maps of MiniLM."""

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _


def which_head(question: str) -> str:
    return {"a": "E", "b": "C", "c": "B", "d": "D"}[question]


EXERCISE = Exercise(
    title="Find three heads of MiniLM",
    level=1,
    minutes=8,
    section="13.13",
    prompt="""
MiniLM (section 13.13) has read the sentence “the cat was chased by a dog”. For six of its heads,
the table says to which token each word attends most. Below are the mean of these seven weights, and
the head's layer.

| word | A | B | C | D | E | F |
|:--|:--|:--|:--|:--|:--|:--|
| **the** | [CLS] | cat | [CLS] | cat | [CLS] | cat |
| **cat** | [CLS] | was | [CLS] | cat | the | [CLS] |
| **was** | cat | chased | [CLS] | cat | cat | chased |
| **chased** | [CLS] | [CLS] | [CLS] | cat | was | [CLS] |
| **by** | chased | a | [CLS] | cat | chased | dog |
| **a** | [CLS] | dog | [CLS] | cat | by | dog |
| **dog** | a | [CLS] | [CLS] | cat | a | [CLS] |
| mean weight | 0.62 | 0.67 | 0.93 | 0.56 | 1.00 | 0.76 |
| layer | 3 | 2 | 5 | 6 | 1 | 3 |

`which_head(question)` returns a letter from `"A"` to `"F"`.

- `"a"`: which head is the previous-token head?
- `"b"`: which head rests on `[CLS]`, whatever the word?
- `"c"`: which head attends to the next token, or else to `[CLS]`?
- `"d"`: without which head will the sentence vector move farthest?
""",
    stub="""
def which_head(question):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": ""}[question]
""",
    reference=which_head,
    cases=lambda generator: [Case((q,), note=_("question {name}").format(name=q)) for q in "abcd"],
    choices={
        (("a", "b", "c"), "A"): "From “was”, “by” and “dog”, head A attends to the previous token, "
        "and from “cat”, “chased” and “a” to `[CLS]`.",
        (("a", "b"), "B"): "From “the”, head B attends to “cat”, and from “chased” to `[CLS]`.",
        (("a", "c"), "C"): "Head C attends to none of the words.",
        (("a", "b", "c"), "D"): "Head D attends to “cat” from every word, wherever that word is.",
        (("b", "c"), "E"): "From “cat”, head E attends to “the”.",
        (("a", "b", "c"), "F"): "From “by”, head F attends to “dog”, two tokens on.",
        (
            "d",
            "E",
        ): "Its map is the clearest. But section 13.13 removed this head, and the sentence "
        "vectors moved about as far as without a typical head.",
        ("d", "C"): "It puts nearly all its weight on `[CLS]`, and it is in layer 5. What did "
        "section 13.13 find for layers 1 to 5?",
        ("d", "A"): "Head A is in layer 3. What did section 13.13 find for layers 1 to 5?",
        ("d", "B"): "Head B is in layer 2. What did section 13.13 find for layers 1 to 5?",
        ("d", "F"): "Head F is in layer 3. What did section 13.13 find for layers 1 to 5?",
    },
    hints=(
        "A row belongs to the word that attends, and a column to a head. In (a) and (c), count "
        "tokens from this word to the one in the cell. `[CLS]` comes before “the”.",
        "In (c), two heads look right at first. Read their cells in the row of “by”.",
        "The maps don't answer (d). Section 13.13 removed each head: in which layer were the heads "
        "whose removal moved the sentence vectors farthest?",
    ),
    insight="The heads are 3.11, 2.8, 5.5, 6.11, 1.2 and 3.8, and you can open their maps in the "
    "figure of section 13.13. Without head D, the vector of this sentence moves by 153 "
    "thousandths, and without any other of the six by less than 2. No map shows this. You have to "
    "remove the head.",
    comes_back="13.confidence gives such heads a score.",
)
