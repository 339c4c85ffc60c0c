"""Find out how to call a piece of code, and which of the tensors that it returns is the result."""

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from attnbook.examination.crashes import described, own_frame
from attnbook.language import _

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Way = Callable[[Sequence[Any]], Arguments]

# Names of parameters for a mask, the most specific first: of keys (B, Lk), and of pairs.
OF_KEYS = ("key_padding_mask", ".*padding_mask", "pad.*mask", "attention_mask", ".*mask.*")
OF_PAIRS = ("attn_mask", "attention_mask", "(?!.*(padding|head)).*mask.*", ".*mask.*")
ANY_MASK = ("keep", "valid", "visible", "allowed", "hidden", "hide", "attn_bias", "bias")
LABELS = re.compile("targets?|labels|y")  # of a model that returns all logits only with labels
RESULTS = ("logits", "last_hidden_state", "output", "out", "hidden_states")


class CannotCall(Exception):
    """The code raised an error in each way of calling it."""


def parameters_of(thing: Any) -> list[inspect.Parameter]:
    """List the parameters of a function, or of a module's `forward`."""
    function = thing.forward if isinstance(thing, nn.Module) else thing
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p for p in found if p.kind in named or p.kind is p.POSITIONAL_ONLY]


def mask_name(thing: Any, form: str) -> str:
    """Name the parameter that takes a mask of this form, or return ""."""
    names = [p.name for p in parameters_of(thing) if p.kind is not p.POSITIONAL_ONLY]
    patterns = (*(OF_KEYS if form == "BL" else OF_PAIRS), *ANY_MASK)
    return next((n for p in patterns for n in names if re.fullmatch(p, n, re.IGNORECASE)), "")


def row_names(thing: Any, mask: str, n: int) -> list[str]:
    """Name the parameters that take the rows: those that must be given, or else the first."""
    others = [p for p in parameters_of(thing) if p.name != mask]
    needed = [p for p in others if p.default is p.empty]
    return [p.name for p in (needed if len(needed) >= n else others)]


def ways_to_call(thing: Any, n_rows: int, form: str) -> Iterator[Way]:
    """Yield ways to pass values, of which the first n_rows are rows or ids, and one more a mask.

    The rows may be needed three times, as query, key and value; with two kinds of rows, the second
    is key and value.
    """
    name = mask_name(thing, form)
    repeats = {1: (0, 0, 0), 2: (0, 1, 1)}.get(n_rows)

    def rows_and_rest(values: Sequence[Any], repeated: bool) -> tuple[list[Any], list[Any]]:
        rows, rest = list(values[:n_rows]), list(values[n_rows:])
        return [rows[i] for i in repeats] if repeated and repeats else rows, rest

    def by_name(values: Sequence[Any], repeated: bool = False) -> Arguments:
        rows, rest = rows_and_rest(values, repeated)
        return tuple(rows), dict(zip([name], rest, strict=False))

    def by_position(values: Sequence[Any], repeated: bool = False) -> Arguments:
        rows, rest = rows_and_rest(values, repeated)
        return (*rows, *rest), {}

    def all_by_name(values: Sequence[Any], repeated: bool = False) -> Arguments:
        rows, rest = rows_and_rest(values, repeated)
        names = row_names(thing, name, len(rows))
        return (), dict(zip([*names[: len(rows)], name], [*rows, *rest], strict=False))

    ways = [by_name, by_position] if name else [by_position]
    if any(p.kind is p.KEYWORD_ONLY for p in parameters_of(thing)):
        ways.append(all_by_name)
    yield from ways
    labels = [p.name for p in parameters_of(thing) if LABELS.fullmatch(p.name)]
    for label in labels if n_rows == 1 else ():
        yield partial(with_labels, label)
    for way in ways if repeats else ():
        yield partial(way, repeated=True)


def with_labels(label: str, values: Sequence[Any]) -> Arguments:
    """Pass the ids as labels, too."""
    return (*values,), {label: values[0]}


def find_way(
    thing: Any, values: Sequence[Any], ways: Iterator[Way], fits: Callable[[Any], bool]
) -> Way:
    """Return the first way to call the thing that raises no error and gives what fits.

    Raises:  CannotCall with the reader's line and the shapes, if there is none. An error inside the
             reader's code, or what it returns, tells more than arguments that do not fit.
    """
    problem: Exception | None = None
    returned = ""
    for way in ways:
        positional, named = way(values)
        try:
            result = thing(*positional, **named)
            if fits(result):
                return way
            returned = returned or shapes_of(result)
        except Exception as error:
            if problem is None or (own_frame(error) and not own_frame(problem)):
                problem = error
    if returned and not (problem and own_frame(problem)):
        given = ", ".join(str(tuple(value.shape)) for value in values)
        message = _("it returns {returned} for {given}, and no rows or logits that fit")
        if "complex" in returned:
            message = _("it returns {returned} for {given}, and I need real numbers")
        raise CannotCall(message.format(given=given, returned=returned))
    raise CannotCall(described(problem)) from problem


def shapes_of(result: Any) -> str:
    """Name the tensors of a result by their shapes and unusual dtypes, or its type."""
    shapes = [
        f"{tuple(t.shape)}" + ("" if t.is_floating_point() else f" {t.dtype}").replace("torch.", "")
        for t in tensors_in(result)
    ]
    return ", ".join(shapes) or type(result).__name__


def tensors_in(result: Any) -> Iterator[Tensor]:
    """Yield the tensors of a result, those with the name of a main result first."""
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, Mapping):
        first = [result[name] for name in RESULTS if name in result]
        for part in (*first, *result.values()):
            yield from tensors_in(part)
    elif isinstance(result, (tuple, list)):
        for part in (
            *(getattr(result, name) for name in RESULTS if hasattr(result, name)),
            *result,
        ):
            yield from tensors_in(part)
    elif hasattr(result, "__dict__"):
        yield from tensors_in(vars(result))


def pick(result: Any, leading: Sequence[int], width: int | None = None) -> Tensor | None:
    """Return the result proper: floating-point rows (*leading, width), or None.

    Without a tensor of this width, one of another width is taken; rows that were flattened get
    their axes back.
    """
    n = len(leading)
    rows = [t for t in tensors_in(result) if t.is_floating_point()]
    fitting = [t for t in rows if t.dim() == n + 1 and t.shape[:n] == (*leading,)]
    flat = [t for t in rows if t.dim() == 2 and n > 1 and len(t) == math.prod(leading)]
    fitting += [t.unflatten(0, (*leading,)) for t in flat]
    return next((t for t in fitting if t.size(-1) == width), fitting[0] if fitting else None)
