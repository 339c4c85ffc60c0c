"""Fixtures for the tests in this folder."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from manuscript.common import ROOT


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder where the project's conftest.py applies."""
    (ROOT / "_build").mkdir(exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="test-", dir=ROOT / "_build"))
    yield path
    shutil.rmtree(path)
