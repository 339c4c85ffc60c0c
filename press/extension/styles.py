"""One style sheet for the whole site: the theme's rules that pages use, and all of the book's.

The theme and the extensions bring half a megabyte of CSS, mostly for components that the book does
not use. After the pages are written, _static/site.css takes its place. It begins with a cascade
layer of those rules whose classes and ids occur in some page or script. The book's own sheets
(press/static/css, in the order of `html_css_files` in _config.yml) follow in full, and then the
colors. The book's rules override the layer, however specific its selectors are. Class names that a
script constructs keep their style, because the book's own sheets are complete.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterable
from itertools import groupby, pairwise
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from tinycss2 import parse_component_value_list, parse_rule_list, parse_stylesheet, serialize
from tinycss2.ast import Node

from attnbook.colors import ROLES, variables

# The theme links these in a block that our template leaves out. (css/code.css colors the code.)
FIRST = [
    "_static/basic.css",
    "_static/styles/pydata-sphinx-theme.css",
    "_static/katex/katex.min.css",
]
NOT_USED = "_static/pygments.css"


def usable(selector: list[Node], names: set[str]) -> bool:
    """Whether all classes and ids in the selector are among the names.

    A part in parentheses or brackets, such as :not(.this) or [class*="that"], is a single token. It
    counts as satisfied.
    """
    pairs = pairwise([None, *selector])
    asked = {t.value for dot, t in pairs if t.type == "hash" or (t.type == "ident" and dot == ".")}
    return asked <= names


def prune(rules: Iterable[Node], names: set[str]) -> list[Node]:
    """Keep only the rules that can match something in pages with these classes and ids."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            parts = groupby(rule.prelude, lambda token: token == ",")
            selectors = [list(part) for comma, part in parts if not comma]
            used = [serialize(selector) for selector in selectors if usable(selector, names)]
            rule.prelude = parse_component_value_list(",".join(used))
            dead = not used
        elif rule.type == "at-rule" and rule.at_keyword in ("media", "supports"):
            rule.content = prune(parse_rule_list(rule.content), names)
            dead = not rule.content
        else:  # drops white space, @charset, and icons (css/icons.css has its own)
            dead = rule.type != "at-rule" or not rule.content or "Font Awesome" in rule.serialize()
        if not dead:
            kept.append(rule)
    return kept


def names_in(outdir: Path) -> set[str]:
    """Every class and id in the pages, and every word in the scripts, which may add classes."""
    names: set[str] = set()
    for page in outdir.rglob("*.html"):
        for value in re.findall(r'\b(?:class|id)="([^"]*)"', page.read_text(encoding="utf8")):
            names.update(value.split())
    for script in (outdir / "_static").rglob("*.js"):
        names.update(re.findall(r"[\w-]+", script.read_text(encoding="utf8")))
    return names


def colors() -> str:
    """CSS: the variables of all colors, and the classes that color a formula."""
    return variables() + "".join(f".role-{name}{{color:var(--role-{name})}}" for name in ROLES)


def join(app: Sphinx, exception: Exception | None) -> None:
    """Write _static/site.css, unless the build failed or found no page to write."""
    context = getattr(app.builder, "globalcontext", None)
    if exception or not context:
        return
    own = [f"_static/{file}" for file, _ in app.config.html_css_files]
    linked = [str(file.filename) for file in context["css_files"]]
    sheets = {}
    for file in FIRST + [file for file in linked if file != NOT_USED]:
        folder = posixpath.relpath(posixpath.dirname(file), "_static")
        css = Path(app.outdir, file).read_text("utf8")
        sheets[file] = re.sub(r"""url\((["']?)(?!["']|data:)""", rf"url(\1{folder}/", css)
        Path(app.outdir, file).unlink()
    theirs = "".join(css for file, css in sheets.items() if file not in own)
    # An !important rule in a layer would override ours and hide text from the browser's search.
    theirs = theirs.replace("[hidden]{", '[hidden]:not([hidden="until-found"]){')
    ours = "".join(sheets[file] for file in own)
    notices = "".join(re.findall(r"/\*!.*?\*/", theirs, re.DOTALL))  # their licenses
    rules = prune(parse_stylesheet(theirs, skip_comments=True), names_in(Path(app.outdir)))
    book = serialize(parse_component_value_list(ours, skip_comments=True))
    css = f"{notices}@layer theme {{{serialize(rules)}}}{book}{colors()}"
    Path(app.outdir, "_static", "site.css").write_text(css, encoding="utf8")


def digest(app: Sphinx, config: Config) -> None:
    """Tell Sphinx about changes in press/static, press/live, this extension or a color.

    By default, Sphinx only looks for changes in the texts. `site_digest` is a value for the
    templates: when it changes, Sphinx writes all pages again.
    """
    folders = [Path(app.confdir, path) for path in config.html_static_path]
    folders += [Path(__file__).parent, Path(__file__).parents[1] / "live"]
    files = sorted(file for folder in folders for file in folder.rglob("*.*") if file.is_file())
    contents = b"".join(file.read_bytes() for file in files if file.suffix != ".pyc")
    name = hashlib.sha256(contents + colors().encode()).hexdigest()[:8]
    config.html_context["site_digest"] = name


def setup(app: Sphinx) -> None:
    """Join the sheets after all pages are written."""
    app.connect("config-inited", digest)
    app.connect("build-finished", join, priority=800)
