"""Chapter 6: masks."""

CHAPTER = "6. Masks"
EXERCISES = "causal verdict weights heads pytorch experiment".split()
