"""The download: one folder, the same bytes each time, which opens offline and is complete."""

import os
import re
import shutil
import zipfile
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, expect

from press import pack as make_zip
from tests.press.test_pages import HTML, SHOW_ALL, context

pytestmark = pytest.mark.usefixtures("book")

LONGEST = 110  # characters; Windows takes 260, of which the reader's own folders need some
BESIDE = {"index.html", "READ ME.txt", "LICENSE.txt", "LICENSE-TEXT.txt", "pages"}


@pytest.fixture(scope="module")
def download(book: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip of the built book."""
    path = tmp_path_factory.mktemp("download") / "book.zip"
    make_zip.pack(dict(make_zip.contents(HTML)), path)
    return path


def test_the_same_book_gives_the_same_bytes(download: Path, tmp_path: Path) -> None:
    copy = tmp_path / "html"
    shutil.copytree(HTML, copy)
    (copy / "book" / "00_left_from_before.html").write_text("an old page")
    for path in copy.rglob("*"):
        os.utime(path, (10**9, 10**9))
        path.chmod(0o755)
    again = tmp_path / "again.zip"
    files = dict(reversed(list(make_zip.contents(copy))))
    make_zip.pack(files, again)
    assert again.read_bytes() == download.read_bytes()
    files["index.html"] += b" "
    make_zip.pack(files, again)
    assert again.read_bytes() != download.read_bytes()


def test_one_page_to_open_and_no_litter(download: Path) -> None:
    with zipfile.ZipFile(download) as archive:
        entries = archive.infolist()
        names = archive.namelist()
        texts = {
            name: archive.read(name).decode()
            for name in names
            if name.endswith((".html", ".css", ".js"))
        }
    assert names == sorted(names)
    assert {name.split("/")[0] for name in names} == {"attention-book"}
    assert {name.split("/")[1] for name in names} == BESIDE
    assert [
        name for name in names if not re.fullmatch(r"[A-Za-z0-9._/-]+|.*/READ ME\.txt", name)
    ] == []
    assert [name for name in names if len(name) > LONGEST] == []
    assert len({name.lower() for name in names}) == len(names)  # Windows sees no difference
    assert {(e.date_time, e.external_attr, e.create_system) for e in entries} == {
        ((1980, 1, 1, 0, 0, 0), 0o100644 << 16, 3)
    }
    licences = {"licences.txt", "LICENSE", "OFL.txt"}
    for name in names:
        base = name.split("/")[-1]
        assert base in licences | BESIDE or any(base in text for text in texts.values()), name
    assert licences <= {name.split("/")[-1] for name in names}


def test_it_opens_without_a_network_from_any_folder(
    download: Path, browser: Browser, tmp_path: Path
) -> None:
    folder = tmp_path / "我的 downloads #1"
    with zipfile.ZipFile(download) as archive:
        archive.extractall(folder)
    window = context(browser)
    asked: list[str] = []
    wrong: list[str] = []
    window.on("request", lambda request: asked.append(request.url))
    window.on("requestfailed", lambda request: wrong.append(request.url))
    window.on("weberror", lambda error: wrong.append(str(error.error)))
    window.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
    page = window.new_page()

    page.goto((folder / "attention-book" / "index.html").as_uri())
    page.wait_for_url("**/pages/book/index.html")
    page.get_by_role("link", name="3. One head").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("3. One head")
    expect(page.locator(".katex-html").first).to_be_visible()
    page.evaluate(SHOW_ALL)
    pictures = page.evaluate("[...document.images].map(image => image.naturalWidth)")
    assert len(pictures) > 5
    assert 0 not in pictures

    for words, shown in ("softmax", "softmax"), ("注意力", "注意力"):
        page.keyboard.press("Control+k")
        page.keyboard.type(words)
        page.keyboard.press("Enter")
        expect(page.locator("#search-results p.context mark").first).to_have_text(shown)
        page.locator("#search-results a").first.click()
        expect(page.locator("article")).to_contain_text(shown)
        page.wait_for_load_state()
    window.close()

    assert wrong == []
    inside = str(folder / "attention-book")
    assert [
        url for url in asked if not url.startswith("data:") and inside not in unquote(url)
    ] == []
    assert len(asked) > 20


@pytest.mark.parametrize("missing", ["index.html", "_static/site.css", "book/01_library.html"])
def test_an_incomplete_book_is_said_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    missing: str,
) -> None:
    html, old = tmp_path / "html", tmp_path / "old.zip"
    shutil.copytree(HTML, html)
    (html / missing).unlink()
    old.write_bytes(b"the zip of before")
    monkeypatch.setattr(make_zip, "HTML", html)
    monkeypatch.setattr(make_zip, "ZIP", old)
    assert make_zip.main() == 1
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"attention book: {Path(missing)} is missing in _build/html: run 'make book' first"
    ]
    assert old.read_bytes() == b"the zip of before"


def test_a_zip_that_cannot_be_finished_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    old = tmp_path / "old.zip"
    old.write_bytes(b"the zip of before")
    monkeypatch.setattr(make_zip, "ZIP", old)
    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    assert make_zip.main() == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "No space left on device" in said[0]
    assert old.read_bytes() == b"the zip of before"
