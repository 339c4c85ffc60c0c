"""Limits on the time of the reader's code and, on Linux, on its memory."""

import contextlib
import ctypes
import gc
import math
import mmap
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

INTERVAL = 0.05  # seconds between two attempts to stop the code
MEMORY_USE = Path("/proc/self/statm")  # only Linux has it; its sixth number counts pages of data
OWN_GROUP = Path("/proc/self/cgroup")  # names the control group of the program
CONTROL_GROUPS = Path("/sys/fs/cgroup")
LEAST = 2**28  # bytes that every answer gets, even if a control group is nearly full
LEFT_BEHIND = 2**26  # bytes; less is left to the usual garbage collection
OWN_FILES = (__file__, contextlib.__file__)


class TimeLimitExceeded(BaseException):
    """The code ran longer than its limit.

    This class is not an Exception, so that the reader's own `except Exception` does not catch it.
    """


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop the block once it has computed for longer than `seconds`.

    On the main thread an alarm signal interrupts any code, even code that waits. On Windows and on
    other threads, Python is asked to raise the exception before the next line. Neither method can
    interrupt a loop inside one call to a C function, such as `sum(range(10**12))`, or a loop that
    catches every exception with a bare `except:`, even that of an interrupt. In a notebook, only
    restarting the kernel ends such a loop; in a terminal, the process that runs the file is ended.

    Raises:  TimeLimitExceeded
    """
    computed, started = time.process_time(), time.monotonic()

    def is_over() -> bool:
        # On a busy machine a function may wait for the processor much longer than it computes.
        passed = time.monotonic() - started
        return passed > 10 * seconds or (
            passed > 0.9 * seconds and time.process_time() - computed > 0.9 * seconds
        )

    on_main = threading.current_thread() is threading.main_thread()
    has_alarm = on_main and hasattr(signal, "setitimer")
    with stop_by_alarm(seconds, is_over) if has_alarm else stop_from_thread(is_over):
        yield


@contextlib.contextmanager
def stop_by_alarm(seconds: float, is_over: Callable[[], bool]) -> Iterator[None]:
    """Raise TimeLimitExceeded from a signal handler, and restore the old handler and timer."""

    def handle(number: int, frame: FrameType | None) -> None:
        is_leaving = frame and frame.f_code.co_filename in OWN_FILES  # the block has ended
        if is_over() and not is_leaving:
            raise TimeLimitExceeded

    old_handler = signal.signal(signal.SIGALRM, handle)
    # The alarm repeats: on a busy machine the time may not be over when the first one comes.
    old_timer = signal.setitimer(signal.ITIMER_REAL, seconds, INTERVAL)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *old_timer)
        signal.signal(signal.SIGALRM, old_handler)


@contextlib.contextmanager
def stop_from_thread(is_over: Callable[[], bool]) -> Iterator[None]:
    """Have a second thread raise TimeLimitExceeded in this thread."""
    target, done = threading.get_ident(), threading.Event()

    def watch() -> None:
        while not done.wait(INTERVAL):
            if is_over():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(target), ctypes.py_object(TimeLimitExceeded)
                )

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        try:
            done.set()
            watcher.join()
        finally:  # cancel an exception that was requested and has not been raised yet
            done.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(target), None)


class Budget(NamedTuple):
    """Memory in bytes: what the program used at first, and how much more it may use."""

    in_use: int
    more: int


def memory_in_use(place: int = 5) -> int:
    """Return how many bytes of data the program has allocated, or 0 on systems other than Linux.

    Place 1 counts those that are in memory, which may be fewer.
    """
    return int(MEMORY_USE.read_text().split()[place]) * mmap.PAGESIZE if MEMORY_USE.exists() else 0


def memory_budget(n_bytes: int) -> Budget | None:
    """Return a budget of n_bytes, or of less if the program's control group leaves less.

    Only Linux counts memory in a way that allows a limit for a single block; elsewhere, None.
    """
    if not MEMORY_USE.exists():
        return None
    room = max(0.9 * room_in_control_groups(), LEAST)  # some is left for the program around it
    return Budget(memory_in_use(), round(min(n_bytes, room)))


def room_in_control_groups() -> float:
    """Return how many bytes the program's control groups leave to it, or infinity.

    Cached files do not count as used, because Linux drops them when a program needs memory.
    """
    rooms = [math.inf]
    with contextlib.suppress(OSError):
        lines = OWN_GROUP.read_text().splitlines()
        names = [line.removeprefix("0::/") for line in lines if line.startswith("0::/")]
        for group in [CONTROL_GROUPS / name for name in names]:
            rooms += [room_in(folder) for folder in (group, *group.parents)]
    return min(rooms)


def room_in(group: Path) -> float:
    """Return how many bytes this control group leaves, or infinity if it has no limit."""
    with contextlib.suppress(OSError, ValueError, KeyError):  # the limit may be "max"
        most = int((group / "memory.max").read_text())
        lines = (group / "memory.stat").read_text().splitlines()
        return most - int(dict(line.split() for line in lines)["anon"])
    return math.inf


@contextlib.contextmanager
def memory_limit(budget: Budget | None) -> Iterator[None]:
    """Make allocations in the block fail once the program has used up its budget."""
    if budget is None:
        yield
        return
    import resource  # which does not exist on Windows

    old, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = budget.in_use + budget.more
    if 0 <= old < allowed:  # a negative number means no limit
        yield
        return
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (old, hard))


@contextlib.contextmanager
def garbage_collected() -> Iterator[None]:
    """Free what the block leaves behind if it is large: a traceback keeps all that it has seen."""
    before = memory_in_use(1)
    try:
        yield
    finally:
        if memory_in_use(1) > before + LEFT_BEHIND:
            gc.collect()
            with contextlib.suppress(AttributeError, OSError):  # only glibc keeps what is freed
                ctypes.CDLL(None).malloc_trim(0)
