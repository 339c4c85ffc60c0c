"""Experiments on a reader's own attention code: `attnbook.examine`."""
