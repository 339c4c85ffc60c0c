"""Models that others have trained, read from files into the layers of this library."""

from attnbook.pretrained.bert import Bert, load_bert
from attnbook.pretrained.gpt2 import GPT2, load_gpt2
from attnbook.pretrained.minilm import load_minilm

__all__ = ["GPT2", "Bert", "load_bert", "load_gpt2", "load_minilm"]
