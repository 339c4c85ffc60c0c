"""Links to the repository, to Colab and Binder, and the notebooks to download.

The addresses come from environment variables when the book is built, so that a fork links to itself
and no address is hard-coded:

ATTNBOOK_REPOSITORY   such as https://github.com/owner/name; without it there are no such links
ATTNBOOK_BRANCH       the branch or tag that the links name; main if it is not set
ATTNBOOK_SITE         where the pages are published; each page then states its canonical URL

The templates in press/templates make the links of a page from these addresses. (The theme's own
buttons need its scripts, and its launch buttons use the same branch for Colab and Binder.)

A downloaded notebook has no package and no other pages beside it. So the notebooks to download,
which also make up the branch that Colab opens, install the package from this commit of the
repository, and link to other pages by their full addresses. Otherwise they are the same as the
reader's copies in my/.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.writers.html5 import HTML5Translator

from manuscript.edition import LANGUAGE
from manuscript.normal_form import text_of
from manuscript.readers_copy import for_readers

NOTEBOOKS = "notebooks"  # the folder of the downloadable notebooks in the built book
LAUNCH_BRANCH = "launch"  # .ci/launch pushes that folder to this branch
SOURCE = re.compile(r"^SOURCE = .*$", re.M)  # the line of normal_form.INSTALL to fill in
PAGE = re.compile(r"(?<=\]\()(\w+)\.md\b")  # a link to a page that is not a notebook

FORMS = {  # for each variable: the form of its value, without an optional ending, and an example
    "ATTNBOOK_REPOSITORY": (  # on GitHub, where Colab and Binder can open it
        r"(https://github\.com/[\w.-]+/[\w.-]+?)(?:\.git)?/*",
        "https://github.com/owner/name",
    ),
    "ATTNBOOK_BRANCH": (r"(\w[\w./+-]*)", "main"),
    "ATTNBOOK_SITE": (
        r"(https://[\w.-]+(?::\d+)?(?:/[\w.~%-]+)*)/*",
        "https://owner.github.io/name",
    ),
}


def setting(name: str) -> str:
    """The value of a variable, without an optional ending; empty if the variable is not set.

    Raises:  ValueError if the value has a different form
    """
    form, example = FORMS[name]
    value = os.environ.get(name, "").strip()
    match = re.fullmatch(form, value)
    if value and not match:
        raise ValueError(f"{name} is {value!r}; it has to look like {example}, or be unset")
    return match[1] if match else ""


def read_environment(app: Sphinx, config: Config) -> None:
    """Give the addresses to the templates, to the directive `only` and to the links in pages."""
    try:
        repository, branch, site = map(setting, FORMS)
    except ValueError as error:
        sys.exit(f"attention book: {error}")  # one line; a traceback would have a hundred
    edition = "" if LANGUAGE == "en" else f"{LANGUAGE}/"  # its folder, as in press/editions.py
    config.html_baseurl = f"{site}/{edition}" if site else ""
    config.html_context |= {
        "repository": repository,
        "branch": branch or "main",
        "version": importlib.metadata.version("attnbook"),
        "launch": {"branch": LAUNCH_BRANCH, "folder": NOTEBOOKS, "edition": edition},
    }
    # Pages use links such as [the PDF](repository:/releases/...) inside :::{only} repository.
    plain = dict.fromkeys(config.myst_url_schemes)
    config.myst_url_schemes = {**plain, "repository": repository + "{{path}}"}
    if repository:
        app.tags.add("repository")
        config.html_theme_options |= {
            "article_header_end": [
                "language-switch.html",
                "repository-button.html",
                "article-header-buttons.html",
            ],
            "article_footer_items": ["page-links.html"],
        }


class LaunchRow(nodes.General, nodes.Element):
    """The links under a notebook's title that open it elsewhere. The search ignores them."""


def insert_row(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the row of links under the title of a notebook."""
    source = app.env.doc2path(docname, base=False)
    title = doctree.next_node(nodes.title)
    if app.config.html_context["repository"] and str(source).endswith(".ipynb") and title:
        title.parent.insert(1, LaunchRow(source=str(source)))


def visit_row(self: HTML5Translator, node: LaunchRow) -> None:
    """Write the row of links from its template."""
    context = self.config.html_context | {"source": node["source"]}
    self.body.append(self.builder.templates.render("launch.html", context))
    raise nodes.SkipNode


def published(text: str, source: str, address: str) -> str:
    """Prepare a notebook for use elsewhere: its first code cell installs from `source`.

    In a translation, that cell also names the language. `address` is the address of a page, with
    `{}` for the page's name.
    """
    notebook = nbformat.reads(text, as_version=4)
    install = next(cell for cell in notebook.cells if cell.cell_type == "code")
    install.source, found = SOURCE.subn(lambda _: f"SOURCE = {source!r}", install.source)
    if found != 1:
        raise ValueError("a notebook lacks the cell that installs the package: run make check")
    if LANGUAGE != "en":
        install.source += f'\nimport os\nos.environ.setdefault("ATTNBOOK_LANGUAGE", "{LANGUAGE}")'
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = PAGE.sub(lambda link: address.format(link[1]), cell.source)
    for_readers(notebook)
    return text_of(notebook)


def write_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Write the downloadable notebooks into their folder, if a repository is named."""
    folder = Path(app.outdir, NOTEBOOKS)
    if exception or app.builder.format != "html":
        return
    shutil.rmtree(folder, ignore_errors=True)
    repository, branch = (app.config.html_context[name] for name in ("repository", "branch"))
    if not repository:
        return
    folder.mkdir()
    head = ["git", "-C", str(app.srcdir), "rev-parse", "--verify", "HEAD"]
    try:
        commit = subprocess.run(head, capture_output=True, text=True).stdout.strip()
    except OSError:  # no git
        commit = ""
    source = f"attnbook @ git+{repository}@{commit or branch}"
    address = f"{repository}/blob/{branch}/book/{{}}.md"
    if site := app.config.html_baseurl:
        address = f"{site}book/{{}}.html"
    for path in map(Path, map(app.env.doc2path, app.env.found_docs)):
        if path.suffix == ".ipynb":
            text = published(path.read_text("utf-8"), source, address)
            (folder / path.name).write_text(text, encoding="utf-8", newline="\n")


def setup(app: Sphinx) -> None:
    """Read the environment before anything else needs it."""
    app.connect("config-inited", read_environment)
    app.add_node(LaunchRow, html=(visit_row, None))
    app.connect("doctree-resolved", insert_row)
    app.connect("build-finished", write_notebooks)
