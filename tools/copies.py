"""Copy the chapters into my/, where you may try and change everything. `make lab` calls this.

A copy is made once and never overwritten. When a chapter has changed since, one line says so, and
how to get the new one.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

from tools.common import ROOT


def main() -> int:
    """Copy what is missing in my/, and name the chapters of which there is a newer version."""
    for line in copy_notebooks(ROOT / "book", ROOT / "my"):
        print(line)
    return 0


def copy_notebooks(book: Path, mine: Path) -> list[str]:
    """Copy each notebook that has no copy yet; return a line for each outdated copy.

    A hidden file in `mine` notes which version of a chapter each copy was made from, since the
    copy itself may have changed.
    """
    mine.mkdir(exist_ok=True)
    notes = mine / ".copied.json"
    copied: dict[str, str] = json.loads(notes.read_text("utf-8")) if notes.exists() else {}
    outdated = []
    for chapter in sorted(book.glob("*.ipynb")):
        copy = mine / chapter.name
        version = digest(chapter)
        if not copy.exists():
            shutil.copyfile(chapter, copy)
        if digest(copy) == version:
            copied[chapter.name] = version
        elif copied.get(chapter.name) != version:
            outdated.append(
                f"{chapter.name} has a newer version: to get it, rename my/{chapter.name} "
                "and say make lab again"
            )
    notes.write_text(json.dumps(copied, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return outdated


def digest(path: Path) -> str:
    """A fingerprint of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
