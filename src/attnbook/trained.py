"""Trained models that the book stores, because training them takes minutes."""

from pathlib import Path

import torch

from attnbook.language_model import LanguageModel
from attnbook.translation import Vocabulary

LANGUAGE_MODELS = Path(__file__).with_name("language_models.pt")  # see tools/language_models.py


def load_language_model(seed: int = 0) -> tuple[LanguageModel, Vocabulary]:
    """The language model of section 12.6 in float64, after `eval()`, and its vocabulary.

    Seed 0 gives the model that the chapter trains. The parameters are rounded to float16.

    Raises:  ValueError if the book stores no model for this seed
    """
    stored = torch.load(LANGUAGE_MODELS, weights_only=True)
    if seed not in stored["trainings"]:
        raise ValueError(f"seed={seed}: the seeds stored are {[*stored['trainings']]}")
    vocabulary = Vocabulary([stored["words"]])
    model = LanguageModel(len(vocabulary), *stored["sizes"]).double()
    model.load_state_dict(stored["trainings"][seed]["weights"])
    return model.eval(), vocabulary
