"""The language of the library's messages (English, or that of a catalog), and Chinese characters.

ATTNBOOK_LANGUAGE names the language, such as zh_CN; if it is not set, the locale decides. A message
that a catalog lacks is shown in English. The catalogs are in translations/ as text, and setup.py
compiles them.
"""

import functools
import gettext
import os
import re
from pathlib import Path
from typing import Any

__all__ = ["HAN", "NAMES", "_", "as_message", "in_language", "named", "ngettext"]

# The Chinese characters, for a class in a regular expression of Python or JavaScript. The three
# blocks are Extension A, the Unified Ideographs and the Compatibility Ideographs.
HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
NAMES = {  # the keys of an interactive figure's data whose texts a reader sees
    *("columns", "contents", "labels", "layers", "name", "parts", "says", "titles", "topics")
}
NUMBER = re.compile(r"\d+(?:\.\d+)?")
DOMAIN = "attnbook"
FOLDER = Path(__file__).parent / "locale"


def _(message: str) -> str:
    """Return a message in the reader's language."""
    return catalog().gettext(message) if message else ""


def ngettext(one: str, many: str, n: int) -> str:
    """Return the form of a message for n things, in the reader's language."""
    return catalog().ngettext(one, many, n)


def as_message(label: str) -> str:
    """Return the message of a figure's label: "head {}" for "head 0" and for "head 1"."""
    return NUMBER.sub("{}", label.strip(" "))


def in_language(label: str) -> str:
    """Return a figure's label in the reader's language, with its numbers and outer spaces."""
    message = as_message(label)
    if not message or (found := _(message)) == message:
        return label
    numbers = iter(NUMBER.findall(label))
    return label.replace(label.strip(" "), re.sub(r"\{\}", lambda _: next(numbers), found))


def named(data: Any, key: str = "") -> Any:
    """Return the data of an interactive figure with its names in the reader's language."""
    if isinstance(data, dict):
        return {key: named(value, key) for key, value in data.items()}
    if isinstance(data, list):
        return [named(value, key) for value in data]
    return in_language(data) if key in NAMES and isinstance(data, str) else data


def catalog() -> gettext.NullTranslations:
    """Return the catalog of the current language (an empty one for English)."""
    return catalog_of(os.environ.get("ATTNBOOK_LANGUAGE", ""))


@functools.cache
def catalog_of(language: str) -> gettext.NullTranslations:
    """Return the catalog of a language, or of the locale if none is named."""
    languages = [language] if language else None
    return gettext.translation(DOMAIN, FOLDER, languages, fallback=True)
