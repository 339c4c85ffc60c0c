"""Small random models of Hugging Face, and what passes through their attention layers.

Nothing is downloaded. The models make their own masks, and hooks record what enters and leaves a
layer.
"""

import torch
from torch import nn
from torch.testing import assert_close

TOLERANCE = 1e-5
D, H, LENGTH, LENGTHS = 48, 4, 9, (9, 6, 1)


def random_model(model: nn.Module) -> nn.Module:
    """Draw parameters that give uneven attention weights, unlike those of the initialization."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.add_(noise / 3)
            else:
                parameter.copy_(1.5 * noise / D**0.5)
    return model.eval()


def ids() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 50, (len(LENGTHS), LENGTH), generator=generator)


def caught(model: nn.Module, entry: nn.Module, exit_: nn.Module, **inputs) -> tuple:
    """Run the model; return one module's input, another's output, and the weights."""
    seen = {}
    hooks = [
        entry.register_forward_pre_hook(
            lambda module, args, kwargs: seen.update(entered=args[0] if args else kwargs),
            with_kwargs=True,
        ),
        entry.register_forward_hook(lambda module, args, result: seen.update(weights=result[1])),
        exit_.register_forward_hook(
            lambda module, args, result: seen.update(
                left=result[0] if isinstance(result, tuple) else result
            )
        ),
    ]
    with torch.no_grad():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    return seen["entered"], seen["left"], seen["weights"]


def assert_same(ours, theirs, rows=slice(None)) -> None:
    """Compare (output, weights); `rows` chooses the queries, as a (B, L) mask."""
    assert_close(ours[0][rows], theirs[0][rows], rtol=0, atol=TOLERANCE)
    by_query, theirs_by_query = (weights.transpose(1, 2) for weights in (ours[1], theirs[1]))
    assert_close(by_query[rows], theirs_by_query[rows], rtol=0, atol=TOLERANCE)
