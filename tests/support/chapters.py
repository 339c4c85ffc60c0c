"""A chapter as its tests see it: what its cells say and print, and what their code makes."""

import json
from typing import Any

from tools.common import ROOT

BOOK = ROOT / "book"


class Chapter:
    """A notebook of the book, its cells by id."""

    def __init__(self, file: str) -> None:
        cells = json.loads((BOOK / file).read_text("utf-8"))["cells"]
        self.cells = {cell["id"]: cell for cell in cells}
        self.code = [name for name, cell in self.cells.items() if cell["cell_type"] == "code"]

    def source(self, name: str) -> str:
        """What the cell says."""
        return "".join(self.cells[name]["source"])

    def printed(self, name: str) -> str:
        """What stands under it."""
        outputs = self.cells[name]["outputs"]
        return "".join("".join(output.get("text", "")) for output in outputs)

    def alt(self, name: str) -> str:
        """The words that stand for its picture."""
        return self.cells[name]["metadata"]["mystnb"]["image"]["alt"]

    def until(self, name: str) -> list[str]:
        """The code cells after the imports, to this one."""
        return self.code[self.code.index("imports") + 1 : self.code.index(name) + 1]

    def run(self, *names: str, **replaced: str) -> dict[str, Any]:
        """The names that exist after the import cell and these, the text of some replaced."""
        space: dict[str, Any] = {}
        for name in ("imports", *names):
            exec(replaced.get(name, self.source(name)), space)
        return space
