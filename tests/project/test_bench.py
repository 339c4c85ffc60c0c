"""`make bench` writes what it has measured into its table; no test depends on a time."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tools import bench, validate


def test_a_row_has_the_ratios_for_one_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("".join([*validate.TABLE.ends, "Text.\n", *bench.TABLE.ends, "Text.\n"]))
    monkeypatch.setattr(bench, "PAGE", page)
    monkeypatch.setattr(bench, "committed", lambda: "abc1234")
    monkeypatch.setattr(bench, "device_and_system", lambda: "CPU, x")
    monkeypatch.setattr(bench, "TEXTS", {10: 1, 5: 2})

    def medians(functions: Mapping[str, Callable[[], object]]) -> dict[str, float]:
        for function in functions.values():
            function()
        return dict(zip(functions, next(times), strict=True))

    monkeypatch.setattr(bench, "medians", medians)
    for _ in range(2):  # a second run replaces the rows
        times = iter([[2, 3, 4, 5, 6], [4, 5, 6, 7, 8], [1, 1, 1, 1, 1], [1, 2, 3, 4, 5]])
        assert bench.main() == 0
    short, long = bench.TABLE.rows(page.read_text())
    assert short[3:] == ["5", "1.00 / 2.00", "1.00 / 3.00", "1.00 / 4.00", "1.00 / 5.00", "abc1234"]
    assert long[3:] == ["10", "1.50 / 1.25", "2.00 / 1.50", "2.50 / 1.75", "3.00 / 2.00", "abc1234"]
    assert short[0].startswith("CPU, x, ")
    assert page.read_text().startswith("".join([*validate.TABLE.ends, "Text.\n"]))
    assert page.read_text().endswith("<!-- end of rows -->\nText.\n")
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2:] == [validate.markdown(long), validate.markdown(short)]
    assert printed[-4] == validate.markdown(bench.TABLE.head)


def test_a_time_is_the_median_of_all_runs_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0

    def takes(*seconds: float) -> Callable[[], None]:
        left = iter(seconds)

        def run() -> None:
            nonlocal clock
            clock += next(left)

        return run

    monkeypatch.setattr(bench, "now", lambda: clock)
    monkeypatch.setattr(bench, "SECONDS", 0)
    monkeypatch.setattr(bench, "ROUNDS", 4)
    found = bench.medians({"PyTorch": takes(99, 2, 4, 3), "plain": takes(99, 6, 12, 5)})
    assert found == {"PyTorch": 3, "plain": 6}
