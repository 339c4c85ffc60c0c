"""Mark a test as the program that tries general statements of a chapter's summary."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest


def claim(*statements: str, tried: str = "", **tries: tuple) -> Callable[[Any], Any]:
    """Mark a test that tries statements, quoted verbatim from a summary.

    The test runs once for each combination of the other arguments, such as seed=(1, 2) and
    width=(32,), and their names and values are what `make claims` says that it tried. A test that
    already goes through seeds or sizes says in `tried` what they are.
    """

    def mark(test: Any) -> Any:
        test = pytest.mark.claim(*statements, tried=tried)(test)
        if not tries:
            return test
        values = list(itertools.product(*tries.values()))
        ids = [", ".join(f"{n} {v}" for n, v in zip(tries, each, strict=True)) for each in values]
        return pytest.mark.parametrize(list(tries), values, ids=ids)(test)

    return mark


def report_claims(items: list[pytest.Item]) -> None:
    """Put what each program tries into pytest's report. All tests in tests/claims/ are programs."""
    for item in items:
        if item.path.parent.name == "claims":
            item.add_marker("claim")
        for mark in item.iter_markers("claim"):
            item.user_properties += [("claim", statement) for statement in mark.args]
            item.user_properties += [("tried", mark.kwargs["tried"])] if mark.kwargs else []
