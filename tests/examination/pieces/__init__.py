"""Code to examine, some of it faulty."""

from tests.examination.pieces import blocks, cores, layers, models, small
from tests.examination.pieces.piece import FAULTY, RIGHT

__all__ = ["FAULTY", "RIGHT", "blocks", "cores", "layers", "models", "small"]
