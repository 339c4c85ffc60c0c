"""Give a translated page the anchors of the English one, so that links work in both editions.

An anchor is made from the words of a heading. tools/translate.py writes headings.json, which has
the English heading for each translated one. A translated heading gets the id of the English one,
and links to the heading use the English name (`how_to_use.md#run`).
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.nodes import make_id
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

from manuscript.edition import LANGUAGE

HEADING = re.compile(r"^#{1,4} (.+)$", re.M)
FENCED = re.compile(r"(^ *(`{3,}|:{3,}).*?^ *\2 *$)", re.M | re.S)
FORMULA, MARK = re.compile(r"\$[^$]*\$"), re.compile(r"[`*$]")

english: dict[str, dict[str, str]] = {}  # by page: each translated heading, with the English one
reading: dict[str, str] = {}  # the same for the page being read, without markup


def load(app: Sphinx, config: Config) -> None:
    """Read the headings.json of a translated book."""
    if LANGUAGE != "en":
        english.update(json.loads(Path(app.srcdir, "headings.json").read_text("utf-8")))
        config.myst_heading_slug_func = "press.extension.anchors.slug"


def name_headings(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write the id of each heading above it."""
    headings = english.get(docname.rpartition("/")[2], {})
    reading.clear()
    for own, other in headings.items():
        reading[without(MARK, own)] = without(MARK, other)
        # Links name a heading by its words, without formulas.
        reading[without(MARK, without(FORMULA, own))] = without(MARK, without(FORMULA, other))
    if headings and app.env.doc2path(docname).endswith(".ipynb"):
        notebook = json.loads(source[0])
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = named("".join(cell["source"]))
        source[0] = json.dumps(notebook)
    elif headings:
        source[0] = named(source[0])


def named(text: str) -> str:
    """Return a text with each heading's id above the heading."""
    parts = FENCED.split(text)  # text, fenced block, fence, and so on
    for i in range(0, len(parts), 3):
        parts[i] = HEADING.sub(with_id, parts[i])
    return "".join(part for i, part in enumerate(parts) if i % 3 < 2)


def with_id(heading: re.Match[str]) -> str:
    """Return a heading with its id above it."""
    return f"{{#{make_id(reading[without(MARK, heading[1])])}}}\n{heading[0]}"


def without(what: re.Pattern[str], heading: str) -> str:
    """Return a heading without its markup, or without its formulas."""
    return what.sub("", heading).strip()


def slug(title: str) -> str:
    """The name by which links refer to a heading: that of the English heading."""
    return default_slugify(reading.get(title.strip(), title))


class ForgetLabels(SphinxTransform):
    """Prevent Sphinx from making labels from the ids, since other pages have the same ids."""

    default_priority = 840  # before Sphinx collects the labels

    def apply(self, **options: Any) -> None:
        if self.env.docname.rpartition("/")[2] in english:
            for section in self.document.findall(nodes.section):
                self.document.nametypes[section["ids"][0]] = False


def setup(app: Sphinx) -> None:
    """Write the ids after to_directives.py has changed a notebook."""
    app.connect("config-inited", load, priority=100)
    app.connect("source-read", name_headings, priority=600)
    app.add_transform(ForgetLabels)
