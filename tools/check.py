"""Check all files without running the book: `make check`.

Lint, format and types; the rules for pages; whether the lock fits its requirements; and what runs
on GitHub, where check-jsonschema finds a misspelt key and zizmor what is unsafe.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.common import ROOT, run_tool

WORKFLOWS = [str(path) for path in (ROOT / ".github" / "workflows").glob("*.yml")]
SCHEMA = ["check-jsonschema", "--quiet", "--builtin-schema"]
COMMANDS = [
    ["ruff", "check"],
    ["ruff", "format", "--check"],
    ["mypy"],
    ["python", "-m", "tools.rules"],
    ["python", "-m", "tools.lock", "--check"],
    ["zizmor", "--offline", "--quiet", "--no-progress", "--persona", "pedantic", ".github"],
    [*SCHEMA, "vendor.github-workflows", *WORKFLOWS],
    [*SCHEMA, "vendor.dependabot", ".github/dependabot.yml"],
]


def main() -> int:
    """Run every check, also after one that failed; 1 if any did."""
    status = 0
    variables = {
        name: value for name, value in os.environ.items() if value
    }  # zizmor refuses an empty token
    for program, *arguments in COMMANDS:
        path = shutil.which(program, path=Path(sys.executable).parent) or program
        status |= subprocess.run([path, *arguments], cwd=ROOT, env=variables).returncode != 0
    return status


if __name__ == "__main__":
    run_tool(main)
