"""Read a chapter in a test: its cells by id, and the names that its code defines."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from manuscript.common import ROOT

BOOK = ROOT / "book"


class Chapter:
    """A notebook of the book."""

    def __init__(self, file: str) -> None:
        cells = json.loads((BOOK / file).read_text("utf-8"))["cells"]
        self.cells = {cell["id"]: cell | {"source": "".join(cell["source"])} for cell in cells}
        self.code = [name for name, cell in self.cells.items() if cell["cell_type"] == "code"]

    def source(self, name: str) -> str:
        """Return the text of a cell."""
        return self.cells[name]["source"]

    def printed(self) -> str:
        """Return everything that the chapter's cells print."""
        outputs = [output for name in self.code for output in self.cells[name]["outputs"]]
        return "".join("".join(output.get("text", "")) for output in outputs)

    def until(self, name: str) -> list[str]:
        """List the code cells after the imports, up to and including this one."""
        return self.code[self.code.index("imports") + 1 : self.code.index(name) + 1]

    def run(self, *names: str, **replaced: str) -> dict[str, Any]:
        """Run the import cell and these cells, some with new text; return the names they define."""
        space: dict[str, Any] = {}
        for name in ("imports", *names):
            exec(replaced.get(name, self.source(name)), space)
        return space


@pytest.fixture(scope="module", autouse=True)
def undisturbed() -> Iterator[None]:
    """A chapter's cells display no pictures, and their settings are reset after the tests.

    PyTorch uses one thread: on the chapters' small matrices, two would mostly wait for each other.
    """
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnbook.figures.canvas.display", lambda picture, raw: None)
        torch.set_num_threads(1)
        yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(torch.float32)
