"""The model of the pages: chapters, cells, markers, messages, minutes and the normal form.

The pages (press/) and the commands (tools/) both read it."""

import os
import sys

# The locale chooses the language of the library's messages if this variable does not. An edition is
# in English unless the variable names another language, whatever the locale of its author.
os.environ.setdefault("ATTNBOOK_LANGUAGE", "en")

# nbformat imports jsonschema, which would import rfc3987_syntax to check internationalized URLs.
# No notebook needs this optional package, and importing it takes two seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
