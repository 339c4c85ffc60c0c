"""_static/licenses.txt: the license texts of the theme and the extensions."""

import importlib.metadata
from pathlib import Path

from sphinx.application import Sphinx

# The packages whose style sheets and scripts the pages use
PACKAGES = "sphinx pydata-sphinx-theme sphinx-book-theme sphinx-design myst-nb".split()


def write(app: Sphinx, exception: Exception | None) -> None:
    """Put the licenses of the packages beside the style sheet."""
    if exception or app.builder.format != "html":
        return
    texts = []
    for package in PACKAGES:
        files = importlib.metadata.files(package) or []
        file = next(f for f in files if ".dist-info/" in f.as_posix() and "LICENSE" in f.name)
        texts.append(f"{package}\n\n{file.read_text('utf8').strip()}\n")
    path = Path(app.outdir, "_static", "licenses.txt")
    path.write_text(f"\n{'-' * 80}\n".join(texts), encoding="utf8")


def setup(app: Sphinx) -> None:
    """Write the file after all pages are written."""
    app.connect("build-finished", write)
