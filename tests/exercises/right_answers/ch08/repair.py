"""Right answers to chapter 8's exercises."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from attnbook.attention.masks import causal_mask

# --- 08.norm ---------------------------------------------------------------------------------


def norm_library(x, gain, shift, eps):
    return F.layer_norm(x, gain.shape, gain, shift, eps)


def norm_loop(x, gain, shift, eps):
    rows = []
    for row in x.reshape(-1, x.size(-1)):
        centered = row - row.sum() / len(row)
        rows.append(gain * centered / (centered @ centered / len(row) + eps) ** 0.5 + shift)
    return torch.stack(rows).reshape(x.shape)


def norm_by_squares(x, gain, shift, eps):
    """Compute the variance as the mean of the squares minus the square of the mean."""
    mean = x.mean(-1, keepdim=True)
    variance = x.square().mean(-1, keepdim=True) - mean.square()
    return torch.addcmul(shift, (x - mean) / torch.sqrt(variance + eps), gain)


# --- 08.count --------------------------------------------------------------------------------


def count_built(source_size, target_size, d_model, n_layers, d_ff, norm_first):
    """Count nn.Transformer's parameters; drop its final norms if post-norm; add what it lacks."""
    towers = nn.Transformer(d_model, 1, n_layers, n_layers, d_ff, batch_first=True, device="meta")
    count = sum(p.numel() for p in towers.parameters())
    if not norm_first:
        count -= 4 * d_model
    return count + source_size * d_model + target_size * (2 * d_model + 1)


def count_formula(s, t, d, n, f, first):
    return n * (12 * d**2 + 24 * d + 4 * d * f + 2 * f) + 4 * d * first + s * d + 2 * t * d + t


# --- 08.moves --------------------------------------------------------------------------------


def moves_measured(change):
    """Build the model from PyTorch's layers, change it, and see which rows change."""
    torch.manual_seed(0)
    source, target = torch.randn(1, 5, 8).double(), torch.randn(1, 4, 8).double()
    encoder = [nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True) for _ in range(2)]
    decoder = [nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True) for _ in range(2)]
    encoder, decoder = nn.ModuleList(encoder).double(), nn.ModuleList(decoder).double()
    padding, future = torch.tensor([[False] * 4 + [True]]), ~causal_mask(4)
    for layer in decoder:  # make the attention's output 0, including the bias
        cut = {"f": layer.multihead_attn, "g": layer.self_attn}.get(change)
        if cut:
            nn.init.zeros_(cut.out_proj.weight)
            nn.init.zeros_(cut.out_proj.bias)

    def run(z, y):
        for layer in encoder:
            z = layer(z, src_key_padding_mask=padding)
        for i, layer in enumerate(decoder):
            seen = {"memory_key_padding_mask": None if change == "d" else padding}
            y = layer(y, z, None if (change, i) == ("h", 1) else future, **seen)
        return y[0]

    changed_source, changed_target = copy.deepcopy((source, target))
    if change in "afbd":
        changed_source[0, 1 if change in "af" else 4] = torch.randn(8).double()
    elif change == "e":
        changed_source = source[:, [1, 0, 2, 3, 4]]
    else:
        changed_target[0, 2] = torch.randn(8).double()
    before, after = run(source, target), run(changed_source, changed_target)
    moved = ((before - after).abs() > 1e-9).any(-1).tolist()
    found = {(1, 1, 1, 1): "all", (0, 0, 0, 0): "none", (0, 0, 1, 0): "own", (0, 0, 1, 1): "later"}
    return found[tuple(map(int, moved))]


# --- 08.repair -------------------------------------------------------------------------------


def repair_in_place_of_names(y, z, look_back, look_across, feed_forward, norms):
    y = norms[0](y + look_back(y))
    y = norms[1](y + look_across(y, z))
    return norms[2](y + feed_forward(y))


def repair_nested(y, z, look_back, look_across, feed_forward, norms):
    def part(norm, function, rows, *context):
        return norm(torch.stack([rows, function(rows, *context)]).sum(0))

    back = part(norms[0], look_back, y)
    return part(norms[2], feed_forward, part(norms[1], look_across, back, z))


# --- 08.clip ---------------------------------------------------------------------------------


def clip_library(gradients, limit):
    parameters = [nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    nn.utils.clip_grad_norm_(parameters, limit)
    return [parameter.grad for parameter in parameters]


def clip_ifs(gradients, limit):
    total = 0.0
    for gradient in gradients:
        total += gradient.pow(2).sum().item()
    if total <= limit**2:
        return list(gradients)
    return tuple(gradient / total**0.5 * limit for gradient in gradients)


def clip_same_list(gradients, limit):
    length = torch.cat([g.flatten() for g in gradients]).norm()
    return gradients if length <= limit else [g * limit / length for g in gradients]


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


RIGHT = {
    "08.norm": (norm_library, norm_loop, norm_by_squares),
    "08.count": (count_built, count_formula),
    "08.moves": (moves_measured,),
    "08.repair": (repair_in_place_of_names, repair_nested),
    "08.clip": (clip_library, clip_ifs, clip_same_list),
    "08.experiment": (experiment_at_two_sizes, experiment_by_slopes),
}
