"""Errors about the arguments of one call of attention, which have to fit one another."""

import torch
from torch import Tensor

from attnbook.checks.masks import check_fits, check_mask
from attnbook.checks.tensors import (
    check_dtype_and_device,
    check_float_tensor,
    check_rows,
    fits,
    leading,
    rows,
    shape,
)


def check_softmax(x: Tensor, dim: int, where: Tensor | None) -> None:
    """Require the arguments that `softmax` documents."""
    check_float_tensor("x", x)
    if not -x.dim() <= dim < x.dim():
        raise ValueError(f"dim={dim} is out of range for x with {x.dim()} dimensions")
    if where is not None:
        check_mask(where, "where")
        if where.device != x.device or not fits(shape(where), shape(x)):
            raise ValueError(
                f"where has shape {shape(where)} on {where.device}: it must broadcast to x of "
                f"shape {shape(x)} on {x.device}"
            )


def check_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None
) -> None:
    """Require the arguments that `scaled_dot_product_attention` documents."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        check_rows(name, x)
    check_dtype_and_device(query=query, key=key, value=value)
    if query.size(-1) == 0:
        raise ValueError("query has width 0: a dot product needs at least one number per row")
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"query has width {query.size(-1)} but key has width {key.size(-1)}: "
            "a dot product needs rows of equal width"
        )
    check_values(key, value)
    leading(query=query, key=key, value=value)
    if mask is None and bias is None:
        return
    scores = (*leading(query=query, key=key), query.size(-2), key.size(-2))
    if mask is not None:
        check_mask(mask)
        check_fits("mask", mask, scores, query)
    if bias is not None:
        check_float_tensor("bias", bias)
        check_fits("bias", bias, scores, query)


def check_values(key: Tensor, value: Tensor) -> None:
    """Require as many values as keys."""
    if key.size(-2) != value.size(-2):
        raise ValueError(
            f"key has {rows(key.size(-2))} but value has {value.size(-2)}: each key needs one value"
        )


def check_source(z: Tensor, source: Tensor | None, n_cached: int) -> None:
    """Require the z from which the cross-attention's cache was filled, unless that is empty.

    Usually it is the same tensor. Otherwise the numbers are compared, where there are any.
    """
    if n_cached not in (0, z.size(-2)):
        raise ValueError(
            f"z has {rows(z.size(-2))} but the cache has {n_cached}: a cache serves one source"
        )
    if n_cached == 0 or source is None or z is source or torch.compiler.is_compiling():
        return
    check_dtype_and_device(z=z, **{"the z of the cache": source})
    if z.shape != source.shape or not (z.is_meta or z.equal(source)):
        raise ValueError(
            f"z of shape {shape(z)} is not the z of shape {shape(source)} that filled the cache: "
            "a cache serves one source. Make another with new_cache()"
        )


def check_one_sequence(query: Tensor, key: Tensor, rule: str) -> None:
    """Require as many queries as keys, because the rule compares their positions."""
    if query.size(-2) != key.size(-2):
        raise ValueError(
            f"query has {rows(query.size(-2))} and key has {key.size(-2)}: "
            f"{rule} compares positions of one sequence"
        )


def check_causal(causal: bool, query: Tensor, key: Tensor, mask: Tensor | None) -> None:
    """With causal=True, require a single sequence and no mask."""
    if causal:
        check_one_sequence(query, key, "causal=True")
    if causal and mask is not None:
        raise ValueError(
            "causal=True and a mask were given: combine_masks(mask, causal_mask(L)) makes one mask"
        )


def check_first_derivative(name: str) -> None:
    """Refuse to build a graph for second derivatives in the backward pass of a Function."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            f"{name} has first derivatives only, and create_graph=True asks for more: "
            "use scaled_dot_product_attention"
        )


def check_delta_rule(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    beta: Tensor,
    decay: Tensor | None,
    state: Tensor | None,
) -> None:
    """Require the arguments that `delta_rule` documents."""
    check_attention(query, key, value, None, None)
    check_one_sequence(query, key, "the delta rule")
    lead = leading(query=query, key=key, value=value)
    wanted = {
        "beta": (beta, (*lead, key.size(-2))),
        "decay": (decay, (*lead, key.size(-2))),
        "state": (state, (*lead, key.size(-1), value.size(-1))),
    }
    for name, (x, sizes) in wanted.items():
        if x is None:
            continue
        check_float_tensor(name, x)
        check_dtype_and_device(query=query, **{name: x})
        if shape(x) != sizes:
            raise ValueError(f"{name} has shape {shape(x)}: here it must be {tuple(sizes)}")
