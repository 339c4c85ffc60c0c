"""What only the author of the code knows: what is meant."""

import inspect
import re
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from attnbook.language import _


class Kind(NamedTuple):
    """How many rows or ids a kind of thing takes, all its arguments, and what it returns."""

    n_rows: int
    takes: str
    returns: str

    @property
    def arguments(self) -> str:
        """The arguments that it always takes."""
        return self.takes.partition("[")[0]


KINDS = {
    "core": Kind(3, "q, k, v[, mask]", "output"),
    "layer": Kind(1, "x[, mask]", "rows"),
    "cross": Kind(2, "x, context[, mask]", "rows"),
    "lm": Kind(1, "ids[, mask]", "logits"),
    "seq2seq": Kind(2, "source, target", "logits"),
    "table": Kind(0, "L, D", "positions (L, D)"),
    "rotary": Kind(0, "x, positions", "x, rotated"),
    "loss": Kind(0, "logits, ids", "a number"),
    "top_p": Kind(0, "logits, p", "logits"),
    "top_k": Kind(0, "logits, k", "logits"),
    "sampler": Kind(0, "logits, temperature, p", "probabilities"),
}
CHOICES = {
    "mask": ("keep", "hide", "keep01", "add"),
    "mask_shape": ("LL", "BL", "BLL", "B1LL", "BHLL"),
    "layout": ("BLD", "LBD", "LD", "BLHD"),
    "block": ("pre", "post"),
}
FLAGS = ("causal", "positions", "keep", "square", "equal_lengths")
COUNTS = ("window", "groups", "n_heads", "vocabulary", "d_model", "d_context")


@dataclass(frozen=True)
class Facts:
    """What is meant. None means that nothing was said.

    mask           "keep": True may look; "hide": True is hidden; "keep01": 1 may look, 0 is hidden;
                   "add": 0 and -inf, added to the scores; without it, it takes no mask
    mask_shape     "LL" (Lq, Lk), "BL" (B, Lk), "BLL" (B, Lq, Lk), "B1LL", "BHLL" (B, H, Lq, Lk)
    causal         whether a row may see earlier rows and itself only
    positions      whether the order of the rows counts
    layout         "BLD" (B, L, D), "LBD" (L, B, D), "LD" (L, D), or "BLHD" for a core whose heads
                   come after the rows
    window         how many keys a row may see, itself included
    groups         the number of key heads of grouped queries
    heads          the heads of a core, whose axis comes after the batch; 0 without such an axis
    n_heads        the heads of a layer, if no attribute has their number
    scale          the factor of the scores, if it is not 1/√d_k; "own" if it is learned
    block          "pre" or "post": a layer with residual connections and norms before or after
    pad            the id of padding
    keep           whether the model takes a mask (B, L) of real words after the ids
    step           the name of a method (ids, cache) -> (logits, cache), or the method
    vocabulary     the number of ids, if the embedding table does not tell it
    d_model        the width of the rows, if it cannot be found
    d_context      the width of the second sequence's rows, if it cannot be found
    square         whether a core takes only as many keys as queries
    equal_lengths  whether source and target must be equally long
    """

    mask: str | None = None
    mask_shape: str | None = None
    causal: bool | None = None
    positions: bool | None = None
    layout: str = "BLD"
    window: int | None = None
    groups: int | None = None
    heads: int | None = None
    n_heads: int | None = None
    scale: float | str | None = None
    block: str | None = None
    pad: int | None = None
    keep: bool = False
    step: Any = None
    vocabulary: int | None = None
    d_model: int | None = None
    d_context: int | None = None
    square: bool = False
    equal_lengths: bool = False

    @property
    def form(self) -> str:
        """The mask's shape, (Lq, Lk) if none was named."""
        return self.mask_shape or "LL"


def meanings() -> dict[str, str]:
    """Return what each fact means: the lines of the docstring of `Facts`."""
    text = inspect.cleandoc(str(Facts.__doc__))  # Python 3.13 removes the indentation itself
    text = re.sub(r"\n {15}", " ", text)
    return dict(re.findall(r"(?m)^(\w+) {2,}(.+)$", text))


def read_facts(said: dict[str, Any]) -> Facts:
    """Return the facts that were said.

    Raises:  TypeError for a fact that does not exist; ValueError for a value that none has
    """
    known = [field.name for field in fields(Facts)]
    for name, value in said.items():
        if name not in known:
            message = _("there is no fact {name}: the facts are {known}")
            raise TypeError(message.format(name=name, known=", ".join(known)))
        if name in CHOICES and value is not None and value not in CHOICES[name]:
            message = _("{name}={value!r}: it must be one of {choices}")
            choices = ", ".join(map(repr, CHOICES[name]))
            raise ValueError(message.format(name=name, value=value, choices=choices))
        if name in FLAGS and value is not None and type(value) is not bool:
            message = _("{name}={value!r}: it must be True or False")
            raise ValueError(message.format(name=name, value=value))
        if name in COUNTS and value is not None and (type(value) is not int or value < 1):
            message = _("{name}={value!r}: it must be a whole number above 0")
            raise ValueError(message.format(name=name, value=value))
    return Facts(**said)


def check_kind(kind: str | None) -> None:
    """Require one of KINDS, or None.

    Raises:  ValueError
    """
    if kind is not None and kind not in KINDS:
        message = _("kind={kind!r}: it must be one of {kinds}")
        raise ValueError(message.format(kind=kind, kinds=", ".join(KINDS)))
