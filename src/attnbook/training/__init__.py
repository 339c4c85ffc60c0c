"""Training loops, and the trained models that the book stores because training takes minutes."""

from attnbook.training.loop import round_parameters, train, train_long
from attnbook.training.trained import load_language_model, load_one_sequence, load_translator

__all__ = [
    "load_language_model",
    "load_one_sequence",
    "load_translator",
    "round_parameters",
    "train",
    "train_long",
]
