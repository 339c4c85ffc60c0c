"""Turn book/ into pages, a zip and a PDF."""
