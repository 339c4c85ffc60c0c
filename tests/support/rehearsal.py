"""A GPU simulated on the CPU, so that every machine can find what a CUDA device would refuse.

A tensor moved to "cuda" becomes `OnGpu`: it computes on the CPU, and enforces the rules that a
notebook can break on a real device. Tensors on two devices cannot be combined. NumPy accepts a
tensor only after it is moved back. Random numbers must be drawn on the CPU. Operations that have
no fixed order on CUDA raise errors, as with `torch.use_deterministic_algorithms` on a GPU. Sums
run backward, so that their last digits differ, as on another kind of device: what a chapter prints
must not depend on them.

Only a real GPU can show the rest: its own kernels, its memory and its speed.

    make nbval DEVICE=rehearsal        make test DEVICE=rehearsal
"""

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._device import _device_constructors
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_map

aten = torch.ops.aten
GPU = torch.device("cuda", 0)
tensor_to, storage_of, module_apply = Tensor.to, Tensor.untyped_storage, nn.Module._apply
run_backward = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
made = 0  # tensors created on the device

# CUDA has no deterministic kernels for these, and PyTorch raises an error if one is required.
UNORDERED = {aten.cumsum.default, aten.kthvalue.default, aten.median.dim, aten.histc.default}
UNORDERED |= {aten.bincount.default, aten.put_.default, aten.scatter_reduce.two}
UNORDERED |= {aten.nll_loss2d_forward.default, aten._ctc_loss.default}

RANDOM = set(
    "bernoulli multinomial native_dropout normal rand rand_like randint randint_like".split()
)
RANDOM |= set("randn randn_like randperm bernoulli_ exponential_ normal_ random_ uniform_".split())

MAKERS = set("arange as_tensor empty eye full linspace ones tensor zeros".split())
MAKERS |= set("normal rand randint randn randperm tril_indices triu_indices".split())

# These functions write into their `out` without resizing it first.
FILLING = {"bmm", "softmax"}

# A CPU tensor may be combined with one on the GPU only in copies and as an index.
COPY = aten.copy_.default
INDEX = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default}


class OnGpu(Tensor):
    """A wrapper around a CPU tensor that claims to be on a CUDA device."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "OnGpu":
        """Wrap a plain tensor."""
        global made
        made += 1
        wrapper = Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            layout=held.layout,
        )
        wrapper.held = held
        return wrapper

    def __repr__(self, **_: Any) -> str:
        return repr(self.held)[:-1] + ", device='cuda:0')"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Answer attribute access and conversions, such as `device` and `numpy()`."""
        name, asked = getattr(func, "__name__", ""), getattr(func, "__self__", None)
        if asked is Tensor.device:
            return GPU
        if asked in (Tensor.is_cuda, Tensor.is_cpu):
            return asked is Tensor.is_cuda
        if name in ("numpy", "__array__"):
            raise TypeError("can't convert cuda:0 device type tensor to numpy: use Tensor.cpu()")
        if name == "scaled_dot_product_attention":  # PyTorch would create a CPU tensor in two cases
            if not all(x.numel() for x in args[:3]):  # first case: an empty result
                return move(func(*(x.cpu() for x in args[:3]), **(kwargs or {})), GPU)
            if (kwargs or {}).get("is_causal"):  # second case: the causal mask
                triangle = torch.ones(args[0].size(-2), args[1].size(-2), dtype=torch.bool).tril()
                kwargs = {**kwargs, "is_causal": False, "attn_mask": OnGpu(triangle)}
                return func(*args[:3], **kwargs)
        if kwargs and kwargs.get("out") is not None and name not in FILLING:
            return kwargs.pop("out").copy_(func(*args, **kwargs))  # others would resize a wrapper
        if name == "one_hot":  # PyTorch would compare the input with numbers on the CPU
            return OnGpu(func(args[0].held, *args[1:], **(kwargs or {})))
        if asked is Tensor.data and name == "__set__":
            args[0].held = args[1].held
        if name == "tolist":
            return args[0].held.tolist()
        if name == "__format__":
            return format(args[0].held.detach(), args[1])
        if name == "__deepcopy__":
            return deep_copy(*args)
        if name == "__reduce_ex__":  # saved as a CPU tensor; loading may move it
            return args[0].held.__reduce_ex__(*args[1:])
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """Compute on the CPU, unless a GPU would raise an error."""
        given: list[Tensor] = []
        plain_args = unpacked(args, given)
        plain_kwargs = {name: unpacked(part, given) for name, part in (kwargs or {}).items()}
        mixed = any(not isinstance(t, OnGpu) and t.dim() for t in given)
        if mixed and func is not COPY and not (func in INDEX and isinstance(args[0], OnGpu)):
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"cuda:0 and cpu: {func}"
            )
        if func in UNORDERED and any(t.is_floating_point() for t in given):
            raise RuntimeError(f"{func} does not have a deterministic implementation")
        draws, turns = traits(func)
        if draws:
            raise RuntimeError(f"{func} draws on the GPU: draw on the CPU, then move")
        out = BACKWARDS.get(func, func)(*plain_args, **plain_kwargs)
        if turns:  # the wrapper is transposed as well
            with no_dispatch():
                func(*args, **(kwargs or {}))
        known = {id(t.held): t for t in given if isinstance(t, OnGpu)}
        return packed(out, known)


OnGpu.__name__ = "Tensor"  # the name that error messages show


def unwrapped(thing: Any) -> Any:
    """Return the tensor inside a wrapper, and anything else unchanged."""
    return thing.held if isinstance(thing, OnGpu) else thing


# PyTorch's tree_map does the same for any tree, but would double the time of a training step.


def unpacked(thing: Any, given: list[Tensor]) -> Any:
    """Unwrap the arguments of an operation, and record their tensors."""
    kind = type(thing)
    if kind is OnGpu:
        given.append(thing)
        return thing.held
    if kind in (list, tuple):
        return [unpacked(part, given) for part in thing]
    if isinstance(thing, Tensor):
        given.append(thing)
    return thing


def packed(thing: Any, known: dict[int, OnGpu]) -> Any:
    """Wrap the results of an operation; a tensor that it changed in place keeps its wrapper."""
    if isinstance(thing, Tensor):
        return known[id(thing)] if id(thing) in known else OnGpu(thing)
    if isinstance(thing, list | tuple):
        return type(thing)([packed(part, known) for part in thing])
    return thing


@functools.cache
def traits(func: Any) -> tuple[bool, bool]:
    """Return whether an operation draws random numbers, and whether it transposes in place."""
    draws = func._schema.name.removeprefix("aten::") in RANDOM
    return draws, torch.Tag.inplace_view in func.tags


def deep_copy(x: OnGpu, memo: dict[int, Any]) -> Tensor:
    """Copy a leaf tensor with its gradient."""
    copied = OnGpu(x.held.clone()).requires_grad_(x.requires_grad)
    if getattr(x, "_is_param", False):
        copied._is_param = True
    if x.grad is not None:
        copied.grad = copy.deepcopy(x.grad, memo)
    memo[id(x)] = copied
    return copied


class ToGpu(torch.autograd.Function):
    """Move a tensor to the device, and its gradient back."""

    @staticmethod
    def forward(ctx, x):
        """Copy the tensor to the device."""
        return OnGpu(x.detach().clone())

    @staticmethod
    def backward(ctx, gradient):
        """Move the gradient to the CPU."""
        return unwrapped(gradient)


class ToCpu(torch.autograd.Function):
    """Move a tensor from the device, and its gradient to the device."""

    @staticmethod
    def forward(ctx, x):
        """Copy the tensor to the CPU."""
        return x.held.clone()

    @staticmethod
    def backward(ctx, gradient):
        """Move the gradient to the device."""
        return OnGpu(gradient)


def move(x: Tensor, device: Any) -> Tensor:
    """Return the tensor on a device: the same one if it is already there."""
    to_gpu = torch.device(device).type == "cuda"
    if isinstance(x, OnGpu) == to_gpu:
        return x
    return (ToGpu if to_gpu else ToCpu).apply(x)


# These functions add the same terms in reverse: along the inner axis of a product, or along `dim`.


def product(a: Tensor, b: Tensor) -> Tensor:
    """Compute a @ b, adding the terms from the last to the first."""
    return torch.matmul(a.flip(-1), b.flip(-2))


def add_product(x, a, b, *, beta=1, alpha=1):
    """Compute beta x + alpha (a @ b), adding the terms of the product in reverse."""
    return beta * x + alpha * product(a, b)


def sum_along(x, dim, keepdim=False, *, dtype=None):
    """Sum along some axes, from the last number to the first."""
    along = tuple(dim) if dim else tuple(range(x.dim()))
    return x.flip(along).sum(dim, keepdim, dtype=dtype)


def softmax(x, dim, half_to_float):
    """Compute the softmax in double precision."""
    return torch.softmax(x.double(), dim).to(x.dtype)


BACKWARDS: dict[Any, Callable[..., Any]] = {
    aten.mm.default: product,
    aten.bmm.default: product,
    aten.bmm.out: lambda a, b, out: out.copy_(product(a, b)),
    aten.mv.default: lambda a, v: torch.mv(a.flip(-1), v.flip(-1)),
    aten.dot.default: lambda a, b: torch.dot(a.flip(-1), b.flip(-1)),
    aten.addmm.default: add_product,
    aten.baddbmm.default: add_product,
    aten.sum.dim_IntList: sum_along,
    aten.sum.default: lambda x, *, dtype=None: x.flatten().flip(0).sum(dtype=dtype),
    aten._softmax.default: softmax,
    aten._softmax.out: lambda *x, out: out.copy_(softmax(*x)),
}


def to(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Replace `Tensor.to` in each of its forms."""
    device = kwargs.pop("device", None)
    if args and isinstance(args[0], Tensor):
        device, args = args[0].device, (args[0].dtype, *args[1:])
    elif args and isinstance(args[0], str | int | torch.device):
        device, args = args[0], args[1:]
    if device is not None and torch.device(device).type not in ("cpu", "cuda"):
        return tensor_to(unwrapped(x), device, *args, **kwargs)
    x = x if device is None else move(x, device)
    args = tuple(a for a in args if a is not None)  # nn.Module.to passes None for "unchanged"
    kwargs = {k: v for k, v in kwargs.items() if v is not None}
    return tensor_to(x, *args, **kwargs) if {*args, *kwargs} - {True, False} else x


def on_the_device(make: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of `torch` that creates tensors accept device="cuda"."""

    @functools.wraps(make)
    def made_there(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is None or torch.device(device).type != "cuda":
            return make(*args, **kwargs)
        if make.__name__ in RANDOM:
            raise RuntimeError(f"torch.{make.__name__} draws on the GPU: draw on the CPU")
        grad = kwargs.pop("requires_grad", False)
        new = make(*tree_map(on_cpu, args), **{**kwargs, "device": "cpu"})
        return OnGpu(new).requires_grad_(grad)

    return made_there


def apply_and_tie(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
    """Run `Module._apply`; a parameter that two layers share stays shared, as on a GPU."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    module_apply(module, *args, **kwargs)
    for first, *others in names.values():
        for name in others:
            layer, _, last = name.rpartition(".")
            setattr(module.get_submodule(layer), last, module.get_parameter(first))
    return module


def backward(*args: Any, **kwargs: Any) -> Any:
    """Run a backward pass in which our own autograd functions see tensors on the device."""
    with torch._C._EnableTorchFunction():  # the call to `backward` disables it
        return run_backward(*args, **kwargs)


def on_cpu(thing: Any) -> Any:
    """Return the CPU tensor inside a wrapper, detached, and anything else unchanged."""
    return thing.held.detach() if isinstance(thing, OnGpu) else thing


def start() -> None:
    """Simulate the GPU from now on, in this process."""
    _device_constructors()  # caches the originals for set_default_device
    for name in MAKERS:
        setattr(torch, name, on_the_device(getattr(torch, name)))
    Tensor.to = to
    Tensor.cuda = lambda x, *_, **__: move(x, "cuda")
    Tensor.cpu = lambda x, *_, **__: move(x, "cpu")
    Tensor.untyped_storage = lambda x: storage_of(unwrapped(x))  # a view shares its storage
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # new parameters, not new data
    nn.Module._apply = apply_and_tie
    torch.autograd._engine_run_backward = backward
    torch.backends.cudnn.is_acceptable = lambda *_: False
    torch.cuda.is_available = lambda: True
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.memory_stats = lambda *_: {"allocation.all.allocated": made}
    torch.cuda.get_device_name = lambda *_: "rehearsal"
