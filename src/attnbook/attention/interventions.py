"""Interventions: read or replace what the heads of a layer output, without changing the model."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from attnbook.attention.heads import merge_heads, split_heads
from attnbook.checks.tensors import check_tensor, shape


@contextmanager
def head_outputs(
    layer: nn.Module, replace: Callable[[Tensor], Tensor] | None = None
) -> Iterator[list[Tensor]]:
    """Read what each head of an attention layer outputs inside `with`, and optionally replace it.

    A head's output is its weights times its values, before w_o. Each call of the layer appends
    a tensor with the outputs of all its heads to the list. `replace` receives this tensor and
    returns the one that w_o uses instead. Gradients flow through both. After the block, even
    after an exception, the layer works as before.

    Shapes:  heads' outputs, read or replaced, (..., H, Lq, Dv); H = layer.n_heads
    Raises:  TypeError if the layer has no w_o and n_heads, or `replace` returns no tensor;
             ValueError if `replace` returns a tensor of another shape
    Source:  Michel et al. 2019, §2 (heads multiplied by 0); Elhage et al. 2021 (heads as summands)
    """
    w_o, n_heads = getattr(layer, "w_o", None), getattr(layer, "n_heads", None)
    if not isinstance(w_o, nn.Linear) or not isinstance(n_heads, int):
        raise TypeError(
            f"{type(layer).__name__} has no heads to read: it needs n_heads and w_o, as in "
            "MultiHeadAttention"
        )
    calls: list[Tensor] = []

    def intervene(module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor] | None:
        """Called by PyTorch with the input of w_o, (..., Lq, H · Dv)."""
        calls.append(split_heads(args[0], n_heads))
        if replace is None:
            return None
        new = replace(calls[-1])
        check_tensor("what replace returns", new)
        if new.shape != calls[-1].shape:
            raise ValueError(
                f"replace returned shape {shape(new)}: the heads' outputs have {shape(calls[-1])}"
            )
        return (merge_heads(new),)

    hook = w_o.register_forward_pre_hook(intervene)
    try:
        yield calls
    finally:
        hook.remove()
