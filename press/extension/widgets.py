"""The scripts of interactive figures: press/static/widgets/NAME.js defines the element <NAME>.

A page loads the scripts of the elements that stand on it. A script holds its own style, in the
shadow of its element: the style sheet of the pages keeps only what their HTML names.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

SCRIPTS = Path(__file__).parents[1] / "static" / "widgets"


def load_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Add the script of each element that the page holds."""
    elements = set(re.findall(r"<([a-z]+-[a-z-]+)[ >]", context.get("body", "")))
    for path in sorted(SCRIPTS.glob("*.js")):
        if path.stem in elements:
            app.add_js_file(f"widgets/{path.name}", defer="defer")


def setup(app: Sphinx) -> None:
    """Look at each page before its scripts are written."""
    app.connect("html-page-context", load_scripts)
