"""Code to examine, some of it faulty."""

from importlib import import_module

from tests.examination.pieces.piece import FAULTY, RIGHT

for name in (
    "cores",
    "layers",
    "right_layers",
    "cross_layers",
    "blocks",
    "models",
    "right_models",
    "small",
    "other_cores",
    "other_layers",
    "other_right_layers",
    "positions",
    "other_models",
    "rebuilt",
    "functional",
    "keywords",
    "images",
    "generators",
    "translators",
    "variants",
    "not_finite",
    "unsaid",
):
    import_module(f"tests.examination.pieces.{name}")  # each registers its pieces

__all__ = ["FAULTY", "RIGHT"]
