"""The words that programs look for in a page, and their forms in the language of the edition."""

from attnbook.language import _

QUESTION, TIME = "Question", "Time"
OPENING = (QUESTION, TIME, "You need", "Recap", "Goal")  # the lines of a chapter's first box
CARD = "two-minutes"  # the id of the cell that says a chapter in two minutes, folded
SECOND_READING = "second reading"  # at the end of a heading: the section can be skipped at first
SECOND_READING_TAG = "second-reading"  # of the heading's cell, for programs
PREDICT = "Predict before you run."
SUMMARY = "Summary"  # the last section of a chapter
SOURCES = "(appendix_sources.ipynb#chapter-{number})"  # what its last line links to
FILLERS = ("simply", "obviously", "let's dive", "crucial", "powerful", "delve")


def label(word: str) -> str:
    """Return the label of a line of the opening, in the language of the edition."""
    return _("**{word}:**").format(word=_(word))


def second_reading() -> str:
    """Return what ends the heading of a second reading, in the language of the edition."""
    return _(" ({words})").format(words=_(SECOND_READING))
