"""The attention book's library: one definition per idea, from the dot product upward.

`from attnbook import ...` offers the names of `attnbook.public`, which is imported when the first
of them is used. So `attnbook.language` and `attnbook.colors` can be used without waiting for
PyTorch.

Docstrings name their sources. S0 to S4 are the five texts that the book follows: its appendix on
sources lists them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnbook.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Return a public name, or the list of them for `from attnbook import *`."""
    if name == "__all__" or not name.startswith("_"):
        public = import_module("attnbook.public")
        if name == "__all__" or name in public.__all__:
            return globals().setdefault(name, getattr(public, name))
    raise AttributeError(f"module 'attnbook' has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*globals(), *import_module("attnbook.public").__all__]
