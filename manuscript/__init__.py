"""The model of the pages: chapters, cells, markers, messages, minutes and the normal form.

The pages (press/) and the commands (tools/) both read it."""

import sys

# nbformat imports jsonschema, which would import rfc3987_syntax to check internationalized URLs.
# No notebook needs this optional package, and importing it takes two seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
