"""A progress bar for long training runs, in a terminal or a notebook, which leaves no output."""

import sys
from collections.abc import Callable, Iterator


def with_progress(steps: range) -> Iterator[int]:
    """Yield the steps and show a progress bar, which is removed at the end."""
    show_line = progress_line()
    try:
        for count, step in enumerate(steps):
            if 50 * count // len(steps) != 50 * (count - 1) // len(steps):
                show_line(f"{'█' * (50 * count // len(steps)):░<50} step {step} of {steps.stop}")
            yield step
    finally:
        show_line("")


def progress_line() -> Callable[[str], None]:
    """A function that shows a line in place of the previous one, in a terminal or a notebook.

    The function does nothing elsewhere, or in a notebook that is run by a program, as when the book
    is built: such a notebook's kernel does not allow input.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(getattr(shell, "kernel", None), "_allow_stdin", False):
        from IPython.display import display  # imported here because it is slow

        handle = display({"text/plain": ""}, raw=True, display_id=True)
        return lambda line: handle.update({"text/plain": line}, raw=True)
    if sys.stderr.isatty():
        return lambda line: print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    return lambda line: None
