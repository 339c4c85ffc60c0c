"""Chapter 14: the attention of today's largest models."""

CHAPTER = "14. Today's largest models"
EXERCISES = "cache rounded chosen delta absorb tree".split()
