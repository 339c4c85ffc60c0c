"""Put the colors of the roles into the drawings in book/images.

A page shows a drawing as a picture, which cannot use the variables of the page's style sheet. So
a drawing names a color as `var(--role-query-dark, skyblue)`, and the build replaces this with the
color. (The second name is a fallback for programs that open the drawing itself.)
"""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from attnbook.colors import ROLES

COLORS = {
    f"{name}-{kind}": color
    for name, role in ROLES.items()
    for kind, color in role._asdict().items()
}
VARIABLE = re.compile(r"var\(--role-([\w-]+)[^()]*\)")

logger = logging.getLogger(__name__)


def color(app: Sphinx, exception: Exception | None) -> None:
    """Replace the variables in all drawings that the pages show."""
    for drawing in Path(app.outdir).glob("_*/*.svg"):
        text = drawing.read_text(encoding="utf8")
        for name in sorted({*VARIABLE.findall(text)} - {*COLORS}):
            logger.warning("%s: --role-%s is not a color of a role", drawing.name, name)
        colored = VARIABLE.sub(lambda match: COLORS.get(match[1], match[0]), text)
        if colored != text:
            drawing.write_text(colored, encoding="utf8")


def setup(app: Sphinx) -> None:
    """Color the drawings after they have been copied."""
    app.connect("build-finished", color)
