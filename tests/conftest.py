"""Settings of all tests: drawn examples are the same in every run, and never fail by the clock."""

import sys

from hypothesis import settings

settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")


def pytest_terminal_summary(terminalreporter):
    """After the proof of the exercises has run, print what it counted."""
    module = sys.modules.get("test_exercises") or sys.modules.get("tests.test_exercises")
    if module is not None and any(
        "test_mutants_are_rejected" in report.nodeid
        for report in terminalreporter.stats.get("passed", ())
    ):
        terminalreporter.section("what the exercises' proof counted")
        terminalreporter.write_line(module.TABLE)
