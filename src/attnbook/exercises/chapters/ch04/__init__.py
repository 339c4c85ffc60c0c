"""Chapter 4: many heads."""

CHAPTER = "4. Many heads"
EXERCISES = "shapes count jobs split mix repair experiment".split()
