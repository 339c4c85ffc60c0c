"""What a page may do: use the book's own files, and send nothing anywhere.

The templates write `safety(...)` into each page, before everything that it governs. A browser that
has read it runs no script but those in the book's own files and the inline one whose digest is
named, and it refuses whatever else a page could load, connect to or hand over. It also tells no
site from which page a reader came.

tests/press/test_safety.py looks at every page for what the browser would refuse in silence.
"""

import base64
import hashlib
from typing import Any

from sphinx.application import Sphinx

ALLOWED = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "style-src-attr": "'unsafe-inline'",  # formulas place each of their parts with one
    "img-src": "'self' data:",
    "font-src": "'self'",
    "form-action": "'self' file:",  # the search; in a folder Firefox does not count it as 'self'
    "base-uri": "'none'",
}


def safety(*scripts: str) -> str:
    """The policy of a page as <meta> elements.

    scripts: the texts of the page's inline scripts, exactly as they stand between their tags
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
    """Offer `safety` to the templates."""
    context["safety"] = safety


def setup(app: Sphinx) -> None:
    """Reach each page as it is written."""
    app.connect("html-page-context", offer)
