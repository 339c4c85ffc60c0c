"""`:::{chapters}`: the table of all chapters, from _toc.yml and their first cells."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.chapters import Chapter, chapters
from tools.common import ROOT, UserError

HEAD = ("", "chapter, and the question it answers", "short road", "all of it")


class Chapters(SphinxDirective):
    """List each chapter: number, question, minutes of the short road and of all of it."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(ROOT / "_toc.yml"))
        try:
            found = chapters()
        except UserError as error:
            raise self.error(str(error)) from None
        for chapter in found:
            self.env.note_dependency(str(chapter.path))
        lines = [row(*HEAD), "|--:|:--|--:|--:|", *map(row_of, found), sum_of(found)]
        box = nodes.container(classes=["chapters"])
        self.state.nested_parse(StringList(lines, source=self.env.docname), 0, box)
        return [box]


def row_of(chapter: Chapter) -> str:
    """A chapter's row of the table."""
    link = f"[{chapter.short_title}]({chapter.path.name})"
    minutes = chapter.minutes, chapter.minutes + chapter.second_minutes
    times = (f"{count}\xa0min" for count in minutes)
    return row(str(chapter.number), f"{link}<br>{chapter.question}", *times)


def sum_of(found: list[Chapter]) -> str:
    """The last row: both sums in hours, without the exercises."""
    short = sum(chapter.minutes for chapter in found)
    all_of_it = short + sum(chapter.second_minutes for chapter in found)
    return row("", "", f"{short / 60:.1f}\xa0h", f"{all_of_it / 60:.1f}\xa0h")


def row(*cells: str) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("chapters", Chapters)
