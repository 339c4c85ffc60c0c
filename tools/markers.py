"""The words that the tools look for in a page. An edition in another language replaces them."""

QUESTION, TIME = "Question", "Time"
OPENING = (QUESTION, TIME, "You need", "Recap", "Goal")  # the lines of a chapter's first box
SECOND_READING = "second reading"  # ends the heading of a section that can be skipped at first
MINUTES = rf"(\d+) minutes(?:, (\d+) more with the {SECOND_READING}s)?"
PREDICT = "Predict before you run."
CLOSING = ("Summary", "Where the sources say it")  # the last two sections
FILLERS = ("simply", "obviously", "let's dive", "crucial", "powerful", "delve")
