"""Chapter 8: the Transformer."""

CHAPTER = "8. The Transformer"
EXERCISES = "norm clip moves count repair experiment".split()
