"""Call a reader's function safely: with limits and without side effects on the program."""

import contextlib
import copy
import inspect
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.exercises.checker.answers import is_dense
from attnbook.exercises.checker.excerpts import format_error
from attnbook.exercises.checker.limits import Budget, memory_budget, memory_limit, time_limit
from attnbook.exercises.checker.restore_state import preserved_state

SECONDS = 3.0
GIGABYTES = 2.0  # of memory that an answer may use in all cases together, if there is that much

is_running = ContextVar("is_running", default=False)  # whether a reader's function is running


class CheckInsideAnswer(Exception):
    """The reader's function has called `check`, which would call the function again, endlessly."""


class Printed(io.StringIO):
    """Collects what a function prints, and stays open even if the function closes its output."""

    def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Outcome:
    """The result of a call: an answer or an exception, and what it printed.

    `modified` contains the indices of the arguments that the function wrote to. After an exception,
    `gigabytes` is how much memory the call was allowed.
    """

    answer: Any = None
    error: BaseException | None = None
    printed: str = ""
    modified: tuple[int, ...] = ()
    gigabytes: float = GIGABYTES


def call(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    grad: bool = False,
    seconds: float | None = None,
    budget: Budget | None = None,
) -> Outcome:
    """Call a reader's function on copies of the arguments, for at most `seconds` (or SECONDS).

    The memory is limited by the budget, or else by a new one. With `grad`, the copies of
    floating-point tensors require gradients. What the function raises is in the outcome; only
    KeyboardInterrupt and GeneratorExit are passed on to the caller.
    """
    copies = tuple(copy_argument(a, grad) for a in arguments)
    stream = Printed()
    budget = budget or new_budget()
    with preserved_state(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # meant for the libraries' authors
        try:
            with (
                contextlib.redirect_stdout(stream),
                capture_displays(stream),
                torch.set_grad_enabled(True),
                marked_as_running(),
                memory_limit(budget),
                time_limit(SECONDS if seconds is None else seconds),
            ):
                answer = function(*copies)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # the reader's code may raise anything, even SystemExit
            gigabytes = budget.more / 2**30 if budget else GIGABYTES
            printed = output_and_warnings(stream, warned)
            return Outcome(error=error, printed=printed, gigabytes=gigabytes)
    if inspect.iscoroutine(answer):
        answer.close()
    printed = output_and_warnings(stream, warned)
    return Outcome(without_base(answer), None, printed, modified_arguments(arguments, copies))


def new_budget() -> Budget | None:
    """Return the memory for an answer: at most GIGABYTES, or no limit if CUDA is in use."""
    return None if torch.cuda.is_initialized() else memory_budget(round(GIGABYTES * 2**30))


def without_base(x: Any) -> Any:
    """Copy a tensor that is a small part of a large one, which it would keep in memory."""
    if not is_dense(x) or x.untyped_storage().nbytes() <= 2 * x.nbytes + 2**20:
        return x
    return x.detach().clone()


@contextlib.contextmanager
def marked_as_running() -> Iterator[None]:
    """Make `is_running` true in the block."""
    token = is_running.set(True)
    try:
        yield
    finally:
        is_running.reset(token)


@contextlib.contextmanager
def capture_displays(stream: io.StringIO) -> Iterator[None]:
    """In a notebook, write displayed output to the stream instead of showing it for each case."""
    if "ipykernel" not in sys.modules:
        yield
        return
    from IPython.utils.capture import capture_output

    captured = capture_output(stdout=False, stderr=False)
    try:
        with captured as displayed:
            yield
    finally:
        for output in displayed.outputs:
            print(output.data.get("text/plain", ""), file=stream)


def output_and_warnings(stream: io.StringIO, warned: list[warnings.WarningMessage]) -> str:
    """Return what a call printed, then each distinct warning on its own line."""
    messages = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in warned)
    return "\n".join(filter(None, [stream.getvalue().rstrip(), *messages]))


def call_trusted(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """Call an exercise author's function on copies of the arguments, without protection.

    If the function raises an Exception, the outcome contains the exception.
    """
    copies = tuple(copy_argument(a, grad=False) for a in arguments)
    try:
        answer = function(*copies)
    except Exception as error:
        return Outcome(error=error)
    return Outcome(answer, modified=modified_arguments(arguments, copies))


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether Python, NumPy or PyTorch could not allocate memory, on any device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in format_error(error)


def copy_argument(x: Any, grad: bool) -> Any:
    if isinstance(x, Tensor):
        return x.detach().clone().requires_grad_(grad and x.is_floating_point())
    if isinstance(x, (list, tuple)):
        return type(x)(copy_argument(item, grad) for item in x)
    return copy.deepcopy(x) if isinstance(x, (dict, set, nn.Module)) else x


def modified_arguments(arguments: tuple[Any, ...], copies: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the indices of the arguments whose copies a call wrote to."""
    pairs = enumerate(zip(arguments, copies, strict=True))
    return tuple(i for i, (old, new) in pairs if not is_unmodified(old, new))


def is_unmodified(old: Any, new: Any) -> bool:
    """Return whether a copied argument still equals the original in every item."""
    if isinstance(old, Tensor):
        if old.shape != new.shape or old.dtype != new.dtype:
            return False
        return bool(((old == new) | ((old != old) & (new != new))).all())
    if isinstance(old, (list, tuple)):
        return len(old) == len(new) and all(map(is_unmodified, old, new))
    if isinstance(old, nn.Module):
        return is_unmodified(contents(old), contents(new))
    return bool(old == new)


def contents(module: nn.Module) -> list[Any]:
    """Return a module's parameters and buffers, and the number of its hooks."""
    hooks = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())
    return [*module.state_dict().values(), hooks]
