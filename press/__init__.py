"""How the words in book/ become pages, a zip and a PDF."""
