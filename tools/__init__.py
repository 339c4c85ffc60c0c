"""The commands that `make` calls. Notebooks never import them."""
