"""The model of the pages, which the press (press/) and the commands (tools/) share.

common          the project's folder, and errors that the user can fix
edition         the language of an edition, and where its files are
chapters        the pages and chapters, in the order of the contents
markers         the words that programs look for in a page
cells           the cells of exercises, from the library
minutes         how long a chapter takes to read and to run
normal_form     the form in which a notebook is stored
readers_copy    what readers' copies need, and the stored notebooks do without
rerun_sections  the sections of a notebook, and the names that allow running one again
comments        the comments and docstrings of code cells
messages        what a translator translates
labels          the words of figures, in the language of the edition
"""

import os
import sys

from setup import compile_catalogs

# The locale chooses the language of the library's messages if this variable does not. An edition is
# in English unless the variable names another language, whatever the locale of its author.
os.environ.setdefault("ATTNBOOK_LANGUAGE", "en")

# nbformat imports jsonschema, which would import rfc3987_syntax to check internationalized URLs.
# No notebook needs this optional package, and importing it takes two seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

compile_catalogs()  # those edited since, before any module looks up a message
