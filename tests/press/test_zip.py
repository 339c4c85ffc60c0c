"""The download: one folder, the same bytes each time, which opens offline and is complete."""

import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from press import pack
from tests.support.pages import HTML, Opened, window

pytestmark = pytest.mark.usefixtures("book")

LONGEST = 110  # characters; Windows takes 260, of which the reader's own folders need some
BESIDE = {"index.html", "READ ME.txt", "LICENSE.txt", "LICENSE-TEXT.txt", "pages"}


@pytest.fixture(scope="module")
def download(book: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip of the built book."""
    path = tmp_path_factory.mktemp("download") / "book.zip"
    pack.pack(dict(pack.contents(HTML)), path)
    return path


def test_the_same_book_gives_the_same_bytes(download: Path, tmp_path: Path) -> None:
    copy = tmp_path / "html"
    shutil.copytree(HTML, copy)
    (copy / "book" / "00_left_from_before.html").write_text("an old page")
    for path in copy.rglob("*"):
        os.utime(path, (10**9, 10**9))
        path.chmod(0o755)
    again = tmp_path / "again.zip"
    files = dict(reversed(list(pack.contents(copy))))
    pack.pack(files, again)
    assert again.read_bytes() == download.read_bytes()


def test_one_page_to_open_and_no_litter(download: Path) -> None:
    with zipfile.ZipFile(download) as archive:
        entries = archive.infolist()
        names = archive.namelist()
        texts = [archive.read(n).decode() for n in names if n.endswith((".html", ".css", ".js"))]
    assert names == sorted(names)
    assert {name.split("/")[0] for name in names} == {"attention-book"}
    assert {name.split("/")[1] for name in names} == BESIDE
    plain = re.compile(r"[A-Za-z0-9._/-]+|.*/READ ME\.txt")
    assert [name for name in names if not plain.fullmatch(name) or len(name) > LONGEST] == []
    assert len({name.lower() for name in names}) == len(names)  # Windows sees no difference
    assert {(e.date_time, e.external_attr, e.create_system) for e in entries} == {
        ((1980, 1, 1, 0, 0, 0), 0o100644 << 16, 3)
    }
    licences = {"licences.txt", "LICENSE", "OFL.txt"}
    files = {name.split("/")[-1] for name in names}
    assert licences <= files
    unnamed = [file for file in files if not any(file in text for text in texts)]
    assert set(unnamed) <= licences | BESIDE


def test_it_opens_without_a_network_from_any_folder(
    download: Path, browser: Browser, tmp_path: Path
) -> None:
    folder = tmp_path / "我的 downloads #1"
    with zipfile.ZipFile(download) as archive:
        archive.extractall(folder)
    context = window(browser)
    opened = Opened(context, "index.html", (folder / "attention-book").as_uri() + "/")
    page = opened.page
    page.wait_for_url("**/pages/book/index.html")
    opened.settle()
    page.get_by_role("link", name="3. One head").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("3. One head")
    opened.settle()
    expect(page.locator(".katex-html").first).to_be_visible()
    pictures = page.evaluate("[...document.images].map(image => image.naturalWidth)")
    assert len(pictures) > 5
    assert 0 not in pictures
    for words in "softmax", "注意力":
        opened.search(words)
        expect(page.locator("#search-results p.context mark").first).to_have_text(words)
        page.locator("#search-results a").first.click()
        expect(page.locator("article")).to_contain_text(words)
    assert opened.close() == []
    assert opened.outside() == []
    assert len(opened.requested) > 20
    context.close()


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
    monkeypatch.setattr(pack, "HTML", html)
    monkeypatch.setattr(pack, "ZIP", old)
    assert pack.main() == 1
    said = f"attention book: {Path(missing)} is missing in _build/html: run 'make book' first\n"
    assert capsys.readouterr().err == said
    assert old.read_bytes() == b"the zip of before"


def test_a_zip_that_cannot_be_finished_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    old = tmp_path / "old.zip"
    old.write_bytes(b"the zip of before")
    monkeypatch.setattr(pack, "ZIP", old)
    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    assert pack.main() == 1
    assert capsys.readouterr().err == "attention book: [Errno 28] No space left on device\n"
    assert old.read_bytes() == b"the zip of before"
