"""Delete files of the theme and the extensions that no page needs."""

import shutil
from pathlib import Path

from sphinx.application import Sphinx

# Files in _build/html/_static. KaTeX's script is used while the book is built; no page loads it.
UNUSED = """
**/*.map **/*.LICENSE.txt **/README.md katex/katex.min.js scripts styles/theme.css vendor locales
images pygments.css design-tabs.js
minus.png plus.png searchtools.js language_data.js webpack-macros.html sbt-webpack-macros.html
""".split()


def delete(app: Sphinx, exception: Exception | None) -> None:
    """Delete the unused files."""
    for pattern in UNUSED:
        for path in Path(app.outdir, "_static").glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def setup(app: Sphinx) -> None:
    """Delete the files before `styles` looks for names in the remaining ones."""
    app.connect("build-finished", delete, priority=700)
