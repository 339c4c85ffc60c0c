"""Compile the catalogs of the library's messages, then build the package as in pyproject.toml.

pip and uv run this file, for the environment, for a wheel, and to install the package from git. In
a checkout, manuscript/__init__.py also calls `compile_catalogs`, for catalogs edited since then.
"""

import os
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def compile_catalogs(root: Path = ROOT) -> None:
    """Compile each catalog that is newer than its compiled form, without its fuzzy messages.

    An archive of the sources has no catalogs, only the compiled ones.
    """
    for path in (root / "translations").glob("*/attnbook.po"):
        language = path.parent.name
        compiled = root / "src/attnbook/locale" / language / "LC_MESSAGES/attnbook.mo"
        if compiled.exists() and compiled.stat().st_mtime > path.stat().st_mtime:
            continue
        from babel.messages.mofile import write_mo
        from babel.messages.pofile import read_po

        content = BytesIO()
        with path.open("rb") as file:
            write_mo(content, read_po(file, locale=language))
        compiled.parent.mkdir(parents=True, exist_ok=True)
        unfinished = compiled.with_suffix(f".{os.getpid()}")  # other processes may be reading
        unfinished.write_bytes(content.getvalue())
        unfinished.replace(compiled)


if __name__ == "__main__":
    from setuptools import setup

    compile_catalogs()
    setup()
