"""One examination: the subject, what is meant, and the report that grows."""

from dataclasses import dataclass, field, replace
from typing import Any

from attnbook.examination.facts import Facts
from attnbook.examination.report import Report
from attnbook.examination.subject import Subject


@dataclass
class Exam:
    """What every experiment works with."""

    subject: Subject
    facts: Facts
    report: Report
    learned: set[str] = field(default_factory=set)  # the facts that were not said

    def learn(self, **facts: Any) -> None:
        """Take for granted what was not said but was seen."""
        self.learned |= facts.keys()
        self.facts = replace(self.facts, **facts)
        self.subject.facts = self.facts
