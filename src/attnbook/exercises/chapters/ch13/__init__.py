"""Chapter 13: what heads do, and how to find out."""

CHAPTER = "13. Reading attention"
EXERCISES = "scores heads ablate circuit find confidence patch experiment".split()
