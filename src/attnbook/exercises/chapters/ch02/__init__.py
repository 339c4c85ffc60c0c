"""Chapter 2: from words to vectors."""

CHAPTER = "2. Words to vectors"
EXERCISES = "encode gradient order lookup merge experiment".split()
