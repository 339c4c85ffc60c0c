"""The reader's progress: what is kept, what is shown, and what no failure may lose."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attnbook.exercises import check, hint, log, progress, solution
from attnbook.exercises.catalog import ALL

NAME = "03.scores"
RIGHT = ALL[NAME].reference


def wrong(query, key):
    return query @ key.mT


@pytest.fixture
def printed(capsys):
    def printed(command, *arguments) -> str:
        command(*arguments)
        return capsys.readouterr().out

    return printed


def test_hints_come_one_by_one_and_then_all_of_them_once(printed):
    first, second, third = (text.partition(" ")[0] for text in ALL[NAME].hints)
    texts = [printed(hint, NAME) for _ in range(4)]
    assert f"hint 1 of 3\n  {first}" in texts[0]
    assert "2 more" in texts[0]
    assert f"hint 2 of 3\n  {second}" in texts[1]
    assert f"hint 3 of 3\n  {third}" in texts[2]
    assert 'That was the last hint; see solution("03.scores").' in texts[2]
    assert texts[3].count(f"\n  {first}") == 1
    assert texts[3].startswith("· 03.scores all hints\n")


def test_the_solution_waits_for_a_try_and_can_be_copied(printed):
    assert "Try it first" in printed(solution, NAME)
    assert printed(solution, NAME, True).endswith("\n" + ALL[NAME].solution() + "\n")
    printed(check, wrong, NAME)
    assert ALL[NAME].solution() in printed(solution, NAME)


def test_progress_counts_tries_and_passes_and_says_where_it_is_kept(printed):
    printed(check, wrong, NAME)
    assert f"◐\N{NO-BREAK SPACE}{NAME}" in printed(progress)
    printed(check, RIGHT, NAME)
    text = printed(progress)
    assert f"●\N{NO-BREAK SPACE}{NAME}" in text
    assert f"1 of {len(ALL)} passed" in text
    assert str(log.path()) in text.replace("\n  ", "")


def test_a_damaged_log_keeps_the_rest_and_is_left_as_found(printed):
    log.path().write_text('{"exercise": "03.map", "event": "pass"}\n')  # an earlier format
    log.record("03.map", "pass")
    with log.path().open("ab") as file:
        file.write(b'\n{"exercise": "03.\xff\xfe half a li\n7\n' + b"[" * 200_000)
    before = log.path().read_bytes()
    log.record(NAME, "pass")
    counts, warning = log.read()
    assert (counts["03.map"]["pass"], counts[NAME]["pass"]) == (2, 1)
    assert warning.startswith("3 lines are damaged in ")
    assert log.path().read_bytes().startswith(before)
    assert printed(progress).count("damaged in") == 1


def test_unwritable_progress_counts_in_this_program_and_is_reported_once(
    printed, monkeypatch, tmp_path
):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path / "file"))
    text = printed(check, wrong, NAME).replace("\n", " ")
    assert "Your progress counts only until this program ends" in text
    assert "ATTNBOOK_PROGRESS" in text
    texts = [printed(hint, NAME) for _ in range(2)]
    assert "hint 1 of 3" in texts[0]
    assert "hint 2 of 3" in texts[1]
    assert "counts only" not in "".join(texts)
    assert "one right answer" in printed(solution, NAME)
    (tmp_path / "file").unlink()  # now progress can be saved
    printed(check, RIGHT, NAME)
    events = [json.loads(line)["event"] for line in log.path().read_text().splitlines() if line]
    assert events == ["try", "hint", "hint", "solution", "pass"]


def test_a_line_cut_off_by_a_full_disk_is_written_again(monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def write(self, line):
            return len(line) // 2

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *arguments, **more: Full())
        assert "the disk is full" in log.record(NAME, "try")
    assert log.record(NAME, "pass") == ""
    assert log.parse(log.path().read_bytes()) == ({NAME: {"try": 1, "pass": 1}}, 0)


@pytest.mark.skipif(os.name == "nt", reason="Windows names the user's folder otherwise")
def test_a_tilde_is_the_users_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ATTNBOOK_PROGRESS", "~/attn")
    monkeypatch.chdir(tmp_path)
    log.record(NAME, "try")
    assert (tmp_path / "attn" / "progress.jsonl").exists()
    assert not (tmp_path / "~").exists()
    assert log.display_path() == "~/attn/progress.jsonl"


@pytest.mark.skipif(os.name == "nt", reason="Windows names the user otherwise")
def test_one_setting_can_name_a_folder_for_each_user(monkeypatch, tmp_path):
    monkeypatch.setenv("USER", "anna")
    monkeypatch.setenv("ATTNBOOK_PROGRESS", f"{tmp_path}/class/$USER")
    log.record(NAME, "try")
    assert (tmp_path / "class" / "anna" / "progress.jsonl").exists()


def test_simultaneous_writers_lose_nothing():
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(log.record, [NAME] * 400, ["try"] * 400)) == {""}
    assert log.read() == ({NAME: {"try": 400}}, "")
