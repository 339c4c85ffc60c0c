"""Chapter 13: what heads do, and how to find out."""

CHAPTER = "13. Reading attention"
EXERCISES = "scores ablate circuit find patch experiment".split()
