"""The download: one complete folder that opens offline, with the same bytes each time."""

import os
import re
import zipfile
from pathlib import Path
from unittest.mock import Mock

import pytest
from playwright.sync_api import Browser, expect

from manuscript.common import run_tool
from press import pack
from tests.support.pages import HTML, Opened, window

LONGEST = 110  # characters; Windows allows 260, of which the reader's own folders need some
BESIDE = {"index.html", "READ ME.txt", "LICENSE.txt", "LICENSE-TEXT.txt", "pages"}
SMALL = {
    "index.html": '<meta content="0; url=book/one.html"><a href="book/one.html#part">',
    "book/one.html": '<link href="../_static/site.css?v=1"><a href="https://example.org/">',
    "_static/site.css": "p { background: url(part/a%20b.png) }",
    "_static/part/a b.png": "a picture",
    "_static/part/OFL.txt": "a license",
}


@pytest.fixture(scope="module")
def download(book: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip of the built book."""
    path = tmp_path_factory.mktemp("download") / "book.zip"
    pack.pack(dict(pack.contents(HTML)), path)
    return path


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small book to pack, with an earlier zip where its zip will be."""
    for name, text in SMALL.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(pack, "HTML", tmp_path)
    monkeypatch.setattr(pack, "ZIP", tmp_path / "old.zip")
    pack.ZIP.write_bytes(b"the zip of before")
    return tmp_path


def test_the_same_book_gives_the_same_bytes(small: Path) -> None:
    files = dict(pack.contents(small))
    assert files["index.html"].decode().count('="pages/book/') == 1
    assert b"; url=pages/book/" in files["index.html"]
    pack.pack(files, pack.ZIP)
    before = pack.ZIP.read_bytes()
    assert {name.removeprefix("pages/") for name in files} - BESIDE == {*SMALL} - BESIDE
    (small / "book" / "00_left_from_before.html").write_text("an old page")
    for path in small.rglob("*"):
        os.utime(path, (10**9, 10**9))
        path.chmod(0o755)
    pack.pack(dict(reversed(list(pack.contents(small)))), pack.ZIP)
    assert pack.ZIP.read_bytes() == before


def test_there_is_one_page_to_open_and_no_other_file(download: Path) -> None:
    with zipfile.ZipFile(download) as archive:
        entries = archive.infolist()
        names = archive.namelist()
        texts = [archive.read(n).decode() for n in names if n.endswith((".html", ".css", ".js"))]
    assert names == sorted(names)
    assert {name.split("/")[0] for name in names} == {"attention-book"}
    assert {name.split("/")[1] for name in names} == BESIDE
    plain = re.compile(r"[A-Za-z0-9._/-]+|.*/READ ME\.txt")
    assert [name for name in names if not plain.fullmatch(name) or len(name) > LONGEST] == []
    assert len({name.lower() for name in names}) == len(names)  # Windows ignores case
    assert {(e.date_time, e.external_attr, e.create_system) for e in entries} == {
        ((1980, 1, 1, 0, 0, 0), 0o100644 << 16, 3)
    }
    licenses = {"licenses.txt", "LICENSE", "OFL.txt"}
    files = {name.split("/")[-1] for name in names}
    assert licenses <= files
    unnamed = [file for file in files if not any(file in text for text in texts)]
    assert set(unnamed) <= licenses | BESIDE


def test_it_opens_without_a_network_from_any_folder(
    download: Path, browser: Browser, tmp_path: Path
) -> None:
    folder = tmp_path / "我的 downloads #1"
    with zipfile.ZipFile(download) as archive:
        archive.extractall(folder)
    with window(browser) as context:
        opened = Opened(context, "index.html", (folder / "attention-book").as_uri() + "/")
        page = opened.page
        page.wait_for_url("**/pages/book/index.html")
        opened.settle()
        page.get_by_role("link", name="3. One head").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("3. One head")
        opened.settle()
        expect(page.locator(".katex-html").first).to_be_visible()
        pictures = page.evaluate(
            "[...document.images].map(image => image.naturalWidth)"
            ".concat([...document.querySelectorAll('.picture > svg')].map(e => e.clientWidth))"
        )
        assert len(pictures) > 3
        assert 0 not in pictures
        opened.search("注意力")
        page.locator("#search-results a").first.click()
        expect(page.locator("article")).to_contain_text("注意力")
        assert opened.close() == []
        assert opened.outside() == []
        assert len(opened.requested) > 20


@pytest.mark.parametrize("missing", [*list(SMALL)[:-1], None], ids=str)
def test_a_failure_is_reported_in_one_line_and_keeps_the_old_zip(
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: str | None,
) -> None:
    if missing:
        (small / missing).unlink()
        said = f"{Path(missing)} is missing in _build/html: run 'make book' first"
    else:
        full = Mock(side_effect=OSError(28, "No space left on device"))
        monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
        said = "[Errno 28] No space left on device"
    with pytest.raises(SystemExit) as stopped:
        run_tool(pack.main)
    assert stopped.value.code == f"attention book: {said}"
    assert pack.ZIP.read_bytes() == b"the zip of before"
