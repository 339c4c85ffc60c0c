"""Watch the products and softmaxes of attention while a model runs.

Nothing is replaced: each function of PyTorch runs as usual, and copies of what went in and came out
are kept. So scores are seen whatever the names of the matrices are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnbook.examination.calling import tensors_in

PRODUCTS = {"matmul", "__matmul__", "bmm", "baddbmm", "einsum"}
SOFTMAXES = {"softmax"}
FACTORS = {"mul", "__mul__", "__rmul__", "mul_", "__imul__", "multiply"}
HIDDEN = -1000.0  # scores below are those that a mask has filled
DIVISIONS = {"div", "__truediv__", "div_", "__itruediv__", "true_divide", "divide"}
Calls = dict[str, list[tuple[Tensor, Tensor]]]  # by the name of a part: its inputs and outputs


class Product(NamedTuple):
    """A product of two tensors, and how many numbers each dot product adds."""

    out: Tensor
    a: Tensor
    b: Tensor
    width: int
    axis: int  # of a, counted from the end, that it sums over
    is_matmul: bool = False


class Softmax(NamedTuple):
    """A softmax: its scores, its axis counted from the end, its weights."""

    scores: Tensor
    axis: int
    weights: Tensor


class Fused(NamedTuple):
    """A call of F.scaled_dot_product_attention, its scale, and which keys are seen.

    Shapes:  seen (..., Lq, Lk), boolean
    """

    q: Tensor
    k: Tensor
    v: Tensor
    scale: float | None
    seen: Tensor


class Factor(NamedTuple):
    """A tensor that was multiplied by one number."""

    out: Tensor
    factor: float


Event = Product | Softmax | Fused | Factor


class Trace(TorchFunctionMode):
    """Record events in the order in which they happen."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        named = named or {}
        result = function(*arguments, **named)
        name = getattr(function, "__name__", "")
        if isinstance(result, Tensor) and result.is_floating_point():
            event = event_of(name, arguments, named, result)
            if event is not None:
                self.events.append(event)
        return result


def event_of(name: str, arguments: Any, named: dict[str, Any], result: Tensor) -> Event | None:
    """Return what a call means for attention, or None."""
    if name in PRODUCTS:
        return product(name, arguments, named, result)
    if name in SOFTMAXES:
        axis = named.get("dim", arguments[1] if len(arguments) > 1 else -1)
        scores = arguments[0] if arguments else named.get("input")
        if isinstance(axis, int) and isinstance(scores, Tensor):
            axis = axis if axis < 0 else axis - scores.dim()
            return Softmax(scores.detach().clone(), axis, result.detach().clone())
    if name == "scaled_dot_product_attention":
        return fused(arguments, named)
    if name in FACTORS | DIVISIONS and len(arguments) == 2:
        number = next((single(x) for x in arguments if single(x) is not None), None)
        if number:
            number = 1 / number if name in DIVISIONS else number
            return Factor(result.detach().clone(), number)
    return None


def fused(arguments: Any, named: dict[str, Any]) -> Fused:
    """Return what a call of F.scaled_dot_product_attention says."""
    given = [*arguments[:3], *(named[n] for n in ("query", "key", "value") if n in named)]
    q, k, v = (t.detach().clone() for t in given)
    mask = named.get("attn_mask", arguments[3] if len(arguments) > 3 else None)
    seen = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool, device=q.device)
    if mask is not None:
        seen = (mask if mask.dtype == torch.bool else mask > HIDDEN).expand_as(
            torch.broadcast_to(seen, torch.broadcast_shapes(mask.shape, seen.shape))
        )
    elif named.get("is_causal"):
        seen = seen.tril()
    return Fused(q, k, v, named.get("scale"), seen)


def single(x: Any) -> float | None:
    """Return a number, or the only number of a tensor."""
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return float(x)
    return float(x.detach()) if isinstance(x, Tensor) and x.numel() == 1 else None


def product(name: str, arguments: Any, named: dict[str, Any], out: Tensor) -> Product | None:
    """Return a product of two tensors with axes for a batch, neither of which is a matrix."""
    given = [*arguments, *named.values()]
    if name == "einsum":
        return einsum_product(given, out)
    tensors = [x for x in given if isinstance(x, Tensor)]
    if name == "baddbmm":
        tensors = tensors[1:]
    if len(tensors) != 2 or min(t.dim() for t in tensors) < 3:
        return None
    a, b = (t.detach().clone() for t in tensors)
    dots = a @ b if name == "baddbmm" else out.detach().clone()  # without its factor and its bias
    return Product(dots, a, b, a.size(-1), -1, is_matmul=True)


def einsum_product(given: list[Any], out: Tensor) -> Product | None:
    """Return the product that an einsum over two tensors computes."""
    tensors = [x for x in given if isinstance(x, Tensor)]
    tensors = tensors or [x for g in given if isinstance(g, (list, tuple)) for x in g]
    text = given[0] if given and isinstance(given[0], str) else ""
    left, arrow, right = text.replace(" ", "").replace("...", "").partition("->")
    letters = left.split(",")
    if not arrow or len(letters) != 2 or len(tensors) != 2:
        return None
    summed = [x for x in letters[0] if x in letters[1] and x not in right]
    if len(summed) != 1 or min(t.dim() for t in tensors) < 3:
        return None
    a, b = (t.detach().clone() for t in tensors)
    position = letters[0].index(summed[0]) - len(letters[0])
    return Product(out.detach().clone(), a, b, a.size(position), position)


class Seen(NamedTuple):
    """The queries, keys and values of one attention that ran, as rows.

    Shapes:  q (..., Lq, d)   k (..., Lk, d)   v (..., Lk, dv)
    """

    q: Tensor
    k: Tensor
    v: Tensor


def attentions(events: list[Event]) -> list[Seen]:
    """Return the attentions whose rows can be told: those of matrix products, and fused ones."""
    found, scores = [], None
    for i, event in enumerate(events):
        if isinstance(event, Fused):
            found.append(Seen(event.q, event.k, event.v))
        elif isinstance(event, Product):
            scores = event if event.is_matmul else None
        elif isinstance(event, Softmax) and scores is not None:
            after = (e for e in events[i + 1 :] if isinstance(e, Product))
            product = next((e for e in after if e.a.shape == event.weights.shape), None)
            if product and product.is_matmul and scores.out.numel() == event.weights.numel():
                found.append(Seen(scores.a, scores.b.mT, product.b))
            scores = None
    return found


def traced(run: Callable[[], Any]) -> list[Event]:
    """Run a function, and return what was seen."""
    with torch.no_grad(), Trace() as trace:
        run()
    return trace.events


def recorded(module: nn.Module, run: object, parts: Sequence[tuple[str, nn.Module]]) -> Calls:
    """Run a function, and return what went into some parts of a module and came out of them."""
    calls: Calls = {}

    def hook(name: str) -> object:
        def listen(
            part: nn.Module, given: tuple[object, ...], named: dict[str, object], result: object
        ) -> None:
            rows, out = next(iter((*given, *named.values())), None), next(tensors_in(result), None)
            if isinstance(rows, Tensor) and out is not None:
                calls.setdefault(name, []).append((rows.detach(), out.detach()))

        return listen

    handles = [part.register_forward_hook(hook(name), with_kwargs=True) for name, part in parts]  # type: ignore[arg-type]
    try:
        run()  # type: ignore[operator]
    finally:
        for handle in handles:
            handle.remove()
    return calls
