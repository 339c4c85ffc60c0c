"""Check what runs on GitHub, without a network: part of `make check`.

check-jsonschema finds a misspelt key, zizmor what is unsafe: an action that is not pinned by its
hash, a permission too many, a text from outside that ends up in a command.

    .venv/bin/python -m tools.workflows [folder]    (.github, unless another is named)
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.common import ROOT

SCHEMAS = {"workflows/*.yml": "vendor.github-workflows", "dependabot.yml": "vendor.dependabot"}


def main(arguments: list[str]) -> int:
    """Check all files of a folder; print what is wrong, and return the exit status."""
    folder = Path(arguments[0]) if arguments else ROOT / ".github"
    zizmor = shutil.which("zizmor", path=Path(sys.executable).parent) or "zizmor"
    commands = [[zizmor, "--offline", "--quiet", "--persona", "pedantic", str(folder)]]
    for pattern, schema in SCHEMAS.items():
        files = [str(path) for path in sorted(folder.glob(pattern))]
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
        commands += [command + files] if files else []
    tokens = {"GH_TOKEN", "GITHUB_TOKEN", "ZIZMOR_GITHUB_TOKEN"}  # an empty one is refused
    environment = {name: value for name, value in os.environ.items() if name not in tokens}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    status = 0
    for checker in [
        subprocess.Popen(each, encoding="utf-8", env=environment, **pipes) for each in commands
    ]:
        said = checker.communicate()[0]
        if checker.returncode:
            print(said, file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
