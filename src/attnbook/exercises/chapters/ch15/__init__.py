"""Chapter 15: debugging attention, from symptom to cause."""

CHAPTER = "15. Debugging"
EXERCISES = "last which leak batch patients fool".split()
