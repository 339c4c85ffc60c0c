"""Which kind of thing it is."""

import re
from typing import Any

from torch import nn

from attnbook.examination.calling import parameters_of
from attnbook.examination.reach import modules_of

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
    ("cross", r"(x|q|query|y|hidden_states|tgt|target),(z|context|ctx|memory|enc\w*|kv|source).*"),
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
