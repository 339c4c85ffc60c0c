"""Which row of an attention map belongs to which word?"""

from attnbook.exercises.exercise import Case, Exercise, Property
from attnbook.language import _


def column(row: str) -> int:
    return {"BEGIN": 0, "i": 4, "a": 8, "book": 2, "the": 3, "library": 1}[row]


EXERCISE = Exercise(
    title="Which row writes which word?",
    level=1,
    minutes=6,
    section="9.11",
    prompt="""
A model has read 我 昨天 在 图书馆 看 了 一 本 书 and has written “i read a book in the library
yesterday”. Suppose that one of its heads always attends to the Chinese word that is translated
next. Its attention map has a row for each word that the decoder was given, starting with BEGIN.
`column(row)` returns the column in which the row with this name has its greatest weight. These are
the columns:

| 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
|:--|:--|:--|:--|:--|:--|:--|:--|:--|
| 我 | 昨天 | 在 | 图书馆 | 看 | 了 | 一 | 本 | 书 |
| wǒ | zuótiān | zài | túshūguǎn | kàn | le | yī | běn | shū |
| i | yesterday | in | library | read | (done) | a | (measure) | book |
""",
    stub="""
def column(row):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"BEGIN": None, "i": None, "a": None,
             "book": None, "the": None, "library": None}
    return found[row]
""",
    reference=column,
    cases=lambda generator: [
        Case((row,), note=_('row "{name}"').format(name=row))
        for row in ("BEGIN", "i", "a", "book", "the", "library")
    ],
    choices={
        **dict.fromkeys(
            [("i", 0), ("a", 6), ("book", 8), ("library", 3)],
            "this row was *given* that word. It writes the next one.",
        ),
        **dict.fromkeys(
            [("BEGIN", 4), ("i", 6), ("a", 2), ("the", 1)], "that word is written one row later."
        ),
        **dict.fromkeys(
            [("a", 3), ("book", 4), ("the", 6), ("library", 7)],
            "the two languages use different orders: row n need not attend to word n.",
        ),
        **dict.fromkeys(
            [("BEGIN", 1), ("i", 1)],
            "the Chinese sentence continues with 昨天. Which word does the English one need here?",
        ),
        (("the", "library"), 2): "在 was translated before 图书馆.",
        ("i", 5): "了 marks a completed action. Which Chinese word means “read”?",
        ("a", 7): "本 is a measure word, which English does not need. What is written next?",
        ("book", 3): "two English words come before the library.",
    },
    properties=(
        Property(
            "that word is written in another row. Read the English sentence up to the name of this "
            "row: which word comes next?",
            lambda answer, case: answer == column(case.arguments[0]),
        ),
    ),
    hints=(
        "Write the labels below the target. Which label is below the name of this row?",
        "The row of a word writes the *next* word: the row BEGIN writes i.",
        "The rows write, in this order: i, read, a, book, in, the, library, yesterday, END. Find "
        "each of them in the last line of the table.",
    ),
    insight="A row is named after the word that was given, and its weights are used to write the "
    "next word. If you read the attention map one row off, the model seems to attend to the "
    "word it has just translated. Also, real heads need not attend to the word they translate: "
    "see section 5.6.",
    comes_back="09.greedy also reads such a row: the last one, which writes the next word.",
)
