"""The matrices of a layer as functions of rows, whoever wrote them and in whatever form."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Apply = Callable[[Tensor], Tensor]

# What may be before and after the letter or the word for a role, in lower case, without digits.
BEFORE = r"(to_?|w_?|c_?|in_?|fc_?|lin(ear)?_?|proj_?)?"
AFTER = r"(_?(proj|projection|linear|lin|fc|net|layer|weights?))?"
ROLES = {
    "qkv": rf"{BEFORE}([qkv]{{3}}){AFTER}|c_attn|in_proj(_weight)?",
    "kv": rf"{BEFORE}kv{AFTER}",
    "q": rf"{BEFORE}(q|query|queries){AFTER}",
    "k": rf"{BEFORE}(k|key|keys){AFTER}",
    "v": rf"{BEFORE}(v|value|values){AFTER}",
    "o": rf".*(out|proj|concat|merge|combine|unify|mix|dense|final).*|{BEFORE}o{AFTER}|fc",
}


@dataclass(frozen=True)
class Matrix:
    """A matrix with its name, its role ("q", "k", "v", "kv", "qkv", "o" or ""), and its widths."""

    name: str
    role: str
    apply: Apply
    n_in: int
    n_out: int
    n_parts: int = 1  # separate matrices, one for each head


def role_of(name: str) -> str:
    """Return the role that a matrix has by its name, or ""."""
    last = re.sub(r"\d+", "", name.lower()).strip("._").split(".")[-1]
    last = re.sub(r"\W", "_", last).strip("_")
    return next((role for role, pattern in ROLES.items() if re.fullmatch(pattern, last)), "")


def matrices_of(layer: nn.Module) -> list[list[Matrix]]:
    """List the matrices, in each way in which they can be read."""
    if isinstance(layer, nn.MultiheadAttention) and layer.in_proj_weight is not None:
        return [torch_matrices(layer)]
    linears = list(linear_matrices(layer))
    raw = [
        (name, p)
        for name, p in layer.named_parameters()
        if p.dim() in (2, 3) and p.is_floating_point() and not belongs_to_linear(layer, name)
    ]
    if not raw:
        return [joined(linears)]
    if len(raw) > 8 or any(p.dim() == 2 and 1 in p.shape for _, p in raw):
        return [joined(linears)]
    return [
        joined([*linears, *(raw_matrix(layer, name, p, flipped) for name, p in raw)])
        for flipped in (False, True)
    ]


def belongs_to_linear(layer: nn.Module, name: str) -> bool:
    owner = layer.get_submodule(name.rpartition(".")[0])
    return isinstance(owner, (nn.Linear, nn.Embedding)) or is_conv1d(owner)


def is_conv1d(module: nn.Module) -> bool:
    """Whether a module is the transposed linear layer of GPT-2's code."""
    return type(module).__name__ == "Conv1D" and hasattr(module, "nf")


def linear_matrices(layer: nn.Module) -> Iterator[Matrix]:
    """Yield the linear layers."""
    for name, module in layer.named_modules():
        if isinstance(module, nn.Linear):
            yield Matrix(name, role_of(name), module, module.in_features, module.out_features)
        elif is_conv1d(module):
            n_in, n_out = module.weight.shape
            yield Matrix(name, role_of(name), module, int(n_in), int(n_out))


def raw_matrix(layer: nn.Module, name: str, p: Tensor, flipped: bool) -> Matrix:
    """Read a parameter as a matrix: x @ W, or x @ W.T if flipped; with three axes, one per head.

    Shapes:  (in, out), or (H, in, d), or for the matrix after the heads (H, d, out)
    """
    role = role_of(name)
    bias = raw_bias(layer, name)
    if p.dim() == 2:
        weight = p.T if flipped else p

        def apply(x: Tensor) -> Tensor:
            return x @ (p.T if flipped else p) + (0 if bias is None else bias.flatten())

        return Matrix(name, role, apply, weight.size(0), weight.size(1))
    n_heads = p.size(0)
    if role == "o":

        def merge(y: Tensor) -> Tensor:
            return y @ p.flatten(0, 1) + (0 if bias is None else bias)

        return Matrix(name, role, merge, n_heads * p.size(1), p.size(2), n_heads)

    def split(x: Tensor) -> Tensor:
        weight = p.mT if flipped else p  # (H, in, d)
        y = torch.einsum("...i,hid->...hd", x, weight).flatten(-2)
        return y + (0 if bias is None else bias.flatten())

    n_in, width = (p.size(2), p.size(1)) if flipped else (p.size(1), p.size(2))
    return Matrix(name, role, split, n_in, n_heads * width, n_heads)


def raw_bias(layer: nn.Module, name: str) -> Tensor | None:
    """Return the bias whose name fits that of a parameter: b_Q for W_Q, or bias for weight."""
    parameters = dict(layer.named_parameters())
    names = [re.sub("[wW]", "b", name, count=1), re.sub("weight", "bias", name)]
    names += [re.sub("W", "B", name, count=1), f"{name}_bias"]
    return next((parameters[n] for n in names if n != name and n in parameters), None)


def torch_matrices(layer: nn.MultiheadAttention) -> list[Matrix]:
    """Return the four matrices of PyTorch's layer."""
    d = layer.embed_dim

    def part(i: int) -> Apply:
        def apply(x: Tensor) -> Tensor:
            bias = layer.in_proj_bias
            rows = slice(i * d, (i + 1) * d)
            return F.linear(x, layer.in_proj_weight[rows], None if bias is None else bias[rows])

        return apply

    own = [Matrix(role, role, part(i), d, d) for i, role in enumerate("qkv")]
    return [*own, Matrix("out_proj", "o", layer.out_proj, d, d)]


def joined(matrices: list[Matrix]) -> list[Matrix]:
    """Join the matrices that heads have of their own: heads.0.key, heads.1.key, …"""
    groups: dict[str, list[Matrix]] = {}
    for matrix in matrices:
        groups.setdefault(re.sub(r"\d+", "*", matrix.name), []).append(matrix)
    result = []
    for name, group in groups.items():
        if len(group) == 1 or len({(m.n_in, m.n_out) for m in group}) > 1 or "*" not in name:
            result += group
            continue

        def apply(x: Tensor, group: list[Matrix] = group) -> Tensor:
            return torch.cat([m.apply(x) for m in group], -1)

        n_out = sum(m.n_out for m in group)
        result.append(Matrix(name, group[0].role, apply, group[0].n_in, n_out, len(group)))
    return result
