"""Chapter 12: a decoder-only language model, and how it writes."""

CHAPTER = "12. A model that writes"
EXERCISES = "count sees top_p perplexity repair experiment".split()
