"""Call a reader's function so that nothing it does can hurt: no endless loop, no side effect."""

import contextlib
import copy
import inspect
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnbook.exercises.keep import kept
from attnbook.exercises.limit import time_limit

SECONDS = 3.0


@dataclass(frozen=True)
class Outcome:
    """What a call gave: an answer or an error, what it printed, and which arguments it wrote to."""

    answer: Any = None
    error: BaseException | None = None
    printed: str = ""
    written: tuple[int, ...] = ()


def call(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    grad: bool = False,
    seconds: float | None = None,
) -> Outcome:
    """Call the function on copies of the arguments and tell what happened."""
    given = tuple(copied(a, grad) for a in arguments)
    printed = io.StringIO()
    with kept(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # which is for the libraries' authors
        try:
            with (
                contextlib.redirect_stdout(printed),
                displays(printed),
                torch.set_grad_enabled(True),
                time_limit(SECONDS if seconds is None else seconds),
            ):
                answer = function(*given)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # the reader's code may raise anything, SystemExit too
            return Outcome(error=error, printed=all_printed(printed, warned))
    if inspect.iscoroutine(answer):
        answer.close()
    return Outcome(answer, None, all_printed(printed, warned), changed(arguments, given))


@contextlib.contextmanager
def displays(printed: io.StringIO) -> Iterator[None]:
    """In a notebook, take what is displayed as text, too: else it would appear for each case."""
    if "ipykernel" not in sys.modules:
        yield
        return
    from IPython.utils.capture import capture_output

    captured = capture_output(stdout=False, stderr=False)
    try:
        with captured as shown:
            yield
    finally:
        for output in shown.outputs:
            print(output.data.get("text/plain", ""), file=printed)


def all_printed(printed: io.StringIO, warned: list[warnings.WarningMessage]) -> str:
    """What it printed, and of what it was warned."""
    said = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in warned)
    return "\n".join(filter(None, [printed.getvalue().rstrip(), *said]))


def plain_call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """Call a function of our own on copies of the arguments."""
    given = tuple(copied(a, grad=False) for a in arguments)
    try:
        answer = function(*given)
    except Exception as error:
        return Outcome(error=error)
    return Outcome(answer, written=changed(arguments, given))


def told(error: BaseException) -> str:
    """An exception in words, without the full stop that it may end in."""
    try:
        text = str(error).strip().rstrip(".")
    except Exception:  # a class of the reader's own
        text = ""
    short = text if len(text) < 400 else f"{text[:400]} …"
    return f"{type(error).__name__}: {short}".rstrip(": ")


def copied(x: Any, grad: bool) -> Any:
    if isinstance(x, Tensor):
        return x.detach().clone().requires_grad_(grad and x.is_floating_point())
    if isinstance(x, (list, tuple)):
        return type(x)(copied(item, grad) for item in x)
    return copy.deepcopy(x) if isinstance(x, (dict, set)) else x


def changed(arguments: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[int, ...]:
    """The places of the arguments that were written to."""
    pairs = enumerate(zip(arguments, given, strict=True))
    return tuple(i for i, (old, new) in pairs if not unchanged(old, new))


def unchanged(old: Any, new: Any) -> bool:
    """Whether an argument is as it was, in every item."""
    if isinstance(old, Tensor):
        if old.shape != new.shape or old.dtype != new.dtype:
            return False
        return bool(((old == new) | ((old != old) & (new != new))).all())
    if isinstance(old, (list, tuple)):
        return len(old) == len(new) and all(map(unchanged, old, new))
    return bool(old == new)
