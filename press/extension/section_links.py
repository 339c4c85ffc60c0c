"""Let a link such as `[6.3](06_masked_attention.ipynb)` lead to section 6.3, not to the page's top.

JupyterLab, VS Code and GitHub make different anchors for the same heading, or none. So an
author names the page and the number of the section, which every program shows, and the built page
links to the anchor. The ids of exercises in a table lead to their exercises.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

NUMBER = re.compile(r"(?:\d+|[A-Z])\.\d+(?= )")  # at the start of a heading
EXERCISE = re.compile(r"(\d\d)\.[a-z]\w*")  # 06.weights
NAMED = re.compile(r"(?:[Ss]ection |第 )?((?:\d+|[A-Z])\.\d+)(?: 节)?")  # the text of a link


def sections(env: BuildEnvironment) -> dict[str, tuple[str, str]]:
    """The page and the id of each numbered section."""
    found = {}
    for page, contents in env.tocs.items():
        for link in contents.findall(nodes.reference):
            if number := NUMBER.match(heading(link)):
                found[number[0]] = page, link["anchorname"][1:]
    return found


def heading(link: nodes.reference) -> str:
    """A heading in the contents, without the name of a part that begins there."""
    parts = {child.astext() for child in link.findall(nodes.inline) if "part" in child["classes"]}
    return "".join(child.astext() for child in link if child.astext() not in parts)


def exercise_anchor(exercise: str) -> str:
    """The anchor of an exercise's box: exercise-06-weights."""
    return re.sub(r"\W|_", "-", f"exercise-{exercise}")


def lead_to_exercises(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make a link of each cell of a table that has nothing but the id of an exercise."""
    chapters = {page.rpartition("/")[2][:2]: page for page in app.env.found_docs}
    for cell in doctree.findall(nodes.entry):
        for code in list(cell.findall(nodes.literal)):
            named = EXERCISE.fullmatch(code.astext())
            if not named or cell.astext() != code.astext():
                continue
            page = app.builder.get_relative_uri(docname, chapters[named[1]])
            link = nodes.reference("", "", internal=True)
            link["refuri"] = f"{page}#{exercise_anchor(code.astext())}"
            code.replace_self(link)
            link += code


def lead_to_sections(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Add the anchor of the section that a link names, if the link leads to that section's page."""
    numbered = sections(app.env)
    for link in doctree.findall(nodes.reference):
        name = NAMED.fullmatch(link.astext())
        page, anchor = numbered.get(name[1], ("", "")) if name else ("", "")
        if page and link.get("refuri") == app.builder.get_relative_uri(docname, page):
            link["refuri"] += f"#{anchor}"


def rewrite(app: Sphinx, env: BuildEnvironment) -> set[str]:
    """Write all pages again if a section's number or id has changed, since links may lead to it."""
    before, now = getattr(env, "numbered_sections", None), sections(env)
    env.numbered_sections = now  # type: ignore[attr-defined]
    return set(env.found_docs) if now != before else set()


def setup(app: Sphinx) -> None:
    """Change the links when pages are written."""
    app.connect("env-updated", rewrite)
    app.connect("doctree-resolved", lead_to_sections)
    app.connect("doctree-resolved", lead_to_exercises)
