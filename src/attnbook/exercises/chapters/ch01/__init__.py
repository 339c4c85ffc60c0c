"""Chapter 1: the library, or attention as soft look-up."""

CHAPTER = "1. The library"
EXERCISES = "lookup winner temperature cosine queries experiment".split()
