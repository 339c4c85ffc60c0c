"""Configurations of published models, as Hugging Face's `transformers` ships them."""

import json
from importlib.resources import files
from typing import Any

FILE = files(__package__) / "configurations.json"  # written by tools/configurations.py


def published_configs() -> dict[str, dict[str, Any]]:
    """The fields of a dozen models' configurations, by the type of the model.

    They are the defaults of the classes in `transformers`, which mostly are one published model's.
    """
    configs: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return configs
