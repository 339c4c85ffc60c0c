"""Chapters' experiments run here as in a notebook, without pictures and without side effects."""

from tests.support.chapter_code import critics, embeddings, stacks, translators
from tests.support.chapters import undisturbed

__all__ = ["critics", "embeddings", "stacks", "translators", "undisturbed"]
