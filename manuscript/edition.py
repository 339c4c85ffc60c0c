"""The edition that is made: its language, and where its files are."""

import os

from manuscript.common import ROOT

LANGUAGE = os.environ["ATTNBOOK_LANGUAGE"]  # English by default: see manuscript/__init__.py
TRANSLATIONS = ROOT / "translations"  # a folder of catalogs for each other language
SOURCE = ROOT if LANGUAGE == "en" else ROOT / "_build" / LANGUAGE  # see tools/translate.py
HTML = ROOT / "_build" / "html" / ("" if LANGUAGE == "en" else LANGUAGE)  # see press/editions.py
ENDING = "" if LANGUAGE == "en" else f"-{LANGUAGE}"  # the names of downloads end with this
