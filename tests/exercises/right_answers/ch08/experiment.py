"""More right answers to 08.experiment."""

import torch
import torch.nn.functional as F

# --- 08.experiment ---------------------------------------------------------------------------


def experiment_at_two_sizes(layer):
    x = torch.randn(400, 3, 64, dtype=torch.float64)
    added = [(layer(size * x) - size * x).norm() / size for size in (1e3, 1e6)]
    grows = layer(1e6 * x).norm() / layer(1e3 * x).norm()
    if grows > 2:
        return "pre" if added[1] < 0.1 * added[0] else "no norm"
    out = layer(x)
    alike = (F.layer_norm(x, (64,)) * (out - out.mean((0, 1)))).mean()
    return "post" if alike > 0.15 else "no residual"


def experiment_by_slopes(layer):
    """Estimate the trace of the Jacobian for a small and for a large input."""

    def trace(size, n=300):
        x = (size * torch.randn(n, 1, 64)).requires_grad_()
        signs = torch.randn(n, 1, 64).sign()
        (slope,) = torch.autograd.grad(layer(x), x, signs)
        return (slope * signs).mean().item() * size

    small, large = trace(1.0), trace(1e6)
    if large > 1e3:
        x = 1e6 * torch.ones(1, 1, 64).cumsum(-1)
        return "pre" if torch.allclose(layer(x) / 1e6, x / 1e6, rtol=1e-3) else "no norm"
    return "post" if small > 0.15 and large > 0.15 else "no residual"


RIGHT = (experiment_at_two_sizes, experiment_by_slopes)
