"""Chapter 5: two sequences."""

CHAPTER = "5. Two sequences"
EXERCISES = "roles cross align cost maps experiment".split()
