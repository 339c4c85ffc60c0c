"""Check all files without running the book: `make check`.

Lint, of scripts too, format and types; the rules for pages; whether the lock fits its requirements;
and what runs on GitHub, where check-jsonschema finds a misspelled key and zizmor what is unsafe.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.common import ROOT, UserError, run_tool

WORKFLOWS = [str(path) for path in (ROOT / ".github" / "workflows").glob("*.yml")]
SCHEMA = ["check-jsonschema", "--quiet", "--builtin-schema"]
COMMANDS = [
    ["ruff", "check"],
    ["ruff", "format", "--check"],
    ["oxlint", "--config=press/oxlint.json", "press/static", "src/attnbook/widgets/scripts"],
    ["python", "-m", "tools.rules"],
    ["python", "-m", "tools.lock", "--check"],
    ["zizmor", "--offline", "--quiet", "--no-progress", "--persona", "pedantic", ".github"],
    [*SCHEMA, "vendor.github-workflows", *WORKFLOWS],
    [*SCHEMA, "vendor.dependabot", ".github/dependabot.yml"],
    ["mypy"],  # the slowest, so that the others are read while it runs
]


def main() -> int:
    """Run every check at once, and print what each says in their order, at last which failed."""
    failed = []
    with ThreadPoolExecutor(len(COMMANDS)) as pool:
        for command, done in zip(COMMANDS, pool.map(run, COMMANDS), strict=True):
            sys.stdout.buffer.write(done.stdout)
            sys.stdout.flush()
            if done.returncode:
                failed.append(" ".join(command[:3]))
    if failed:
        raise UserError(f"refused by {', '.join(failed)}: see above")
    return 0


def run(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a program of the environment, and keep what it prints."""
    program = shutil.which(command[0], path=Path(sys.executable).parent) or command[0]
    variables = {name: value for name, value in os.environ.items() if value}  # zizmor: no "" token
    return subprocess.run(
        [program, *command[1:]],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


if __name__ == "__main__":
    run_tool(main)
