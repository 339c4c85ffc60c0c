"""Tools of the book: what `make` calls. Notebooks and pages never import them."""

import sys

# nbformat imports jsonschema, which would import this package to check addresses in every
# language, which takes two seconds and which no notebook needs. It is optional: do without it.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
