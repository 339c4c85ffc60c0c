"""Links to the repository, Colab and Binder come from environment variables, or are absent."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import parse_qs, unquote

import pytest
from jinja2 import Template
from packaging.requirements import Requirement
from playwright.sync_api import Browser

from manuscript.common import ROOT
from manuscript.normal_form import INSTALL
from press.extension import repository
from tests.support.pages import (
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

REPOSITORY = "https://github.com/reader/attention.book"
SITE = "https://reader.github.io/attention.book"
NOTEBOOK = "appendix_sources.ipynb"
TOC = """{format: jb-book, root: book/index,
    chapters: [{file: book/how_to_use}, {file: book/appendix_sources}]}"""
LEFT_OUT = re.compile("Unknown source document")
MARKS = ("github.com/reader", "mybinder", "colab", "canonical", "/notebooks/", 'class="launch"')
MARKS += ('class="page-links"', "repository-button", "repository:", "Open in Colab")


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pages as a fork publishes them; the addresses are typed as people may type them."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "toc.yml").write_text(TOC)
    typed = {"ATTNBOOK_REPOSITORY": f" {REPOSITORY}.git/ ", "ATTNBOOK_SITE": f"{SITE}/"}
    jupyter_book = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    where = ["--toc", str(folder / "toc.yml"), "--path-output", str(folder)]
    done = subprocess.run(
        [*jupyter_book, "build", ".", "-n", *where],
        cwd=ROOT,
        env={name: os.environ[name] for name in os.environ if name not in repository.FORMS} | typed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if re.search("WARNING|ERROR", line)]
    assert [line for line in said if not LEFT_OUT.search(line)] == []
    return folder / "_build" / "html"


@pytest.mark.parametrize("name", ["index.md", "how_to_use.md", NOTEBOOK])
def test_each_page_has_its_links(html: Path, name: str) -> None:
    address = f"book/{Path(name).stem}.html"
    page, found = parsed(html / address), addresses(html / address)
    assert {REPOSITORY, f"{REPOSITORY}/blob/main/book/{name}"} <= found
    report = rf"{REPOSITORY}/issues/new\?title=\S+%20%28{name}%29%3A%20"
    assert any(re.fullmatch(report, link) for link in found), found
    assert (f"{REPOSITORY}/edit/main/book/{name}" in found) == name.endswith(".md")
    (canonical,) = page.select("link[rel=canonical]")
    assert canonical["href"] == f"{SITE}/{address}"
    assert {link for link in found if re.search("colab|binder|notebooks", link)} == (
        {
            f"../notebooks/{name}",
            "https://colab.research.google.com/github/reader/attention.book"
            f"/blob/{repository.LAUNCH_BRANCH}/{name}",
            "https://mybinder.org/v2/gh/reader/attention.book/main"
            f"?urlpath=lab%2Ftree%2Fbook%2F{name}",
        }
        if name == NOTEBOOK
        else set()
    )
    assert len(page.select("h1 + nav.launch")) == (name == NOTEBOOK)
    assert "find_spec" not in page.get_text()  # it is in the cell that installs the package


def test_downloads_and_the_search_page_are_linked(html: Path) -> None:
    found = addresses(html / "book" / "how_to_use.html")
    for name in ("attention-book.pdf", "attention-book-html.zip"):
        assert f"{REPOSITORY}/releases/latest/download/{name}" in found
    assert "Open in Colab" in parsed(html / "book" / "how_to_use.html").get_text()
    assert REPOSITORY in addresses(html / "search.html")


def test_a_downloaded_notebook_installs_the_repository_and_its_links_lead_somewhere(
    html: Path,
) -> None:
    (path,) = (html / repository.NOTEBOOKS).iterdir()
    cells = json.loads(path.read_text("utf-8"))["cells"]
    install = next(cell for cell in cells if cell["cell_type"] == "code")
    (line,) = (line for line in install["source"] if line.startswith("SOURCE"))
    names: dict[str, str] = {}
    exec(line, names)
    wanted = Requirement(names["SOURCE"])
    assert wanted.name == "attnbook"
    place = rf"git\+{re.escape(REPOSITORY)}@([0-9a-f]{{40}}|main)"
    assert re.fullmatch(place, wanted.url or "")
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert f"]({SITE}/book/bibliography.html#" in text
    assert not re.search(r"\]\(\w+\.md", text)


def test_without_a_site_a_downloaded_notebook_leads_to_the_repository() -> None:
    text = notebook("1: [it](notation.md#q) and [2](02.ipynb)", INSTALL)
    assert "[it](https://x/notation.md#q) and [2](02.ipynb)" in repository.published(
        text, "attnbook", "https://x/{}.md"
    )


def test_a_translation_has_its_own_addresses_and_notebooks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(repository, "LANGUAGE", "zh_CN")
    monkeypatch.setenv("ATTNBOOK_SITE", SITE)
    config = Mock(html_context={}, html_theme_options={}, myst_url_schemes=[])
    repository.read_environment(Mock(), config)
    assert config.html_baseurl == f"{SITE}/zh_CN/"
    assert config.html_context["launch"]["edition"] == "zh_CN/"
    template = Template((ROOT / "press/templates/launch.html").read_text("utf-8"))
    template.globals["say"] = str
    row = template.render(config.html_context, repository=REPOSITORY, source="book/1.ipynb")
    assert "blob/launch/zh_CN/1.ipynb" in row
    address = r"https://mybinder.org/v2/gh/reader/attention.book/main\?urlpath=([^\"]*)"
    (binder,) = re.findall(address, row)
    command, _, asked = unquote(binder).partition("?")
    assert command == "git-pull"
    assert parse_qs(asked) == {
        "repo": [REPOSITORY],
        "branch": ["launch"],
        "urlpath": ["lab/tree/attention.book/zh_CN/1.ipynb"],
    }
    published = json.loads(repository.published(notebook("1", INSTALL), "attnbook", ""))
    line = 'os.environ.setdefault("ATTNBOOK_LANGUAGE", "zh_CN")'
    assert published["cells"][1]["source"][-1] == line


@pytest.mark.parametrize(("theme", "size"), [(THEMES[0], DESK), (THEMES[1], PHONE)])
def test_the_buttons_look_right_and_axe_finds_nothing(
    html: Path, browser: Browser, theme: str, size: dict[str, int]
) -> None:
    with window(browser, color_scheme=theme, viewport=size) as context:
        opened = Opened(context, "book/appendix_sources.html", html.as_uri() + "/")
        opened.settle()
        assert not opened.wide()
        buttons = opened.page.locator(".launch a, .page-links a, .repository-button").all()
        assert len(buttons) == 6
        for button in buttons:
            box = button.bounding_box()
            assert box
            assert box["height"] >= 20
            assert 0 <= box["x"] <= size["width"] - box["width"]
        bar = opened.page.locator(".repository-button, .theme-switch-button").all()
        one, other = (button.bounding_box() for button in bar)
        assert one
        assert other
        assert round(one["y"]) == round(other["y"])
        assert opened.violations() == []
        assert opened.close() == []


@pytest.mark.usefixtures("book")
def test_without_the_variables_there_are_no_links() -> None:
    for address in PAGES:
        text = (HTML / address).read_text("utf8")
        assert [mark for mark in MARKS if mark in text] == []
    assert not (HTML / repository.NOTEBOOKS).exists()


def test_a_second_build_removes_the_addresses_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = """# A\n\n```{toctree}\n1\n```
:::{only} repository\n[here](repository:/x)\n:::
:::{only} not repository\nNothing here.\n:::\n"""
    pages = {"index.md": index, "1.ipynb": notebook("1", INSTALL)}
    templates = {"templates_path": [str(ROOT / "press" / "templates")]}
    out = tmp_path / "out"
    for name in repository.FORMS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ATTNBOOK_REPOSITORY", REPOSITORY)
    monkeypatch.setenv("ATTNBOOK_BRANCH", "a/b")
    build(tmp_path, pages, "translations repository storage safety", **templates)
    assert f"{REPOSITORY}/x" in addresses(out / "index.html")
    assert "Nothing here" not in (out / "index.html").read_text("utf8")
    binder = "https://mybinder.org/v2/gh/reader/attention.book/a%2Fb?urlpath=lab%2Ftree%2F1.ipynb"
    assert binder in addresses(out / "1.html")
    assert (out / repository.NOTEBOOKS / "1.ipynb").exists()
    monkeypatch.setenv("ATTNBOOK_REPOSITORY", "  ")  # a blank value counts as not set
    build(tmp_path, {}, "translations repository storage safety", **templates)
    texts = [(out / name).read_text("utf8") for name in ("index.html", "1.html")]
    assert not any(REPOSITORY in text for text in texts)
    assert "Nothing here" in texts[0]
    assert not (out / repository.NOTEBOOKS).exists()


@pytest.mark.parametrize(
    "typed",
    [
        "ATTNBOOK_REPOSITORY=http://github.com/owner/name",
        "ATTNBOOK_REPOSITORY=https://gitlab.com/owner/name",
        "ATTNBOOK_REPOSITORY=https://github.com/owner",
        "ATTNBOOK_REPOSITORY=https://github.com/owner/name/tree/main",
        "ATTNBOOK_BRANCH=--evil",
        "ATTNBOOK_BRANCH=two words",
        "ATTNBOOK_SITE=http://owner.github.io",
        'ATTNBOOK_SITE=https://owner.github.io/"onload',
    ],
)
def test_an_invalid_address_ends_the_build_with_one_line(
    monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    name, value = typed.split("=", 1)
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match=rf"\Aattention book: {name} is .*; it has to .*\Z"):
        repository.read_environment(Mock(), Mock())


def test_a_notebook_without_the_cell_that_installs_is_not_published() -> None:
    with pytest.raises(ValueError, match="lacks the cell"):
        repository.published(notebook("1", "import torch\n"), "attnbook", "")
