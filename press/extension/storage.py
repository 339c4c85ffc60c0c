"""What a page stores in the reader's browser: the keys, all in one place.

The first script of each page (press/templates/layout.html) makes them known to the page's scripts
as STORED. Each key has a prefix, because all sites under one address, such as owner.github.io,
share what a browser stores.
"""

from typing import Any

from sphinx.application import Sphinx

KEYS = {
    "mode": "attnbook mode",  # light, dark or auto
    "answers": "attnbook answers",  # "shown" if the reader wants to see all answers to predictions
    "last": "attnbook last",  # the section visited last: its address and its heading
    "read": "attnbook read ",  # followed by the page of a chapter that was read to the end
    "solved": "attnbook solved ",  # followed by the id of an exercise that was solved on its page
}


def offer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Provide the keys to the templates."""
    context["stored"] = KEYS


def setup(app: Sphinx) -> None:
    """Provide the keys whenever a page is written."""
    app.connect("html-page-context", offer)
