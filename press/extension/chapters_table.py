"""`:::{chapters}`: the table of all chapters, from _toc.yml and the chapters' first cells.

The links to the next and the previous page also state the minutes of a chapter, and each chapter
has its drawing beside its title. The primer is listed beside the chapters but read before them, so
its links lead to the front page and to chapter 1.
"""

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnbook.language import _
from manuscript.chapters import Chapter, chapters
from manuscript.common import ROOT, UserError
from manuscript.minutes import in_minutes

DRAWINGS = ROOT / "book" / "images" / "chapters"
PRIMER = "book/primer"
HEAD = ("", _("chapter, and the question it answers"), _("short road"), _("all of it"))


class Chapters(SphinxDirective):
    """List the chapters, each with its drawing, title, question and minutes."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(Path(self.env.srcdir, "_toc.yml")))
        try:
            found = chapters(Path(self.env.srcdir))
            drawings = [picture_of(chapter) for chapter in found]
        except UserError as error:
            raise self.error(str(error)) from None
        for source in (*(chapter.path for chapter in found), *drawings):
            self.env.note_dependency(str(source))
        lines = [row(*HEAD), "|--:|:--|--:|--:|", *map(row_of, found), sum_of(found)]
        box = nodes.container(classes=["chapters"])
        self.state.nested_parse(StringList(lines, source=self.env.docname), 0, box)
        return [box]


def row_of(chapter: Chapter) -> str:
    """A chapter's row in the table."""
    drawing = picture_of(chapter).read_text("utf-8").strip()
    link = f"[{chapter.number}. {chapter.short_title}]({chapter.path.name})"
    minutes = chapter.minutes, chapter.minutes + chapter.second_minutes
    return row(drawing, f"{link}<br>{chapter.question}", *map(in_minutes, minutes))


def picture_of(chapter: Chapter) -> Path:
    """The small drawing of a chapter, in the colors of the roles.

    Raises:  UserError if it is missing
    """
    path = DRAWINGS / f"{chapter.number:02}.svg"
    if not path.is_file():
        place = path.relative_to(ROOT).as_posix()
        raise UserError(f"chapter {chapter.number} needs a drawing, {place}")
    return path


def sum_of(found: list[Chapter]) -> str:
    """The last row: the sums of both columns in hours, without the exercises."""
    short = sum(chapter.minutes for chapter in found)
    all_of_it = short + sum(chapter.second_minutes for chapter in found)
    hours = (_("{hours:.1f}\xa0h").format(hours=count / 60) for count in (short, all_of_it))
    return row("", _("all chapters"), *hours)


def row(*cells: str) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def offer_minutes(app: Sphinx) -> None:
    """Let templates look up the minutes of a chapter from a link to it (None for other pages)."""
    if app.builder.format == "html":
        minutes = {c.path.stem: in_minutes(c.minutes) for c in chapters(Path(app.srcdir))}
        offered = app.builder.templates.environment.globals
        offered["minutes_of"] = lambda link: minutes.get(Path(link).stem)


def draw(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Put a chapter's drawing before its title, beside which it floats."""
    path = DRAWINGS / f"{page.rpartition('/')[2][:2]}.svg"
    if template == "page.html" and path.is_file():
        drawing = f'<div class="drawing">{path.read_text("utf-8").strip()}</div>'
        context["body"] = context["body"].replace("<h1>", f"{drawing}<h1>", 1)


def lead_on(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Let the primer's links lead to the front page and to chapter 1."""
    if page == PRIMER and app.builder.format == "html":
        first = f"book/{chapters(Path(app.srcdir))[0].path.stem}"
        for side, name in ("prev", app.config.root_doc), ("next", first):
            title = escape(app.env.titles[name].astext())
            context[side] = {"link": app.builder.get_relative_uri(page, name), "title": title}


def setup(app: Sphinx) -> None:
    """Register the directive, and offer the minutes to the templates."""
    app.add_directive("chapters", Chapters)
    app.connect("builder-inited", offer_minutes)
    app.connect("html-page-context", draw)
    app.connect("html-page-context", lead_on)
