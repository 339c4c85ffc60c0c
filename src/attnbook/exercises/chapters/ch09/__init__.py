"""Chapter 9: a model that translates."""

CHAPTER = "9. Translation"
EXERCISES = "shift rows loss greedy beam experiment".split()
