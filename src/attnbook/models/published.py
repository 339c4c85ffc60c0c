"""Configurations of a dozen kinds of models, from Hugging Face's `transformers`."""

import json
from importlib.resources import files
from typing import Any

FILE = files(__package__) / "configurations.json"  # written by tools/configurations.py


def published_configs() -> dict[str, dict[str, Any]]:
    """The fields of a dozen models' configurations, by the type of the model.

    They are the defaults of the classes in `transformers`. Most are those of a published model, but
    those of Gemma 3 are not. Kimi Linear's layers are those of its published file.
    """
    configs: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return configs
