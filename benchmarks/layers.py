"""The time of a whole layer, both ours and PyTorch's, and of many heads compared with one."""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook import (
    MultiHeadAttention,
    blocked_attention,
    causal_mask,
    chunked_attention,
    fused_attention,
    scaled_dot_product_attention,
)
from benchmarks.timing import ratio, turns

WIDTH, HEADS = 512, 8
SHAPES = ((8, 64), (4, 512), (1, 2048))  # batch, length


def against_pytorch(where: torch.device) -> None:
    """Time a layer with each kind of attention, relative to one with PyTorch's kernel."""
    print(
        f"\nTime of a layer (D {WIDTH}, {HEADS} heads) / time of the floor: its four linear layers "
        "and PyTorch's\nkernel. The first four return the weights.\n"
    )
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(where)
    layer = MultiHeadAttention.from_torch(theirs)
    engines: dict[str, Callable[..., tuple[Tensor, Tensor | None]]] = {
        "ours": scaled_dot_product_attention,
        "textbook": textbook,
        "blocked": blocked_attention,
        "fused": fused_attention,
        "chunked": chunked_attention,
    }
    names = ["ours", "textbook", "PyTorch's", "blocked", "fused", "chunked"]
    print("B     L  mask    pass     floor ms ", *(f"{name:>12s}" for name in names))
    for batch, length in SHAPES:
        for causal in (False, True):
            mask = causal_mask(length).to(where) if causal else None
            x = torch.randn(batch, length, WIDTH).to(where)

            def by(attend: Callable, x: Tensor = x, mask: Tensor | None = mask) -> Tensor:
                layer.attend = attend
                return layer(x, mask=mask)[0]

            def floor(q: Tensor, k: Tensor, v: Tensor, *_: object, c: bool = causal) -> tuple:
                return F.scaled_dot_product_attention(q, k, v, is_causal=c), None

            def whole(x: Tensor = x, mask: Tensor | None = mask) -> Tensor:
                hidden = None if mask is None else ~mask
                return theirs(x, x, x, attn_mask=hidden, average_attn_weights=False)[0]

            forms = {name: partial(by, attend) for name, attend in engines.items()}
            forms |= {"floor": partial(by, floor), "PyTorch's": whole}
            for name, run in (("forward", forward), ("both", both)):
                found = turns({key: partial(run, form) for key, form in forms.items()})
                line = [ratio(found[key], found["floor"]) for key in names]
                kind = "causal" if causal else "none"
                print(
                    f"{batch} {length:5d}  {kind:6s}  {name:7s} {1e3 * min(found['floor']):9.1f} ",
                    *(f"{text:>12s}" for text in line),
                    flush=True,
                )


def forward(form: Callable[[], Tensor]) -> None:
    with torch.no_grad():
        form()


def both(form: Callable[[], Tensor]) -> None:
    form().sum().backward()


def textbook(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: None
) -> tuple[Tensor, Tensor]:
    """Attention as in a textbook."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


def many_heads(where: torch.device) -> None:
    """Compare layers with one head and with many, which do equal work but take different times."""
    counts = (1, 2, 4, 8, 16)
    print("\nTime of a layer's forward pass / the time with one head, for", *counts, "heads\n")
    for d_model, length in ((64, 128), (64, 512), (512, 512)):
        x = torch.randn(1, length, d_model).to(where)
        for name, attend in (("whole", scaled_dot_product_attention), ("products", products)):
            layers = [MultiHeadAttention(d_model, n, attend=attend).to(where) for n in counts]
            with torch.no_grad():
                runs = {str(n): partial(f, x) for n, f in zip(counts, layers, strict=True)}
                found = list(turns(runs, seconds=1.0).values())
            print(f"D {d_model:3d}  L {length:3d}  {name:8s}", *(ratio(t, found[0]) for t in found))


def products(
    query: Tensor, key: Tensor, value: Tensor, mask: None, bias: None
) -> tuple[Tensor, Tensor]:
    """The two matrix products of attention and nothing else."""
    scores = query @ key.mT
    return scores @ value, scores
