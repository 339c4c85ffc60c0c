"""What the proof of the exercises counted, chapter by chapter, as its tests report it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import pytest


def table(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """A line for each chapter and one for all; none if no test of the proof has run."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for report in reports:
        for name, value in report.user_properties:
            if name == "proof":
                exercise, what, number = value
                counts[f"chapter {exercise[:2]}"][what] += number
                counts["all"][what] += number
    for chapter in sorted(counts, key=lambda chapter: (chapter == "all", chapter)):
        numbers = sorted(counts[chapter].items())
        yield f"{chapter:10}  " + ", ".join(f"{number} {what}" for what, number in numbers)
