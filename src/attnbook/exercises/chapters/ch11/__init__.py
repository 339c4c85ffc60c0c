"""Chapter 11: from the Transformer to today's language models."""

CHAPTER = "11. Language models"
EXERCISES = "kept bytes slopes fate share repair pairs experiment".split()
