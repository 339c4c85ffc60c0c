r"""Formulas as HTML and MathML, made by KaTeX while the book is built.

KaTeX runs in V8 (mini-racer), so neither Node nor a script in the reader's browser is needed. The
HTML is visible, and the MathML is for screen readers. A formula that KaTeX cannot read causes a
warning with its location, which `-W` turns into an error.

Authors color a part of a formula by naming its role, `\textcolor{query}{Q}`. Here the roles become
the classes role-query, role-key, role-value and role-weights, which have one color on light pages
and another on dark ones. Any other name causes a warning, because a fixed color would be unreadable
in one of the themes. JupyterLab and VS Code have no color named `query`, so the formula keeps the
color of the text. Readers' copies contain colors instead of the names (manuscript/readers_copy.py).
"""

import functools
import html
import json
import re
from pathlib import Path

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from attnbook.colors import ROLES

KATEX = Path(__file__).parents[1] / "static" / "katex" / "katex.min.js"

# Anything that LaTeX would reject is an error, and so is a line break that LaTeX would ignore.
# \htmlClass is allowed for the classes of the roles.
RENDER = r"""
let ignored = false;
const strict = (code) => {
  ignored ||= code === "newLineInDisplayMode";
  return code === "htmlExtension" ? "ignore" : "error";
};
const trust = (context) => context.command === "\\htmlClass";
const render = (tex, displayMode) => {
  ignored = false;
  const page = katex.renderToString(tex, { displayMode, strict, trust });
  if (ignored) throw new katex.ParseError("\\\\ breaks no line here; it needs \\begin{aligned}");
  return page;
};
"""

# A browser may break the line between a formula and the comma after it, English or Chinese. A
# formula is kept together with its punctuation; a long one is able to break inside.
BEFORE = re.compile(r"[(\[“‘（《]+$")
AFTER = re.compile(r"^[,.;:?!)\]”’，。、；：？！）》]+")

logger = logging.getLogger(__name__)


class FormulaError(ValueError):
    """A formula that cannot be typeset; the message says why and where."""


@functools.cache
def _engine() -> MiniRacer:
    engine = MiniRacer()
    engine.eval(KATEX.read_text(encoding="utf8"))
    engine.eval(RENDER)
    return engine


def _role_class(match: re.Match[str]) -> str:
    if match[1] not in ROLES:
        raise FormulaError(f"the color {match[1]} is not the name of a role ({', '.join(ROLES)})")
    return rf"\htmlClass{{role-{match[1]}}}"


@functools.cache
def render(tex: str, display: bool = False) -> str:
    """The HTML of one formula.

    Raises:  FormulaError if KaTeX cannot read the formula, or if a color in it is not a role
    """
    tex = re.sub(r"\\(?:textcolor|color)\s*\{([^}]*)\}", _role_class, tex)
    try:
        page = _engine().eval(f"render({json.dumps(tex)}, {json.dumps(display)})")
    except JSEvalException as error:
        reason = re.search(r"KaTeX parse error: .*", str(error))
        raise FormulaError(reason[0] if reason else str(error)) from None
    # The LaTeX source takes up a third of the MathML, and nothing reads it.
    return re.sub(r"<annotation.*?</annotation>", "", str(page), flags=re.DOTALL)


def _render_node(node: nodes.math | nodes.math_block, display: bool) -> str:
    try:
        return render(node.astext().strip(), display)
    except FormulaError as error:
        logger.warning("%s in formula: %s", error, node.astext(), location=node, type="formula")
        return f"<code>{html.escape(node.astext())}</code>"


def take_punctuation(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Move the punctuation that touches a formula in a line of text into the formula's node."""
    for node in doctree.findall(nodes.math):
        place = node.parent.index(node)
        for step, pattern in ((-1, BEFORE), (1, AFTER)):
            beside = node.parent[place + step] if 0 <= place + step < len(node.parent) else None
            if isinstance(beside, nodes.Text) and (match := pattern.search(beside)):
                node["before" if step < 0 else "after"] = match[0]
                node.parent[place + step] = nodes.Text(pattern.sub("", beside))


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text, together with the punctuation that touches it."""
    before, after = (html.escape(node.get(side, "")) for side in ("before", "after"))
    formula = _render_node(node, display=False)
    together = bool(before or after)
    self.body.append('<span class="together">' * together + before)
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    self.body.append(formula + "</span>" + after + "</span>" * together)
    raise nodes.SkipNode


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on its own line, without a number."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    self.body.append(_render_node(node, display=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer that `html_math_renderer: katex` in _config.yml names."""
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_display, None))
    app.connect("doctree-resolved", take_punctuation)
