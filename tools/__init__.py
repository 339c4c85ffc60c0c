"""The environment and the notebooks: what `make` calls."""
