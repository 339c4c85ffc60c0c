"""Chapter 7: positional encoding."""

CHAPTER = "7. Positions"
EXERCISES = "order encode distance repair longer move experiment".split()
