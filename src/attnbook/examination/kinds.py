"""Which kind of thing it is, and whether it can be examined at all."""

import re
from typing import Any

import torch
from torch import nn

from attnbook.examination.calling import parameters_of
from attnbook.examination.subject import modules_of
from attnbook.language import _

LARGEST = 2**30  # numbers in parameters

SIZE = r"(length|width|n|l|d|dim|d_model|n_positions|max_len\w*|seq_len\w*)"
# Names of the parameters that must be given, for each kind.
SIGNATURES = (
    ("core", "(q|queries|query),(k|keys|key),(v|values|value).*"),
    ("top_p", r"(logits|scores),(p|top_?p)"),
    ("top_k", r"(logits|scores),(k|top_?k)"),
    ("sampler", r"(logits|scores),(temp\w*|t|tau),(p|top_?p)"),
    ("loss", r"(logits|scores|outputs?),(ids|labels|targets?|tokens|y|input_ids)"),
    ("rotary", r"(x|q),(pos\w*|start\w*|offset)"),
    ("table", rf"{SIZE},{SIZE}"),
    ("seq2seq", r"(src|source|\w*src\w*),(tgt|target|trg|\w*tgt\w*).*"),
    ("cross", r"(x|q|query|y|hidden_states),(z|context|ctx|memory|enc\w*|kv|source).*"),
)


def required_names(thing: Any) -> list[str]:
    """List the names of the parameters without a default."""
    return [p.name for p in parameters_of(thing) if p.default is p.empty]


def guess_kind(thing: Any) -> str | None:
    """Guess the kind from the names of the parameters and from embedding tables."""
    names = ",".join(required_names(thing)).lower()
    modules = [m for root in modules_of(thing) for m in root.modules()]
    has_table = any(isinstance(m, nn.Embedding) for m in modules)
    found = next((kind for kind, pattern in SIGNATURES if re.fullmatch(pattern, names)), None)
    if isinstance(thing, nn.Module):
        if found == "core":
            return "layer" if any(p.dim() > 1 for p in thing.parameters()) else "core"
        if found in ("cross", "seq2seq"):
            return "seq2seq" if has_table else "cross"
        return "lm" if has_table else "layer"
    if found is None and modules:
        return "lm" if has_table else "layer"
    return found


def reason_to_refuse(thing: Any) -> str:
    """Say why a thing cannot be examined, or return ""."""
    if isinstance(thing, type):
        return _("{name} is a class: pass an object, {name}(...).").format(name=thing.__name__)
    if not callable(thing):
        message = _("{type} cannot be called: pass a function or a module.")
        return message.format(type=type(thing).__name__)
    for root in modules_of(thing):
        if isinstance(root, torch.jit.ScriptModule):
            return _("A scripted module has no hooks: pass the module that was scripted.")
        tensors = [*root.parameters(), *root.buffers()]
        if any(t.is_meta for t in tensors):
            return _("Its parameters are on the meta device, so they have no numbers.")
        if any(t.is_quantized for t in tensors) or is_quantized(root):
            return _("It is quantized: examine the module from which it was made.")
        if any(type(t).__name__ == "DTensor" for t in tensors):
            return _("Its parameters are sharded: examine a small copy in one process.")
        if sum(t.numel() for t in tensors) > LARGEST:
            return _("It has more than a billion parameters: examine a small copy.")
    return ""


def is_quantized(root: nn.Module) -> bool:
    return any("quantized" in type(m).__module__ for m in root.modules())


def unwrapped(thing: Any) -> Any:
    """Return the module behind `torch.compile` or `DataParallel`."""
    for name in ("_orig_mod", "module"):
        inner = getattr(thing, "_modules", {}).get(name)
        if inner is not None and type(thing).__name__ in {
            *("OptimizedModule", "DataParallel", "DistributedDataParallel")
        }:
            return inner
    return thing
