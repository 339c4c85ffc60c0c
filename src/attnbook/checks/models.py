"""Errors about a model: whether it is ready for what it is asked to do."""

from torch import nn


def check_evaluating(model: nn.Module) -> None:
    """Refuse a model in training mode, whose dropout would change each prediction at random."""
    if model.training:
        raise ValueError(
            "the model is in training mode, in which dropout changes its predictions at random: "
            "call model.eval() first"
        )
