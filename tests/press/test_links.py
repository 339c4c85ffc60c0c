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
from tests.press.test_pages import AXE, CHAPTERS, PHONE, THEMES, Links, Opened, context
from tools.common import ROOT
from tools.rules import INSTALL

REPOSITORY = "https://github.com/reader/attention.book"
SITE = "https://reader.github.io/attention.book"
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
MARKS = ("github.com/reader", "mybinder", "colab", "canonical", "/notebooks/", 'class="launch"')
UNPUBLISHED = "unpack it anywhere"  # what how_to_use.md says instead of linking a release
MARKS += ('class="page-links"', "repository-button", "repository:")


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build the book strictly into a folder of its own, so that the book at hand stays as it is."""
    kept = {name: value for name, value in os.environ.items() if name not in environment}
    names = ("ATTNBOOK_REPOSITORY", "ATTNBOOK_BRANCH", "ATTNBOOK_SITE")
    kept = {name: value for name, value in kept.items() if name not in names}
    jupyter_book = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    return subprocess.run(
        [*jupyter_book, "build", ".", "-W", "-n", "--keep-going", "--path-output", str(folder)],
        cwd=ROOT,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this module builds."""
    return tmp_path_factory.mktemp("published")


@pytest.fixture(scope="module")
def html(output: Path) -> Path:
    """The book as a fork publishes it; the address is as somebody may have typed it."""
    done = build(output, ATTNBOOK_REPOSITORY=f" {REPOSITORY}.git/ ", ATTNBOOK_SITE=f"{SITE}/")
    assert done.returncode == 0, done.stderr
    return output / "_build" / "html"


def test_each_page_links_to_its_source_and_to_a_report(html: Path) -> None:
    for address in CHAPTERS:
        found = read(html / address)
        (source,) = ROOT.glob(address.removesuffix("html") + "*")
        assert REPOSITORY in found
        assert f"{REPOSITORY}/blob/main/book/{source.name}" in found
        report = rf"{REPOSITORY}/issues/new\?title=\S+%20%28{source.name}%29%3A%20"
        assert any(re.fullmatch(report, link) for link in found), found
        assert (f"{REPOSITORY}/edit/main/book/{source.name}" in found) == (source.suffix == ".md")
        canonical = f'<link rel="canonical" href="{SITE}/{address}" />'
        assert canonical in (html / address).read_text("utf8")
    assert REPOSITORY in read(html / "search.html")


def read(page: Path) -> set[str]:
    return Links(page).links


def test_each_notebook_can_be_launched_and_downloaded_and_no_other_page(html: Path) -> None:
    for address in CHAPTERS:
        found, name = read(html / address), Path(address).stem
        launched = [link for link in found if re.search("colab|binder|notebooks", link)]
        if (ROOT / "book" / f"{name}.ipynb").exists():
            assert sorted(launched) == [
                f"../notebooks/{name}.ipynb",
                "https://colab.research.google.com/github/reader/attention.book"
                f"/blob/{links.LAUNCH_BRANCH}/{name}.ipynb",
                "https://mybinder.org/v2/gh/reader/attention.book/main"
                f"?urlpath=lab%2Ftree%2Fbook%2F{name}.ipynb",
            ]
        else:
            assert launched == []
        assert "find_spec" not in (html / address).read_text("utf8")  # the cell that installs


def test_downloads_are_linked(html: Path) -> None:
    found = read(html / "book" / "how_to_use.html")
    for name in ("attention-book.pdf", "attention-book-html.zip"):
        assert f"{REPOSITORY}/releases/latest/download/{name}" in found
    text = (html / "book" / "how_to_use.html").read_text("utf8")
    assert "Open in Colab" in text
    assert UNPUBLISHED not in text


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
        assert re.fullmatch(
            rf"git\+{re.escape(REPOSITORY)}@([0-9a-f]{{40}}|main)", wanted.url or ""
        )
        assert cells["install"].replace(line, "") == re.sub("SOURCE = .*", "", INSTALL)


def test_the_buttons_look_right_and_axe_finds_nothing(html: Path, browser: Browser) -> None:
    for theme in THEMES:
        for size in (PHONE, {"width": 1280, "height": 800}):
            window = context(browser, color_scheme=theme, viewport=size)
            for address in ("book/appendix_sources.html", "book/how_to_use.html"):
                opened = Opened(window, address, html)
                assert opened.errors == []
                page = opened.page
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                for button in page.locator(".launch a, .page-links a, .repository-button").all():
                    box = button.bounding_box()
                    assert box
                    assert box["height"] >= 20
                    assert box["x"] >= 0
                    assert box["x"] + box["width"] <= size["width"]
                bar = page.locator(".repository-button, .theme-switch-button").all()
                assert len({round(button.bounding_box()["y"]) for button in bar}) == 1  # type: ignore[index]
                page.evaluate(AXE.read_text("utf8"))
                violations = page.evaluate(
                    "axe.run({exclude: '.katex-html'}).then(f => f.violations)"
                )
                assert [(v["id"], n["html"]) for v in violations for n in v["nodes"]] == []
                page.close()
            window.close()


def test_links_name_the_branch() -> None:
    found = links.page_links("https://github.com/other/fork", "a/b", "book/01_library.ipynb", "1.")
    assert found["source"] == "https://github.com/other/fork/blob/a/b/book/01_library.ipynb"
    assert found["binder"].startswith("https://mybinder.org/v2/gh/other/fork/a%2Fb?urlpath=")


def test_without_the_variables_a_second_build_takes_every_link_out(
    html: Path, output: Path
) -> None:
    assert build(output).returncode == 0
    for page in html.rglob("*.html"):
        text = page.read_text("utf8")
        assert [mark for mark in MARKS if mark in text] == []
    assert not (html / links.NOTEBOOKS).exists()
    text = (html / "book" / "how_to_use.html").read_text("utf8")
    assert "Open in Colab" not in text
    assert UNPUBLISHED in text


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
def test_what_cannot_be_an_address_is_refused(name: str, value: str) -> None:
    read_value = getattr(links, name.removeprefix("ATTNBOOK_").lower())
    with pytest.raises(ValueError, match=rf"^{name} is .*; it has to be"):
        read_value(value)


def test_a_bad_address_ends_the_build_in_one_line(tmp_path: Path) -> None:
    done = build(tmp_path, ATTNBOOK_REPOSITORY="owner/name")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if "ATTNBOOK" in line or "Traceback" in line]
    assert len(lines) == 1
    assert lines[0].startswith("attention book: ATTNBOOK_REPOSITORY is 'owner/name'; it has to be")


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_variable_is_as_good_as_none(value: str) -> None:
    assert (links.repository(value), links.branch(value), links.site(value)) == ("", "main", "")


def test_a_notebook_without_the_cell_that_installs_is_not_published() -> None:
    cell = {"cell_type": "code", "source": ["import torch\n"]}
    with pytest.raises(ValueError, match="lacks the cell"):
        links.published(json.dumps({"cells": [cell]}), "attnbook")
