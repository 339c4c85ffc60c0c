"""A time limit for the reader's code."""

import contextlib
import ctypes
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

INTERVAL = 0.05  # seconds between two attempts to stop it


class TimeLimitExceeded(BaseException):
    """The code ran longer than its limit.

    It is not an Exception, so that the reader's own `except Exception` does not catch it.
    """


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop the block once it has computed for longer than `seconds`.

    On the main thread an alarm signal interrupts any code, even code that waits. On Windows and on
    other threads, Python is asked to raise before its next line. Neither can interrupt a loop
    inside one call of a C function, such as `sum(range(10**12))`: only restarting the kernel ends
    that.

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
        if is_over():
            raise TimeLimitExceeded

    old_handler = signal.signal(signal.SIGALRM, handle)
    # The alarm repeats, in case an `except:` of the reader's catches the first exception.
    old_timer = signal.setitimer(signal.ITIMER_REAL, seconds, INTERVAL)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *old_timer)
        signal.signal(signal.SIGALRM, old_handler)


@contextlib.contextmanager
def stop_from_thread(is_over: Callable[[], bool]) -> Iterator[None]:
    """Have a second thread raise TimeLimitExceeded in this one."""
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
