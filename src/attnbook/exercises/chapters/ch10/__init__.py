"""Chapter 10: long sequences."""

CHAPTER = "10. Long sequences"
EXERCISES = "pattern cheapest hops merge running repair experiment".split()
