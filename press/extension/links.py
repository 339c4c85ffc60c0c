"""Links to the repository, to Colab and Binder, and the notebooks to download.

Their addresses come from the environment when the book is built, so that a fork gets its own and
the book at hand names no machine:

ATTNBOOK_REPOSITORY   such as https://github.com/owner/name; without it there is no such link
ATTNBOOK_BRANCH       the branch or tag that they name; main if it is not set
ATTNBOOK_SITE         where the pages are published; each page then says its own address there

A reader elsewhere has no package. So the notebooks to download, which also make up the branch that
Colab opens, name this very commit of the repository in the cell that installs it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sphinx.application import Sphinx
from sphinx.config import Config

NOTEBOOKS = "notebooks"  # the folder of the copies, in the built book
LAUNCH_BRANCH = "launch"  # .github/workflows/book.yml pushes that folder as this branch
SOURCE = re.compile(r"^SOURCE = .*$", re.M)  # the line of tools/rules.INSTALL to fill in


def repository(address: str) -> str:
    """The address of a GitHub repository, without what may trail it; empty if there is none.

    Raises:  ValueError if it is another kind of address: Colab and Binder know GitHub's
    """
    address = address.strip()
    match = re.fullmatch(r"(https://github\.com/[\w.-]+/[\w.-]+?)(?:\.git)?/*", address)
    if address and not match:
        raise ValueError(
            f"ATTNBOOK_REPOSITORY is {address!r}; it has to be the address of a repository such "
            "as https://github.com/owner/name, or unset for a book without links to one"
        )
    return match[1] if match else ""


def branch(name: str) -> str:
    """The branch or tag that links name.

    Raises:  ValueError if it cannot be the name of one
    """
    name = name.strip() or "main"
    if not re.fullmatch(r"\w[\w./+-]*", name):
        raise ValueError(f"ATTNBOOK_BRANCH is {name!r}; it has to be a branch or a tag")
    return name


def site(address: str) -> str:
    """The address of the published pages, with one slash at its end; empty if there is none.

    Raises:  ValueError if it is not a plain https address
    """
    address = address.strip().rstrip("/")
    if address and not re.fullmatch(r"https://[\w.-]+(:\d+)?(/[\w.~%-]+)*", address):
        raise ValueError(
            f"ATTNBOOK_SITE is {address!r}; it has to be the address of the published pages, such "
            "as https://owner.github.io/name, or unset"
        )
    return address + "/" if address else ""


def read_environment(app: Sphinx, config: Config) -> None:
    """Take the addresses in; `only` and the links of pages get theirs, and so do templates."""
    try:
        config.repository = repository(os.environ.get("ATTNBOOK_REPOSITORY", ""))
        config.branch = branch(os.environ.get("ATTNBOOK_BRANCH", ""))
        config.html_baseurl = site(os.environ.get("ATTNBOOK_SITE", ""))
    except ValueError as error:
        sys.exit(f"attention book: {error}")  # one line, where an exception would be a hundred
    # [the PDF](repository:/releases/...) in a page, inside :::{only} repository
    plain = dict.fromkeys(config.myst_url_schemes)
    config.myst_url_schemes = {**plain, "repository": config.repository + "{{path}}"}
    if config.repository:
        app.tags.add("repository")
        config.html_theme_options |= {
            "article_header_end": ["repository-button.html", "article-header-buttons.html"],
            "article_footer_items": ["page-links.html"],
        }


def page_links(repository: str, branch: str, source: str, title: str) -> dict[str, str]:
    """The addresses that the templates of a page need, by name; `source` lies in book/."""
    name = Path(source).name
    there = f"{quote(branch)}/{quote(source)}"
    project = repository.removeprefix("https://github.com/")
    links = {
        "repository": repository,
        "report": f"{repository}/issues/new?title={quote(f'{title} ({name}): ', safe='')}",
        "source": f"{repository}/blob/{there}",
    }
    if name.endswith(".ipynb"):
        colab, binder = "https://colab.research.google.com/github", "https://mybinder.org/v2/gh"
        path = quote(f"lab/tree/{source}", safe="")
        links["colab"] = f"{colab}/{project}/blob/{LAUNCH_BRANCH}/{quote(name)}"
        links["binder"] = f"{binder}/{project}/{quote(branch, safe='')}?urlpath={path}"
        links["notebook"] = f"{NOTEBOOKS}/{quote(name)}"
    else:  # GitHub's editor shows a notebook as it lies in the file
        links["edit"] = f"{repository}/edit/{there}"
    return links


def to_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the templates their links, and put those that launch a notebook under its title."""
    if not app.config.repository:
        return
    context["links"] = {"repository": app.config.repository}
    if doctree is None:
        return  # a page without a source, such as the search
    source = app.env.doc2path(page, base=False)
    title = re.sub(r"<[^>]*>", "", context["title"])
    context["links"] = page_links(app.config.repository, app.config.branch, str(source), title)
    if "colab" in context["links"]:
        row = app.builder.templates.render("launch.html", context)
        context["body"] = context["body"].replace("</h1>", f"</h1>\n{row}", 1)


def published(notebook: str, source: str) -> str:
    """The text of a notebook whose first code cell installs the package from `source`."""
    content = json.loads(notebook)
    install = next(cell for cell in content["cells"] if cell["cell_type"] == "code")
    text, found = SOURCE.subn(lambda _: f"SOURCE = {source!r}", "".join(install["source"]))
    if found != 1:
        raise ValueError("a notebook lacks the cell that installs the package: make check")
    install["source"] = text.splitlines(keepends=True)
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Write the notebooks to download beside the pages; without a repository there are none."""
    folder = Path(app.outdir, NOTEBOOKS)
    if exception or app.builder.format != "html":
        return
    shutil.rmtree(folder, ignore_errors=True)
    if not app.config.repository:
        return
    folder.mkdir()
    head = ["git", "-C", str(app.srcdir), "rev-parse", "--verify", "HEAD"]
    try:
        commit = subprocess.run(head, capture_output=True, text=True).stdout.strip()
    except OSError:  # there is no git
        commit = ""
    source = f"attnbook @ git+{app.config.repository}@{commit or app.config.branch}"
    for page in app.env.found_docs:
        path = Path(app.env.doc2path(page))
        if path.suffix == ".ipynb":
            text = published(path.read_text("utf-8"), source)
            (folder / path.name).write_text(text, encoding="utf-8", newline="\n")


def setup(app: Sphinx) -> None:
    """Read the environment first; as configuration values, its changes rewrite all pages."""
    app.add_config_value("repository", "", "env")
    app.add_config_value("branch", "", "html")
    app.connect("config-inited", read_environment)
    app.connect("html-page-context", to_page)
    app.connect("build-finished", write_notebooks)
