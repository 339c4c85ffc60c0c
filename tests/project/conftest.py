"""What tests of this folder share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.common import ROOT


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place under the project, so that its conftest.py is in force."""
    (ROOT / "_build").mkdir(exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="test-", dir=ROOT / "_build"))
    yield path
    shutil.rmtree(path)
