"""Tools of the book: what `make` calls. Notebooks and pages never import them."""

import sys

# nbformat imports jsonschema, which would import rfc3987_syntax to check addresses in every
# language. No notebook needs this optional package, and importing it takes two seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
