"""The Content Security Policy of a page: load only the book's own files, and send nothing.

The templates write `safety(...)` into each page, before everything that it governs. The browser
then runs only the scripts in the book's own files and the inline script whose digest is named. It
refuses to load anything else, or to connect or send data anywhere. It also never tells other
sites which page a reader came from.

tests/press/test_safety.py checks every page for anything that the browser would silently block.
"""

import base64
import hashlib
from typing import Any

from sphinx.application import Sphinx

ALLOWED = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "style-src-attr": "'unsafe-inline'",  # formulas place their parts with style attributes
    "img-src": "'self' data:",
    "font-src": "'self'",
    "form-action": "'self' file:",  # for search; in Firefox, 'self' does not cover file:
    "base-uri": "'none'",
}


def safety(*scripts: str) -> str:
    """The policy of a page as <meta> elements.

    scripts: the texts of the page's inline scripts, exactly as they appear between their tags
    """
    digests = (hashlib.sha256(script.encode("utf8")).digest() for script in scripts)
    named = "".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    allowed = ALLOWED | {"script-src": ALLOWED["script-src"] + named}
    policy = "; ".join(f"{what} {where}" for what, where in allowed.items())
    return (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="referrer" content="no-referrer">'
    )


def offer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Provide `safety` to the templates."""
    context["safety"] = safety


def setup(app: Sphinx) -> None:
    """Provide `safety` whenever a page is written."""
    app.connect("html-page-context", offer)
