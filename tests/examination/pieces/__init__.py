"""Code to examine, some of it faulty."""

from importlib import import_module
from pathlib import Path

from tests.examination.pieces.piece import FAULTY, RIGHT

for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
    import_module(f"{__name__}.{path.stem}")  # each registers its pieces

__all__ = ["FAULTY", "RIGHT"]
