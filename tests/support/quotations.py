"""Hashes of the five source texts, so that a test can check quotations without the texts.

The texts belong to other people and are not part of the book. `quotations.json` has a hash of
every four consecutive Chinese characters in them. Each hash is cut to 16 bits, so that nobody can
reconstruct a text: after any three characters, 30 to 75 of 3,000 possible next characters would
match (with 24 bits, only one or two). As a result, four invented characters pass as a quotation in
up to 1 of 40 cases. Eight invented characters, checked as five groups of four, pass in 1 of 100
million cases.

To regenerate the file, put the five texts in a folder, with names that sort as S0 to S4, and run

    .venv/bin/python -m tests.support.quotations FOLDER
"""

import hashlib
import json
import re
import sys
from pathlib import Path

from attnbook.language import HAN

HASHES = Path(__file__).with_name("quotations.json")
LENGTH = 4
CHINESE = re.compile(rf"[{HAN}]{{{LENGTH},}}")


def digests(text: str) -> set[str]:
    """Return the hashes of every four consecutive Chinese characters."""
    runs = CHINESE.findall(text)
    fours = {run[i : i + LENGTH] for run in runs for i in range(len(run) - LENGTH + 1)}
    return {hashlib.sha256(four.encode()).hexdigest()[:4] for four in fours}


def write(folder: Path) -> None:
    """Write the hashes of the texts in a folder."""
    files = sorted(folder.glob("*.txt"))
    if len(files) != 5:
        sys.exit(f"{folder}: {len(files)} texts, where S0 to S4 are five")
    hashes = {f"S{i}": "".join(sorted(digests(f.read_text("utf8")))) for i, f in enumerate(files)}
    HASHES.write_text(json.dumps(hashes, indent=0) + "\n", "utf8")


def read() -> dict[str, set[str]]:
    """Return the hashes of each text."""
    return {s: set(re.findall("....", h)) for s, h in json.loads(HASHES.read_text()).items()}


if __name__ == "__main__":
    write(Path(sys.argv[1]))
