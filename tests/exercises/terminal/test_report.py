"""The table for teachers is made from anything that readers hand in, without a crash."""

import csv
import io
import json

import pytest

from attnbook.exercises import log
from attnbook.exercises.catalog import ALL
from attnbook.exercises.terminal import report
from attnbook.exercises.terminal.commands import main


def lines(*events: str, exercise: str = "03.scores") -> str:
    return "".join("\n" + json.dumps({"exercise": exercise, "event": e}) for e in events)


@pytest.fixture
def handed_in(tmp_path):
    """A folder for the files that readers hand in."""
    folder = tmp_path / "class"
    folder.mkdir()
    return folder


@pytest.fixture
def printed(capsys, handed_in):
    def printed(*more: str) -> tuple[list[dict[str, str]], str, int]:
        code = main(["report", str(handed_in), *more])
        output = capsys.readouterr()
        return list(csv.DictReader(io.StringIO(output.out))), output.err, code

    return printed


def test_a_row_for_each_reader_and_exercise(handed_in, printed):
    (handed_in / "anna.jsonl").write_text(lines("try", "try", *["hint"] * 5, "solution", "pass"))
    (handed_in / "bo" / "hw1").mkdir(parents=True)
    (handed_in / "bo" / "hw1" / "progress.jsonl").write_text(lines("pass", "pass"))
    (handed_in / "李.jsonl").write_text(lines("try", exercise="03.map"), "utf-8")
    rows, err, code = printed()
    assert (err, code) == ("", 0)
    assert len(rows) == 3 * len(ALL)
    assert [row["exercise"] for row in rows[: len(ALL)]] == list(ALL)
    found = {(r.pop("reader"), r.pop("exercise")): tuple(r.values()) for r in rows}
    assert found["anna", "03.scores"] == ("1", "2", "3", "1")
    assert found["bo/hw1", "03.scores"] == ("1", "0", "0", "0")
    assert found["李", "03.map"] == ("0", "1", "0", "0")
    assert found["anna", "03.map"] == ("0", "0", "0", "0")


def test_rows_are_sorted_by_name_and_no_file_hides_another(handed_in, printed):
    (handed_in / "dora.jsonl").write_text(lines("pass"))
    (handed_in / "Carl.jsonl").write_text(lines("pass"))
    for name in ("anna", "dora"):
        (handed_in / name).mkdir()
        (handed_in / name / "progress.jsonl").write_text(lines("try"))
    rows, err, code = printed()
    assert list(dict.fromkeys(row["reader"] for row in rows)) == ["anna", "Carl", "dora"]
    assert code == 1
    assert "was skipped: there is another file for the reader dora" in err


def test_bad_files_are_named_and_left_out(handed_in, printed, monkeypatch):
    (handed_in / "anna.jsonl").write_text(lines("pass") + '\n{"exercise": "03.')
    (handed_in / "photo.png").write_bytes(bytes(range(256)) * 10)
    (handed_in / "empty.jsonl").write_text("")
    (handed_in / "deep.jsonl").write_text("[" * 200_000)
    (handed_in / "other.jsonl").write_text('{"exercise": ["x"], "event": {}}\n{"a": 1}')
    (handed_in / "large.jsonl").write_text(" " * 2000)
    (handed_in / "gone.jsonl").symlink_to("nowhere")
    (handed_in / "round").symlink_to(handed_in)
    (handed_in / ".DS_Store").write_text("x")
    monkeypatch.setattr(report, "MAX_BYTES", 300_000)
    rows, err, code = printed()
    assert {row["reader"] for row in rows} == {"anna"}
    assert code == 1
    warnings = err.splitlines()
    for name in ("photo.png", "empty.jsonl", "deep.jsonl", "other.jsonl", "large.jsonl", "gone"):
        assert sum(f"attnbook: {name}" in line and "was skipped" in line for line in warnings) == 1
    assert "attnbook: anna.jsonl has 1 damaged line, which is not counted" in warnings
    assert len(warnings) == 7


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_a_name_that_a_spreadsheet_would_evaluate_is_text(first):
    counts, _ = log.parse(lines("pass").encode())
    table = report.csv_table({f"{first}1+1": counts, f"a{first}1+1": counts})
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    assert len(rows) == 2 * len(ALL), "a name has added a row"
    assert {row["reader"] for row in rows} == {f"'{first}1+1", f"a{first}1+1"}


def test_a_table_in_a_file_and_sums_on_the_screen(handed_in, tmp_path, capsys):
    (handed_in / "anna.jsonl").write_text(lines("try", "hint", "pass"))
    table = tmp_path / "class.csv"
    assert main(["report", str(handed_in), "-o", str(table)]) == 0
    assert table.read_bytes().startswith(b"\xef\xbb\xbfreader,exercise,passed,")
    assert table.read_text("utf-8-sig").count("\n") == len(ALL) + 1
    assert capsys.readouterr().out.split()[-5:] == ["anna", "1", "1", "1", "0"]
