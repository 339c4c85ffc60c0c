"""Call a reader's function so that nothing it does can hurt: no endless loop, no side effect."""

import contextlib
import io
import linecache
import random
import re
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor

SECONDS = 3.0


class TooLong(BaseException):
    """The function ran past the limit. No Exception, so that `except Exception` lets it through."""


@dataclass(frozen=True)
class Outcome:
    """What a call gave: an answer or an error, what it printed, and which arguments it wrote to."""

    answer: Any = None
    error: BaseException | None = None
    printed: str = ""
    written: tuple[int, ...] = ()


def call(function: Callable[..., Any], arguments: tuple[Any, ...], grad: bool = False) -> Outcome:
    """Call the function on copies of the arguments and tell what happened."""
    given = tuple(copied(a, grad) for a in arguments)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), torch.set_grad_enabled(True), time_limit(SECONDS):
            answer = function(*given)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # the reader's code may raise anything, SystemExit too
        return Outcome(error=error, printed=printed.getvalue())
    pairs = enumerate(zip(arguments, given, strict=True))
    written = tuple(i for i, (old, new) in pairs if not unchanged(old, new))
    return Outcome(answer, None, printed.getvalue(), written)


def copied(x: Any, grad: bool) -> Any:
    if isinstance(x, Tensor):
        return x.detach().clone().requires_grad_(grad and x.is_floating_point())
    if isinstance(x, (list, tuple)):
        return type(x)(copied(item, grad) for item in x)
    return dict(x) if isinstance(x, dict) else x


def unchanged(old: Any, new: Any) -> bool:
    if isinstance(old, Tensor):
        return old.shape == new.shape and bool(torch.equal(old, new.detach()))
    if isinstance(old, (list, tuple)):
        return len(old) == len(new) and all(map(unchanged, old, new))
    return bool(old == new) if isinstance(old, dict) else True


@contextlib.contextmanager
def keep_random_states() -> Iterator[None]:
    """Give PyTorch, Python and NumPy back the random states that they had."""
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])  # noqa: NPY002


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what computes longer. Without alarms (Windows, other threads) there is no limit."""
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    computed, waited = time.thread_time(), time.monotonic()

    def ring(number: int, frame: FrameType | None) -> None:
        # On a busy machine a function may wait for its turn much longer than it computes.
        if (
            time.thread_time() - computed > 0.9 * seconds
            or time.monotonic() - waited > 10 * seconds
        ):
            raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)  # again, if an `except:` swallows the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def own_line(function: Callable[..., Any], error: BaseException | None) -> str:
    """The reader's own line in which the error arose, and the shapes of what stands in it."""
    code = code_of(function)
    frames = traceback.walk_tb(error.__traceback__ if error else None)
    own = [f for f in frames if code and f[0].f_code.co_filename == code.co_filename]
    if not own:
        return ""
    frame, number = own[-1]
    line = linecache.getline(frame.f_code.co_filename, number).strip()
    here = {**frame.f_globals, **frame.f_locals}
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", line))
    met = [f"{n} {tuple(here[n].shape)}" for n in names if isinstance(here.get(n), Tensor)]
    where = f"\nwhere          {', '.join(met)}" if met else ""
    return line and f"in your line   {line}{where}"


def code_of(function: Callable[..., Any]) -> CodeType | None:
    """The code of a function, a method, a module's forward, or an object that can be called."""
    for candidate in (function, getattr(function, "forward", None), type(function).__call__):
        code = getattr(getattr(candidate, "__func__", candidate), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None
