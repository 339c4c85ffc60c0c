"""The commands for readers and authors: `make` runs each module here, and the folder lab.

Those in train are run by hand. Notebooks never import them.
"""
