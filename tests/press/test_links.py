"""Links to the repository, Colab and Binder come from the environment, or are absent."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from playwright.sync_api import Browser

from press.extension import links
from tests.support.pages import (
    CHAPTERS,
    DESK,
    HTML,
    PAGES,
    PHONE,
    THEMES,
    Opened,
    addresses,
    build,
    notebook,
    parsed,
    window,
)
from tools.common import ROOT
from tools.run import INSTALL

REPOSITORY = "https://github.com/reader/attention.book"
SITE = "https://reader.github.io/attention.book"
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
MARKS = ("github.com/reader", "mybinder", "colab", "canonical", "/notebooks/", 'class="launch"')
MARKS += ('class="page-links"', "repository-button", "repository:", "Open in Colab")
UNPUBLISHED = "unpack it anywhere"  # what how_to_use.md says instead of linking a release


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book as a fork publishes it; the addresses are as somebody may have typed them."""
    folder = tmp_path_factory.mktemp("published")
    typed = {"ATTNBOOK_REPOSITORY": f" {REPOSITORY}.git/ ", "ATTNBOOK_SITE": f"{SITE}/"}
    jupyter_book = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    done = subprocess.run(
        [*jupyter_book, "build", ".", "-W", "-n", "--keep-going", "--path-output", str(folder)],
        cwd=ROOT,
        env={name: os.environ[name] for name in os.environ if name not in links.FORMS} | typed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "_build" / "html"


@pytest.mark.parametrize("address", CHAPTERS)
def test_each_page_has_its_links(html: Path, address: str) -> None:
    found = addresses(html / address)
    (source,) = ROOT.glob(address.removesuffix("html") + "*")
    assert {REPOSITORY, f"{REPOSITORY}/blob/main/book/{source.name}"} <= found
    report = rf"{REPOSITORY}/issues/new\?title=\S+%20%28{source.name}%29%3A%20"
    assert any(re.fullmatch(report, link) for link in found), found
    assert (f"{REPOSITORY}/edit/main/book/{source.name}" in found) == (source.suffix == ".md")
    (canonical,) = parsed(html / address).select("link[rel=canonical]")
    assert canonical["href"] == f"{SITE}/{address}"
    launched = [link for link in found if re.search("colab|binder|notebooks", link)]
    if source.suffix == ".ipynb":
        assert sorted(launched) == [
            f"../notebooks/{source.name}",
            "https://colab.research.google.com/github/reader/attention.book"
            f"/blob/{links.LAUNCH_BRANCH}/{source.name}",
            "https://mybinder.org/v2/gh/reader/attention.book/main"
            f"?urlpath=lab%2Ftree%2Fbook%2F{source.name}",
        ]
        row = parsed(html / address).select_one("h1 + nav.launch")
        assert row
    else:
        assert launched == []
    assert "find_spec" not in parsed(html / address).get_text()  # the cell that installs


def test_downloads_and_the_search_page_are_linked(html: Path) -> None:
    found = addresses(html / "book" / "how_to_use.html")
    for name in ("attention-book.pdf", "attention-book-html.zip"):
        assert f"{REPOSITORY}/releases/latest/download/{name}" in found
    text = parsed(html / "book" / "how_to_use.html").get_text()
    assert "Open in Colab" in text
    assert UNPUBLISHED not in text
    assert REPOSITORY in addresses(html / "search.html")


def test_a_downloaded_notebook_names_the_repository_and_is_else_the_same(html: Path) -> None:
    folder = html / links.NOTEBOOKS
    assert sorted(path.name for path in folder.iterdir()) == [path.name for path in NOTEBOOKS]
    for path in NOTEBOOKS:
        before, after = path.read_text("utf-8"), (folder / path.name).read_text("utf-8")
        changed = set(after.splitlines()) - set(before.splitlines())
        assert len(changed) == 1
        assert len(after.splitlines()) == len(before.splitlines())
        cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(after)["cells"]}
        names: dict[str, str] = {}
        (line,) = re.findall("^SOURCE = .*$", cells["install"], re.M)
        exec(line, names)
        wanted = Requirement(names["SOURCE"])
        assert wanted.name == "attnbook"
        place = rf"git\+{re.escape(REPOSITORY)}@([0-9a-f]{{40}}|main)"
        assert re.fullmatch(place, wanted.url or "")
        assert cells["install"].replace(line, "") == re.sub("SOURCE = .*", "", INSTALL)


@pytest.mark.parametrize(("theme", "size"), [(THEMES[0], DESK), (THEMES[1], PHONE)])
def test_the_buttons_look_right_and_axe_finds_nothing(
    html: Path, browser: Browser, theme: str, size: dict[str, int]
) -> None:
    context = window(browser, color_scheme=theme, viewport=size)
    for address in ("book/appendix_sources.html", "book/how_to_use.html"):
        opened = Opened(context, address, html.as_uri() + "/")
        opened.settle()
        assert not opened.wide()
        for button in opened.page.locator(".launch a, .page-links a, .repository-button").all():
            box = button.bounding_box()
            assert box
            assert box["height"] >= 20
            assert 0 <= box["x"] <= size["width"] - box["width"]
        bar = opened.page.locator(".repository-button, .theme-switch-button").all()
        heights = [
            button.evaluate("e => Math.round(e.getBoundingClientRect().y)") for button in bar
        ]
        assert len(heights) == 2
        assert len(set(heights)) == 1
        assert opened.violations() == []
        assert opened.close() == []
    context.close()


@pytest.mark.usefixtures("book")
def test_without_the_variables_there_is_no_link() -> None:
    for address in PAGES:
        text = (HTML / address).read_text("utf8")
        assert [mark for mark in MARKS if mark in text] == []
    assert not (HTML / links.NOTEBOOKS).exists()
    assert UNPUBLISHED in parsed(HTML / "book" / "how_to_use.html").get_text()


def test_a_second_build_takes_the_addresses_of_the_first_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = ":::{only} repository\n[here](repository:/x)\n:::\n"
    only += ":::{only} not repository\nNothing here.\n:::\n"
    for name in links.FORMS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ATTNBOOK_REPOSITORY", REPOSITORY)
    monkeypatch.setenv("ATTNBOOK_BRANCH", "a/b")
    index = f"# A\n\n{only}\n```{{toctree}}\n1\n```\n"
    pages = {"index.md": index, "1.ipynb": notebook("1", INSTALL)}
    templates = {"templates_path": [str(ROOT / "press" / "templates")]}
    build(tmp_path, pages, "links safety", **templates)
    page = (tmp_path / "out" / "index.html").read_text("utf8")
    assert f"{REPOSITORY}/x" in page
    assert "Nothing here" not in page
    launch = addresses(tmp_path / "out" / "1.html")
    assert (
        "https://mybinder.org/v2/gh/reader/attention.book/a%2Fb?urlpath=lab%2Ftree%2F1.ipynb"
        in launch
    )
    assert (tmp_path / "out" / links.NOTEBOOKS / "1.ipynb").exists()
    monkeypatch.delenv("ATTNBOOK_REPOSITORY")
    build(tmp_path, {}, "links safety", **templates)
    for name in ("index.html", "1.html"):
        assert REPOSITORY not in (tmp_path / "out" / name).read_text("utf8")
    assert "Nothing here" in (tmp_path / "out" / "index.html").read_text("utf8")
    assert not (tmp_path / "out" / links.NOTEBOOKS).exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ATTNBOOK_REPOSITORY", "git@github.com:owner/name.git"),
        ("ATTNBOOK_REPOSITORY", "http://github.com/owner/name"),
        ("ATTNBOOK_REPOSITORY", "https://gitlab.com/owner/name"),
        ("ATTNBOOK_REPOSITORY", "https://github.com/owner"),
        ("ATTNBOOK_REPOSITORY", "https://github.com/owner/name/tree/main"),
        ("ATTNBOOK_BRANCH", "--evil"),
        ("ATTNBOOK_BRANCH", "two words"),
        ("ATTNBOOK_SITE", "http://owner.github.io"),
        ("ATTNBOOK_SITE", "https://owner.github.io/?page=1"),
        ("ATTNBOOK_SITE", 'https://owner.github.io/"onload'),
    ],
)
def test_what_cannot_be_an_address_ends_the_build_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as stopped:
        build(tmp_path, {"index.md": "# A\n"}, "links")
    assert re.fullmatch(rf"attention book: {name} is .*; it has to be .*", str(stopped.value))


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    for name in links.FORMS:
        monkeypatch.setenv(name, value)
        assert links.setting(name) == ""


def test_a_notebook_without_the_cell_that_installs_is_not_published() -> None:
    with pytest.raises(ValueError, match="lacks the cell"):
        links.published(notebook("1", "import torch\n"), "attnbook")
