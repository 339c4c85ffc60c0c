"""The book's tools, which `make` calls. Notebooks never import them."""

import sys

# nbformat imports jsonschema, which would import rfc3987_syntax to check internationalized URLs.
# No notebook needs this optional package, and importing it takes two seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
