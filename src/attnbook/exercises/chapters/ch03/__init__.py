"""Chapter 3: one head."""

CHAPTER = "3. One head"
EXERCISES = "shapes scores map weights repair backward experiment".split()
