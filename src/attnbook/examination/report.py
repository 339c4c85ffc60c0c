"""What `examine` found, as data, as text, and as HTML for a notebook."""

import html
import re
import textwrap
from dataclasses import dataclass, field

from attnbook.colors import STATES
from attnbook.examination.faults import FAULTS
from attnbook.language import _

WIDTH = 88  # columns of the text
WRONG, RARE = "✗", "△"  # wrong in any case, or right on ordinary input only
NO_BREAK = "\N{NO-BREAK SPACE}"
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Finding:
    """One fault, with the experiment that shows it.

    `level` is "✗" for what is wrong in any case, and "△" for what is right on ordinary input only,
    or may be meant.
    """

    fault: str
    sentence: str

    @property
    def level(self) -> str:
        return WRONG if FAULTS[self.fault].is_wrong else RARE

    @property
    def section(self) -> str:
        """The section of the book that explains the fault."""
        return FAULTS[self.fault].section

    @property
    def where(self) -> str:
        """The section, and the exercise if there is one, as a line of text."""
        exercise = FAULTS[self.fault].exercise
        text = (
            _("→ section {section}, exercise {exercise}") if exercise else _("→ section {section}")
        )
        return text.format(section=self.section, exercise=exercise)

    def __str__(self) -> str:
        return f"{self.level} {self.fault}: {self.sentence} {self.where}"


class AttentionFault(AssertionError):
    """`Report.raise_if_faulty` found a fault, or nothing could be examined."""


@dataclass
class Report:
    """What was examined, what was seen, what is wrong, and what was tried.

    `refusal` is a sentence if nothing could be examined.
    """

    seen: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    blind_spots: str = ""
    refusal: str = ""

    def add(self, fault: str, sentence: str) -> None:
        """Record a finding, unless the same fault has been recorded. What is wrong comes first."""
        if all(found.fault != fault for found in self.findings):
            self.findings.append(Finding(fault, closed_up(sentence)))
            self.findings.sort(key=lambda found: found.level != WRONG)

    def note(self, sentence: str) -> None:
        """Record something that was seen, or that is taken for granted."""
        if sentence not in self.seen:
            self.seen.append(sentence)

    def attempt(self, experiment: str) -> None:
        """Record that an experiment was tried."""
        if experiment not in self.tried:
            self.tried.append(experiment)

    @property
    def is_faulty(self) -> bool:
        """Whether something is wrong in any case."""
        return any(found.level == WRONG for found in self.findings)

    def raise_if_faulty(self) -> None:
        """Raise an AttentionFault that shows the report if something is wrong in any case.

        It is also raised if nothing could be examined, because a test must not pass for that
        reason.
        """
        if self.is_faulty or self.refusal:
            raise AttentionFault(str(self))

    def closing(self) -> str:
        """Say what was tried, and what the experiments cannot see."""
        if self.refusal or not self.tried:
            return ""
        tried = _("Tried: {experiments}.").format(experiments=_(", ").join(self.tried))
        after = _("Silence proves nothing.")
        if self.findings:
            after = _("Repair it and examine it again: a fault can hide others.")
        return closed_up(" ".join(filter(None, (tried, after, self.blind_spots))))

    def __str__(self) -> str:
        lines = [wrapped(sentence, "  ", first="") for sentence in self.seen]
        if self.refusal:
            lines.append(wrapped(self.refusal, "  ", first="? "))
        for found in self.findings:
            lines.append(wrapped(found.sentence, "  ", first=f"{found.level} "))
            lines.append(f"  {found.where}")
        if closing := self.closing():
            lines.append(wrapped(closing, "", first=""))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        kind = "failed" if self.is_faulty or self.refusal else "info"
        parts = [paragraph(sentence) for sentence in self.seen]
        if self.refusal:
            parts.append(paragraph(f"? {self.refusal}"))
        for found in self.findings:
            parts.append(paragraph(f"{found.level} {found.sentence}\n{found.where}"))
        if closing := self.closing():
            parts.append(paragraph(closing, "opacity:.8"))
        style = f"border-left:.3em solid {STATES[kind][0]};padding:.2em 1em;color:inherit"
        style += ";overflow-wrap:anywhere"  # a long name is wider than a phone
        return f'<div role="status" style="{style}">{"".join(parts)}</div>'


def closed_up(text: str) -> str:
    """Remove the space after each full stop that has the width of a Chinese character."""
    return text.replace("。 ", "。")


def wrapped(text: str, indent: str, *, first: str) -> str:
    """Wrap each line of a text. The first line begins with `first`, the others with `indent`.

    Code between backticks stays on one line.
    """
    lines = CODE.sub(lambda code: code[0].replace(" ", NO_BREAK), text).splitlines()
    starts = [first, *[indent] * (len(lines) - 1)]
    return "\n".join(
        textwrap.fill(line, WIDTH, initial_indent=start, subsequent_indent=indent)
        for start, line in zip(starts, lines, strict=True)
    ).replace(NO_BREAK, " ")


def paragraph(text: str, style: str = "") -> str:
    """Return text as HTML, in which code between backticks is marked up."""
    marked = CODE.sub(r"<code>\1</code>", html.escape(text)).replace("\n", "<br>")
    return f'<p style="margin:.4em 0;{style}">{marked}</p>'
