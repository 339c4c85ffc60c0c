"""Loading: the parameters of PyTorch's layers, in the form that our layers need."""

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Projection = tuple[Tensor, Tensor | None]
TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def projections(other: nn.MultiheadAttention) -> list[Projection]:
    """The (weight, bias) pairs of the queries, the keys, the values and the output.

    Raises:  TypeError if `other` is of another class; ValueError for kdim != vdim, add_bias_kv or
             add_zero_attn, which MultiHeadAttention does not support
    """
    check_class(other, nn.MultiheadAttention)
    if other.kdim != other.vdim:
        raise ValueError(
            f"kdim={other.kdim} and vdim={other.vdim}: MultiHeadAttention needs kdim == vdim"
        )
    if other.bias_k is not None or other.add_zero_attn:
        raise ValueError(
            "add_bias_kv and add_zero_attn add keys that MultiHeadAttention does not have"
        )
    if other.in_proj_weight is not None:
        weights = other.in_proj_weight.chunk(3)
    else:
        weights = (other.q_proj_weight, other.k_proj_weight, other.v_proj_weight)
    biases = (None,) * 3 if other.in_proj_bias is None else other.in_proj_bias.chunk(3)
    pairs = list(zip(weights, biases, strict=True))
    return [*pairs, (other.out_proj.weight, other.out_proj.bias)]


@torch.no_grad()
def copy_parameters(name: str, linear: nn.Linear, pair: Projection) -> None:
    """Copy a weight and a bias if the shapes are equal: `copy_` alone would broadcast."""
    for what, own, given in (
        (name, linear.weight, pair[0]),
        (f"the bias of {name}", linear.bias, pair[1]),
    ):
        if given is None:
            continue
        if own.shape != given.shape:
            raise ValueError(
                f"{what} has shape {tuple(given.shape)}: {tuple(own.shape)} is expected"
            )
        own.copy_(given)


def layer_sizes(other: TorchLayer, kind: type[nn.Module]) -> tuple[int, int, int]:
    """The d_model, n_heads and d_ff of PyTorch's layer.

    Raises:  TypeError if `other` is of another class; ValueError if its activation is not ReLU
    """
    check_class(other, kind)
    if other.activation is not F.relu and not isinstance(other.activation, nn.ReLU):
        raise ValueError(
            f"the activation is {other.activation}: the layers of this library use ReLU"
        )
    return other.linear1.in_features, other.self_attn.num_heads, other.linear1.out_features


def copy_feed_forward_and_norms(layer: Any, other: TorchLayer, norms: tuple[str, ...]) -> None:
    """Copy the parts that have the same form in both layers, and set the training mode."""
    layer.feed_forward.up = copy.deepcopy(other.linear1)
    layer.feed_forward.down = copy.deepcopy(other.linear2)
    for name in norms:
        setattr(layer, name, copy.deepcopy(getattr(other, name)))
    layer.train(other.training)


def check_class(other: nn.Module, kind: type[nn.Module]) -> None:
    """Require a module of this torch.nn class."""
    if not isinstance(other, kind):
        raise TypeError(f"expected torch.nn.{kind.__name__}, got {type(other).__name__}")
