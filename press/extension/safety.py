"""What a page may do: use the book's own files, and send nothing anywhere.

The templates write `safety(...)` into each page, before everything that it governs. The browser
then runs only the scripts in the book's own files and the inline script whose digest is named. It
refuses to load anything else, or to connect or send data anywhere. Nor does it tell other sites
which page a reader came from.

tests/press/test_safety.py checks every page for what the browser would refuse silently.
"""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ALLOWED = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "style-src-attr": "'unsafe-inline'",  # formulas place their parts with style attributes
    "img-src": "'self' data:",
    "font-src": "'self'",
    "form-action": "'self' file:",  # the search; Firefox does not count a folder as 'self'
    "base-uri": "'none'",
}


def safety(*scripts: str) -> str:
    """The policy of a page as <meta> elements.

    scripts: the texts of the page's inline scripts, exactly as they are between their tags
    """
    digests = (hashlib.sha256(script.encode("utf8")).digest() for script in scripts)
    named = "".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    allowed = ALLOWED | {"script-src": ALLOWED["script-src"] + named}
    policy = "; ".join(f"{what} {where}" for what, where in allowed.items())
    return (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="referrer" content="no-referrer">'
    )


def rewrite_translations(app: Sphinx, exception: Exception | None) -> None:
    """Write Sphinx's translations.js anew: it makes a function from a text, which is refused."""
    path = Path(app.outdir, "_static", "translations.js")
    if (
        not exception
        and path.exists()
        and "Documentation.TRANSLATIONS" not in path.read_text("utf8")
    ):
        catalog = json.loads(path.read_text("utf8").partition("(")[2].rpartition(")")[0])
        words = json.dumps(catalog["messages"], ensure_ascii=False)
        path.write_text(
            f"Object.assign(Documentation.TRANSLATIONS, {words});\n"
            f"Documentation.PLURAL_EXPR = (n) => {catalog['plural_expr']};\n"
            f"Documentation.LOCALE = {json.dumps(catalog['locale'])};\n",
            "utf8",
        )


def offer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Provide `safety` to the templates."""
    context["safety"] = safety


def setup(app: Sphinx) -> None:
    """Provide it to each page as it is written."""
    app.connect("html-page-context", offer)
    app.connect("build-finished", rewrite_translations)
