"""Check all files without running the book: `make check`.

It runs linters (for Python and JavaScript), the formatter, the type checker, the rules for pages,
and a check that the lock matches the requirements. In the GitHub workflows, check-jsonschema finds
misspelled keys, and zizmor finds unsafe settings.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from manuscript.common import ROOT, UserError, run_tool

WORKFLOWS = [str(path) for path in (ROOT / ".github" / "workflows").glob("*.yml")]
SCHEMA = ["check-jsonschema", "--quiet", "--builtin-schema"]
COMMANDS = [
    ["ruff", "check"],
    ["ruff", "format", "--check"],
    [
        "oxlint",
        "--config=press/oxlint.json",
        "--ignore-pattern=press/static/minisearch",
        "press/static",
        "press/live",
        "src/attnbook/widgets/scripts",
    ],
    ["python", "-m", "tools.rules"],
    ["python", "-m", "tools.lock", "--check"],
    ["zizmor", "--offline", "--quiet", "--no-progress", "--persona", "pedantic", ".github"],
    [*SCHEMA, "vendor.github-workflows", *WORKFLOWS],
    [*SCHEMA, "vendor.dependabot", ".github/dependabot.yml"],
    ["mypy"],  # the slowest, so its report comes last
]


def main() -> int:
    """Run all checks at once, print their reports in order, and name those that failed."""
    failed = []
    with ThreadPoolExecutor(len(COMMANDS)) as pool:
        for command, result in zip(COMMANDS, pool.map(run, COMMANDS), strict=True):
            sys.stdout.buffer.write(result.stdout)
            sys.stdout.flush()
            if result.returncode:
                failed.append(" ".join(command[:3]))
    if failed:
        raise UserError(f"failed: {', '.join(failed)}; see above")
    return 0


def run(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a program from the environment, and return what it prints."""
    program = shutil.which(command[0], path=Path(sys.executable).parent) or command[0]
    variables = {name: value for name, value in os.environ.items() if value}  # zizmor rejects ""
    return subprocess.run(
        [program, *command[1:]],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


if __name__ == "__main__":
    run_tool(main)
