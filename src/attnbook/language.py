"""The language of the library's messages (English, or that of a catalog), and Chinese characters.

ATTNBOOK_LANGUAGE names the language, such as zh_CN; if it is not set, the locale decides. A message
that a catalog lacks is shown in English. The catalogs are in translations/ as text, and setup.py
compiles them.
"""

import functools
import gettext
import os
from pathlib import Path

__all__ = ["HAN", "_", "ngettext"]

# The Chinese characters, for a class in a regular expression of Python or JavaScript. The three
# blocks are Extension A, the Unified Ideographs and the Compatibility Ideographs.
HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
DOMAIN = "attnbook"
FOLDER = Path(__file__).parent / "locale"


def _(message: str) -> str:
    """Return a message in the reader's language."""
    return catalog().gettext(message) if message else ""


def ngettext(one: str, many: str, n: int) -> str:
    """Return the form of a message for n things, in the reader's language."""
    return catalog().ngettext(one, many, n)


def catalog() -> gettext.NullTranslations:
    """Return the catalog of the current language (an empty one for English)."""
    return catalog_of(os.environ.get("ATTNBOOK_LANGUAGE", ""))


@functools.cache
def catalog_of(language: str) -> gettext.NullTranslations:
    """Return the catalog of a language, or of the locale if none is named."""
    languages = [language] if language else None
    return gettext.translation(DOMAIN, FOLDER, languages, fallback=True)
