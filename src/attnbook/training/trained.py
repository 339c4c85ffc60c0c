"""Trained models that the book stores, because training them takes minutes."""

from pathlib import Path

import torch
from torch import Tensor

from attnbook.corpus.translation import Vocabulary
from attnbook.models.language_model import LanguageModel
from attnbook.models.transformer import Transformer

# tools/train/ writes these files: translators.py the first two, language_models.py the third.
TRANSLATORS = Path(__file__).with_name("translators.pt")
ONE_SEQUENCE = Path(__file__).with_name("one_sequence.pt")
LANGUAGE_MODELS = Path(__file__).with_name("language_models.pt")


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


def load_translator(
    chinese: Vocabulary, english: Vocabulary, seed: int, farthest: int = 8
) -> Transformer:
    """The translator of section 9.6 from another training run, in float64, after `eval()`.

    The book stores a few runs in float16, in which sentences began at positions 0 to `farthest`.

    Raises:  ValueError if the book has no such run, or the vocabularies are not those of its corpus
    """
    words = {"chinese": chinese.words, "english": english.words}
    weights = stored_weights(TRANSLATORS, words, seed, farthest)
    model = Transformer(len(chinese), len(english), 64, 4, 2, 128, norm_first=True).double()
    model.load_state_dict(weights)
    return model.eval()


def load_one_sequence(joint: Vocabulary, seed: int, farthest: int) -> LanguageModel:
    """Load the decoder-only translator of section 12.10; see `load_translator`."""
    words = {"Chinese and English": joint.words}
    weights = stored_weights(ONE_SEQUENCE, words, seed, farthest)
    model = LanguageModel(len(joint), 64, 4, 2, n_layers=4, d_ff=184).double()
    model.load_state_dict(weights)
    return model.eval()


def stored_weights(
    file: Path, words: dict[str, list[str]], seed: int, farthest: int
) -> dict[str, Tensor]:
    """The weights of one training run in a file that tools/train/translators.py wrote."""
    stored = torch.load(file, weights_only=True)
    trainings = stored["trainings"]
    if (seed, farthest) not in trainings:
        raise ValueError(
            f"seed={seed}, farthest={farthest}: the (seed, farthest) stored are {[*trainings]}"
        )
    if any(stored[name] != own for name, own in words.items()):
        counts = " and ".join(
            f"{len(own)} {name[0].upper()}{name[1:]}" for name, own in words.items()
        )
        known = " and ".join(str(len(stored[name])) for name in words)
        raise ValueError(
            f"{counts} words: the stored translators know the {known} of the book's corpus. For "
            "your own pairs, train them with the chapter's teach(farthest, seed)"
        )
    weights: dict[str, Tensor] = trainings[seed, farthest]["weights"]
    return weights
