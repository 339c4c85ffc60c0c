"""Answers that are right though they look different from the reference, chapter by chapter."""
