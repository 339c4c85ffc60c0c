"""`make bench` writes what it has measured into its table; no test depends on a time."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch

from attnbook.notebook.cost import cost
from tools import bench, validate


def test_a_row_has_the_ratios_for_one_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    tables = (validate.TABLE, bench.TABLE, bench.STEPS)
    page.write_text("".join(text for table in tables for text in (*table.ends, "Text.\n")))
    monkeypatch.setattr(bench, "PAGE", page)
    monkeypatch.setattr(bench, "committed", lambda: "abc1234")
    monkeypatch.setattr(bench, "device_and_system", lambda: "CPU, x")
    monkeypatch.setattr(bench, "TEXTS", {10: 1, 5: 2})
    monkeypatch.setattr(bench, "CACHED", (7, 3))

    def medians(functions: Mapping[str, Callable[[], object]]) -> dict[str, float]:
        for function in functions.values():
            function()
        return dict(zip(functions, next(times), strict=True))

    monkeypatch.setattr(bench, "medians", medians)
    for _ in range(2):  # a second run replaces the rows
        layers = [[2, 3, 4, 5, 6], [4, 5, 6, 7, 8], [1, 1, 1, 1, 1], [1, 2, 3, 4, 5]]
        times = iter([*layers, [2, 3, 4], [1, 1, 2]])
        assert bench.main() == 0
    short, long = bench.TABLE.rows(page.read_text())
    assert short[3:] == ["5", "1.00 / 2.00", "1.00 / 3.00", "1.00 / 4.00", "1.00 / 5.00", "abc1234"]
    assert long[3:] == ["10", "1.50 / 1.25", "2.00 / 1.50", "2.50 / 1.75", "3.00 / 2.00", "abc1234"]
    assert short[0].startswith("CPU, x, ")
    few, many = bench.STEPS.rows(page.read_text())
    assert few[3:] == ["3", "1.00", "2.00", "abc1234"]
    assert many[3:] == ["7", "1.50", "2.00", "abc1234"]
    assert page.read_text().startswith("".join([*validate.TABLE.ends, "Text.\n"]))
    assert page.read_text().endswith("<!-- end of rows -->\nText.\n")
    printed = capsys.readouterr().out.splitlines()
    first = printed.index(validate.markdown(bench.TABLE.head))
    assert printed[first + 2 : first + 4] == [validate.markdown(long), validate.markdown(short)]
    first = printed.index(validate.markdown(bench.STEPS.head))
    assert printed[first + 2 : first + 4] == [validate.markdown(many), validate.markdown(few)]


def test_both_ways_with_latents_give_the_same_output_at_different_costs() -> None:
    ways = bench.steps(torch.device("cpu"), 50)
    assert list(ways) == [bench.KEPT, *bench.WAYS]
    absorbed, again = (ways[name] for name in bench.WAYS)
    torch.testing.assert_close(absorbed(), again())
    assert cost(again).multiplications > 2 * cost(absorbed).multiplications
    assert not torch.equal(absorbed(), ways[bench.KEPT]())


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
