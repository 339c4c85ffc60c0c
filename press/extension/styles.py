"""One style sheet for the whole site, holding only the rules that its pages can use.

The theme and the extensions bring half a megabyte of CSS in nine files, most of it for components
that a book has no use for. After the pages are written, this part joins the files in their order,
drops every rule that names a class or an id that stands in no page and in no script, and writes
_static/site.css, which press/templates/layout.html links. It ends with the colours of the roles as
CSS variables, taken from `attnbook.colours`. Beside it lies _static/licences.txt: what those who
wrote the theme, the extensions and their parts ask to have passed on.

Sphinx would overlook a change of press/static, of this extension or of a colour, as long as no text
changed. A digest of them among the configuration values makes it write the pages again.
"""

import hashlib
import importlib.metadata
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from attnbook.colours import ROLES

FIRST = [
    "_static/basic.css",  # the theme links these two in a block that our template leaves out
    "_static/styles/pydata-sphinx-theme.css",
    "_static/katex/katex.min.css",
]
BRACKETS = r"\((?:[^()]|\([^()]*\))*\)"
SELECTOR = re.compile(rf"(?:[^,(]|{BRACKETS})+")
NOT_USED = {"_static/pygments.css"}  # book.css has the colours of code
# Whose style sheets and scripts the pages have
PACKAGES = (
    "sphinx pydata-sphinx-theme sphinx-book-theme sphinx-copybutton sphinx-design myst-nb".split()
)
NESTED = ("@media", "@supports", "@layer")  # blocks that hold rules


def rules(css: str) -> Iterator[tuple[str, str]]:
    """The rules of a style sheet without comments: what stands before the braces, and in them."""
    depth = start = opened = 0
    for match in re.finditer(r"\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'|[{};]", css):
        if match[0] == "{":
            opened = match.start() if depth == 0 else opened
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                yield css[start:opened].strip(), css[opened + 1 : match.start()]
                start = match.end()
        elif match[0] == ";" and depth == 0:  # @charset and @import: the files are joined here
            start = match.end()


def usable(selector: str, names: set[str]) -> bool:
    """Whether all classes and ids that the selector asks for are among the names.

    What stands in brackets, as in :not(.this) or [class*="that"], is taken as given.
    """
    plain = re.sub(rf"{BRACKETS}|\[[^\]]*\]", "", selector)
    return all(name.replace("\\", "") in names for name in re.findall(r"[.#]([\w\\-]+)", plain))


def trim(css: str, names: set[str]) -> str:
    """The style sheet without the rules that cannot match anything."""
    kept = []
    for head, body in rules(css):
        if head.startswith(NESTED):
            body = trim(body, names)
        elif head.startswith("@font-face"):
            body = "" if "Font Awesome" in body else body
        elif not head.startswith("@"):
            head = ",".join(s.strip() for s in SELECTOR.findall(head) if usable(s, names))
        if head and body.strip():
            kept.append(f"{head}{{{body.strip()}}}")
    return "\n".join(kept)


def rebased(css: str, folder: str) -> str:
    """The style sheet with its relative addresses counted from _static instead of `folder`."""
    return re.sub(
        r"url\((?!['\"]?data:)['\"]?([^)'\"]+)['\"]?\)",
        lambda m: f"url({posixpath.relpath(posixpath.join(folder, m[1]), '_static')})",
        css,
    )


def names_in(outdir: Path) -> set[str]:
    """Every class and id in the pages, and every word in the scripts, which may add classes."""
    names: set[str] = set()
    for page in outdir.rglob("*.html"):
        for value in re.findall(r'\b(?:class|id)="([^"]*)"', page.read_text(encoding="utf8")):
            names.update(value.split())
    for script in (outdir / "_static").rglob("*.js"):
        names.update(re.findall(r"[\w-]+", script.read_text(encoding="utf8")))
    return names


def role_styles() -> str:
    """CSS: --role-NAME for text in the theme at hand, --role-NAME-fill for areas, .role-NAME."""
    light = "".join(f"--role-{n}:{r.light};--role-{n}-fill:{r.fill};" for n, r in ROLES.items())
    dark = "".join(f"--role-{n}:{r.dark};" for n, r in ROLES.items())
    classes = "".join(f".role-{n}{{color:var(--role-{n})}}" for n in ROLES)
    return f':root{{{light}}}html[data-theme="dark"]{{{dark}}}{classes}'


def licences(notices: list[str]) -> str:
    """The notices, each once, and the licences of the packages."""
    texts = []
    for package in PACKAGES:
        files = importlib.metadata.files(package) or []
        file = next(f for f in files if ".dist-info/" in f.as_posix() and "LICENSE" in f.name)
        texts.append(f"{package}\n\n{file.read_text('utf8').strip()}\n")
    return f"\n{'-' * 80}\n".join([*dict.fromkeys(notices), *texts])


class SiteStyles:
    """The style sheets that the pages name, and the one that takes their place."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def collect(
        self, app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
    ) -> None:
        """Note the style sheets that Sphinx would link, and link none of them."""
        linked = (str(file.filename) for file in context["css_files"])
        self.files = FIRST + [file for file in linked if file not in NOT_USED]
        context["css_files"] = []
        context["site_digest"] = app.config.site_digest

    def join(self, app: Sphinx, exception: Exception | None) -> None:
        """Put _static/site.css in their place, unless the build failed or found nothing to do."""
        if exception or not self.files:
            return
        outdir = Path(app.outdir)
        names = names_in(outdir)
        parts = []
        notices = []
        for file in self.files:
            css = (outdir / file).read_text(encoding="utf8")
            notices += re.findall(r"/\*!.*?\*/", css, flags=re.DOTALL)
            css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
            parts.append(rebased(trim(css, names), posixpath.dirname(file)))
            (outdir / file).unlink()
        parts.append(role_styles())
        (outdir / "_static" / "site.css").write_text("\n".join(parts), encoding="utf8")
        (outdir / "_static" / "licences.txt").write_text(licences(notices), encoding="utf8")


def digest(app: Sphinx, config: Config) -> None:
    """Let `site_digest` stand for press/static, this extension and the colours of the roles."""
    folders = [Path(app.confdir, path) for path in config.html_static_path]
    folders.append(Path(__file__).parent)
    files = sorted(file for folder in folders for file in folder.rglob("*.*") if file.is_file())
    contents = b"".join(file.read_bytes() for file in files if file.suffix != ".pyc")
    config.site_digest = hashlib.sha256(contents + role_styles().encode()).hexdigest()[:8]


def setup(app: Sphinx) -> None:
    """Collect late, after every extension has named its files; join when all pages are written."""
    styles = SiteStyles()
    app.add_config_value("site_digest", "", "html")
    app.connect("config-inited", digest)
    app.connect("html-page-context", styles.collect, priority=900)
    app.connect("build-finished", styles.join, priority=800)
