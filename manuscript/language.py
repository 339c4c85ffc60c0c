"""The language of an edition, which ATTNBOOK_LANGUAGE names. By default, it is English.

The words of the tools and the pages are in the library's catalog (attnbook/language.py). This
module reads the catalog without importing the library, which needs PyTorch. It ignores the locale.
"""

import gettext
import os

from manuscript.common import ROOT

LANGUAGE = os.environ.get("ATTNBOOK_LANGUAGE", "en")
TRANSLATIONS = ROOT / "translations"  # a folder of catalogs for each other language
CATALOGS = ROOT / "src" / "attnbook" / "locale"
SOURCE = ROOT if LANGUAGE == "en" else ROOT / "_build" / LANGUAGE  # see tools/translate.py
HTML = ROOT / "_build" / "html" / ("" if LANGUAGE == "en" else LANGUAGE)  # see press/editions.py
ENDING = "" if LANGUAGE == "en" else f"-{LANGUAGE}"  # the names of downloads end with this
_ = gettext.translation("attnbook", CATALOGS, [LANGUAGE], fallback=True).gettext
