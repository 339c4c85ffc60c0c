"""The time that the experiments take: limited, and told before they begin if it is long."""

import contextlib
import time
from collections.abc import Iterator

from attnbook.language import _

SECONDS = 10.0  # for all experiments together
LONG = 60.0  # for those of a large model, which are announced
PATIENCE = 3.0  # seconds that need no announcement
N_CALLS = 60  # of the examined code, about
CERTAIN = 3  # this many calls in a row were slow by themselves, and not because of other programs


class OutOfTime(Exception):
    """The experiments have used their time."""


class Pace:
    """The time that is left, and how long one call takes."""

    def __init__(self) -> None:
        self.begin, self.computed = time.monotonic(), time.process_time()
        self.limit = SECONDS
        self.n_measured, self.fastest = 0, float("inf")
        self.is_told = False

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Measure a call of the examined code.

        Raises:  OutOfTime if the time is over
        """
        if self.is_over():
            raise OutOfTime
        begin = time.monotonic()
        yield
        self.fastest = min(self.fastest, time.monotonic() - begin)
        self.n_measured += 1
        if (
            self.n_measured >= CERTAIN
            and not self.is_told
            and time.monotonic() - self.begin < SECONDS
        ):
            self.tell()

    def is_over(self) -> bool:
        """Whether the time is over. Waiting for a busy processor counts for less."""
        passed = time.monotonic() - self.begin
        computed = time.process_time() - self.computed
        return passed > 3 * self.limit or min(passed, 2 * computed) > self.limit

    def tell(self) -> None:
        """Announce a long time once, and allow it."""
        expected = N_CALLS * self.fastest
        if expected < PATIENCE or self.is_told:
            return
        self.is_told = True
        self.limit = max(SECONDS, min(2 * expected, LONG))
        message = _("A call takes {call:.1f} s, so this takes about {n} s, and at most {most}.")
        print(message.format(call=self.fastest, n=round(expected), most=round(self.limit)))
