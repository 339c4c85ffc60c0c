"""The table for teachers is made from anything that readers hand in, without a crash."""

import csv
import io
import json
import zipfile

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
def printed(capsys, handed_in, tmp_path):
    """Run report; return the rows of its CSV file, its standard error and its exit code."""

    def printed(*more: str) -> tuple[list[dict[str, str]], str, int]:
        table = tmp_path / "class.csv"
        code = main(["report", str(handed_in), "-o", str(table), *more])
        rows = csv.DictReader(io.StringIO(table.read_text("utf-8-sig"), newline=""))
        return list(rows), capsys.readouterr().err, code

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
    assert found["anna", "03.scores"] == ("1", "2", "3", "1", "0")
    assert found["bo/hw1", "03.scores"] == ("1", "0", "0", "0", "1")
    assert found["李", "03.map"] == ("0", "1", "0", "0", "0")
    assert found["anna", "03.map"] == ("0", "0", "0", "0", "0")


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
    table = report.long_table({f"{first}1+1": counts, f"a{first}1+1": counts}, list(ALL))
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    assert len(rows) == 2 * len(ALL), "a name has added a row"
    assert {row["reader"] for row in rows} == {f"'{first}1+1", f"a{first}1+1"}


def test_a_table_in_a_file_and_two_on_the_screen(handed_in, tmp_path, capsys):
    events = {
        "anna": ("try", "hint", "pass", "solution"),
        "bo": ("try", "try", "try", "solution", "pass"),
        "chen": ("hint",),
        "dora": ("try", "try"),
    }
    for name, done in events.items():
        (handed_in / f"{name}.jsonl").write_text(lines(*done))
    table = tmp_path / "class.csv"
    assert main(["report", str(handed_in), "-o", str(table)]) == 0
    assert table.read_bytes().startswith(b"\xef\xbb\xbfreader,exercise,passed,")
    assert table.read_text("utf-8-sig").count("\n") == 4 * len(ALL) + 1
    on_screen = capsys.readouterr().out
    assert main(["report", str(handed_in)]) == 0
    assert capsys.readouterr().out == on_screen
    found = [line.split() for line in on_screen.splitlines()]
    assert ["anna", "1", "1", "1", "1", "1"] in found
    assert ["bo", "1", "3", "0", "1", "0"] in found
    assert ["chen", "0", "0", "1", "0", "0"] in found
    assert found[-1] == ["03.scores", "3", "2", "2", "2", "2", "1"]  # tried, passed, median, …


def test_one_row_for_each_reader_and_only_one_chapter(handed_in, printed, capsys):
    (handed_in / "anna.jsonl").write_text(lines("pass") + lines("try", exercise="03.map"))
    (handed_in / "=bo.jsonl").write_text(lines("try", exercise="04.split"))
    rows, _, code = printed("--wide", "--chapter", "3")
    assert code == 0
    assert list(rows[0]) == ["reader", *(name for name in ALL if name.startswith("03."))]
    assert {row["reader"]: (row["03.scores"], row["03.map"]) for row in rows} == {
        "'=bo": ("", ""),
        "anna": ("1", "0"),
    }
    assert main(["report", str(handed_in), "--chapter", "04"]) == 0
    out = capsys.readouterr().out
    assert "04.split" in out
    assert "03.scores" not in out
    for wrong, message in (("--wide", "--wide needs -o FILE"), ("--chapter=99", "no chapter 99")):
        assert main(["report", str(handed_in), wrong]) == 2
        assert message in capsys.readouterr().err


def test_archives_are_named_and_other_encodings_are_read(handed_in, printed):
    (handed_in / "anna.jsonl").write_text(lines("pass"), "utf-16")  # as PowerShell 5 writes it
    (handed_in / "bo.jsonl").write_text(lines("pass").strip(), "utf-8-sig")
    with zipfile.ZipFile(handed_in / "eva.zip", "w") as archive:
        archive.writestr("progress.jsonl", lines("pass"))
    (handed_in / "Dora_123_assignsubmission_file_").mkdir()
    (handed_in / "Dora_123_assignsubmission_file_" / "progress (1).jsonl").write_text(lines("pass"))
    rows, err, code = printed()
    assert code == 1
    assert err == "attnbook: eva.zip was skipped: it is an archive: unpack it first\n"
    passed = [row["reader"] for row in rows if row["passed"] == "1"]
    assert passed == ["anna", "bo", "Dora_123_assignsubmission_file_/progress (1)"]
