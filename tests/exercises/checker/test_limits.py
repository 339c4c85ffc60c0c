"""No answer runs, grows, prints or fails without limit."""

import contextlib
import gc
import re
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from attnbook.exercises.checker import guard, limits, trial
from attnbook.exercises.checker.excerpts import format_error, short_repr, shorten
from tests.exercises.checker.example import TRY, card_of, compare


@pytest.fixture(scope="module", autouse=True)
def quickly_collected():
    """Garbage collections in these tests leave out the many objects of the tests before."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms on this platform")
def test_an_answer_that_waits_forever_is_stopped_but_not_one_that_is_slow(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 0.1)
    begun = time.monotonic()
    assert "still running after" in card_of(lambda q, k: time.sleep(100))
    assert time.monotonic() - begun < 20
    monkeypatch.setattr(guard, "SECONDS", 0.3)
    assert "returned None" in card_of(lambda q, k: time.sleep(0.4))  # slow, as on a busy machine


def retries(query, key):
    while True:
        with contextlib.suppress(Exception):
            while True:
                pass


def goes_on_after_a_bare_except(query, key):
    try:
        retries(query, key)
    except:  # noqa: E722
        retries(query, key)


@pytest.mark.parametrize("endless", [retries, goes_on_after_a_bare_except])
def test_an_endless_answer_is_stopped_in_any_thread_even_if_it_catches_exceptions(
    endless, monkeypatch
):
    monkeypatch.setattr(guard, "SECONDS", 0.2)
    assert "still running after" in card_of(endless)
    with ThreadPoolExecutor(1) as pool:
        assert "still running after" in pool.submit(card_of, endless).result()
        assert pool.submit(card_of, compare).result().startswith("✓ 99.try")


def test_all_cases_together_have_a_limit_too(monkeypatch):
    def slow(query, key):
        begun = time.process_time()
        while time.process_time() - begun < 0.3:
            pass
        return compare(query, key)

    monkeypatch.setattr(guard, "SECONDS", 1.0)
    monkeypatch.setattr(trial, "TOTAL_LIMIT", 0.5)
    assert "for a few small cases: that is too slow." in card_of(slow)


@pytest.mark.on_cpu
@pytest.mark.skipif(sys.platform != "linux", reason="only there memory has a limit")
@pytest.mark.parametrize(
    "fills",
    [lambda q, k: torch.ones(10**9), lambda q, k: np.ones(10**9), lambda q, k: [0] * 10**9],
    ids=["torch", "numpy", "list"],
)
def test_an_answer_that_fills_the_memory_is_stopped_at_once(fills):
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    text = card_of(fills)
    assert "needs more memory than the limit (2 GB)" in text
    assert "10**9" in text, "the card does not show the line"
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize(
    ("line", "shortened"),
    [("a " * 50, "a " * 50), ("a " * 51, "a " * 49 + "a …"), ("a" * 101, "a" * 100 + " …")],
)
def test_a_long_line_is_cut_between_words(line, shortened):
    assert shorten(line) == shortened


@pytest.mark.on_cpu
@pytest.mark.skipif(sys.platform != "linux", reason="only there memory has a limit")
def test_the_limit_on_memory_is_the_one_in_the_message(monkeypatch):
    monkeypatch.setattr(guard, "GIGABYTES", 0.5)
    too_much, allowed = lambda q, k: bytearray(2**30), lambda q, k: bytearray(2**28)
    assert "more memory than the limit (0.5 GB)" in card_of(too_much)  # a card quotes a line above
    assert "returned a bytearray" in card_of(allowed)


def test_only_the_first_lines_that_an_answer_prints_are_shown():
    text = card_of(lambda q, k: [print(n) for n in range(1000)])
    assert re.sub(r"\s+", " ", text).endswith(
        "printed 0 1 2 3 4 5 … and 994 more lines " + TRY.footer
    )


@pytest.mark.parametrize(("length", "shown"), [(400, "x" * 400), (401, "x" * 400 + " …")])
def test_the_text_of_an_exception_is_cut(length, shown):
    assert format_error(ValueError("x" * length)) == f"ValueError: {shown}"


@pytest.mark.parametrize(("length", "shown"), [(298, "x" * 298 + "'"), (299, "x" * 299 + " …")])
def test_the_repr_of_an_answer_is_cut(length, shown):
    assert short_repr("x" * length) == f"'{shown}"


def grows_endlessly(query, key):
    rows = []
    while True:
        rows.append(torch.ones(10**6))


def grows_in_bytes(query, key):
    rows = []
    while True:
        rows.append(bytearray(10**7))


def part_of_a_large_tensor(query, key):
    return torch.ones(5 * 10**7)[:3]


def large_answer(query, key):
    return [0.0] * (25 * 10**6)


def fails_with_a_large_tensor(query, key):
    rows = torch.ones(5 * 10**7)
    raise ValueError(rows.shape)


@pytest.mark.on_cpu
@pytest.mark.skipif(sys.platform != "linux", reason="only there memory has a limit")
@pytest.mark.parametrize(
    "answer",
    [
        grows_endlessly,
        grows_in_bytes,
        part_of_a_large_tensor,
        large_answer,
        fails_with_a_large_tensor,
    ],
)
def test_the_limit_on_memory_holds_for_all_cases_and_all_checks_together(answer, monkeypatch):
    monkeypatch.setattr(guard, "GIGABYTES", 0.25)
    seen = []

    def measured(query, key):
        seen.append(limits.memory_in_use(1))
        return answer(query, key)

    before = limits.memory_in_use(1)
    for _check in range(3):
        assert card_of(measured).startswith("✗")
        assert limits.memory_in_use(1) < before + 0.1 * 2**30, "a check has left its memory in use"
    assert max(seen) < before + 0.3 * 2**30, "a case began with more memory than all may use"


@pytest.mark.skipif(sys.platform != "linux", reason="only there memory has a limit")
def test_the_limit_on_memory_is_smaller_where_a_control_group_leaves_less(monkeypatch, tmp_path):
    own = tmp_path / "user.slice" / "session.scope"
    own.mkdir(parents=True)
    (tmp_path / "self").write_text("12:cpu:/elsewhere\n0::/user.slice/session.scope\n")
    monkeypatch.setattr(limits, "OWN_GROUP", tmp_path / "self")
    monkeypatch.setattr(limits, "CONTROL_GROUPS", tmp_path)

    def allowed(**groups):
        for name, (most, used) in groups.items():
            folder = own if name == "own" else own.parent
            (folder / "memory.max").write_text(f"{most}\n")
            (folder / "memory.stat").write_text(f"anon {used}\nfile 999\n")
        return limits.memory_budget(2**31).more

    assert allowed() == 2**31
    assert allowed(own=("max", 0)) == 2**31
    assert allowed(own=(2**40, 0)) == 2**31
    assert allowed(parent=(3 * 2**30, 2 * 2**30)) == pytest.approx(0.9 * 2**30)
    assert allowed(own=(2**30, 2**29)) == pytest.approx(0.9 * 2**29)
    assert allowed(own=(2**30, 2**30)) == limits.LEAST
    assert "more memory than the limit (0.25 GB)" in card_of(lambda q, k: bytearray(2**30))
