"""A limit of time for what the reader wrote."""

import contextlib
import ctypes
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType


class TooLong(BaseException):
    """The function ran past the limit. No Exception, so that `except Exception` lets it through."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what computes longer: by an alarm, or, where there is none, from another thread.

    An alarm reaches whatever waits. On Windows, and off the main thread, Python is asked to raise
    at its next line. Neither reaches a loop that runs inside one call of a C function, such as
    `sum(range(10**12))`: only a restart of the kernel ends that.
    """
    computed, waited = time.process_time(), time.monotonic()

    def is_over() -> bool:
        # On a busy machine a function may wait for its turn much longer than it computes.
        passed = time.monotonic() - waited
        return passed > 10 * seconds or (
            passed > 0.9 * seconds and time.process_time() - computed > 0.9 * seconds
        )

    main = threading.current_thread() is threading.main_thread()
    with alarm(seconds, is_over) if main and hasattr(signal, "setitimer") else watch(is_over):
        yield


@contextlib.contextmanager
def alarm(seconds: float, is_over: Callable[[], bool]) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        if is_over():
            raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    # again and again, if an `except:` swallows the first
    theirs = signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *theirs)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def watch(is_over: Callable[[], bool]) -> Iterator[None]:
    watched, done = threading.get_ident(), threading.Event()

    def look() -> None:
        while not done.wait(0.05):
            if is_over():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(watched), ctypes.py_object(TooLong)
                )

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        try:
            done.set()
            watcher.join()
        finally:  # the request may have been on its way
            done.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(watched), None)
