"""Where the tests of the pages open the book: from its folder, or from a server."""

from collections.abc import Iterator

import pytest

from tests.support.pages import FOLDER, QUIET, serving


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a web server over the built book."""
    with serving(QUIET) as address:
        yield address


@pytest.fixture(scope="session", params=["folder", "server"])
def base(request: pytest.FixtureRequest, server: str) -> str:
    """Where the book is opened."""
    return FOLDER if request.param == "folder" else server
