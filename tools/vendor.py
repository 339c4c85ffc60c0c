"""Renew the JavaScript libraries that are copied into press/static: KaTeX and MiniSearch.

    .venv/bin/python -m tools.vendor            fetch the versions below again
    .venv/bin/python -m tools.vendor --upgrade  print what npm has that is newer

npm fetches a package and checks nothing that we know, so the hash below is compared with what came.
To raise a version, change it and its hash here, run this command, and read the difference.
"""

import base64
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from manuscript.common import ROOT, UserError, run_tool

STATIC = ROOT / "press" / "static"


class Package(NamedTuple):
    """A package of npm, and the files of it that are copied: pattern → folder or file."""

    version: str
    integrity: str  # as `npm view NAME@VERSION dist.integrity` prints it
    files: dict[str, str]


PACKAGES = {
    "katex": Package(
        "0.19.1",
        "sha512-jG8uKntjSEcm2EpQOh0XturpPuuC9r3Sq5HLHdsFdWZT27E672SF19QEi+of0/YeOy15lDgRhKvr5614uRrEfA==",
        {
            "dist/katex.min.js": "katex/katex.min.js",
            "dist/katex.min.css": "katex/katex.min.css",
            "dist/fonts/*.woff2": "katex/fonts/",
            "LICENSE": "katex/LICENSE",
        },
    ),
    "minisearch": Package(
        "7.2.0",
        "sha512-dqT2XBYUOZOiC5t2HRnwADjhNS2cecp9u+TJRiJ1Qp/f5qjkeT5APcGPjHw+bz89Ms8Jp+cG4AlE+QZ/QnDglg==",
        {
            "dist/umd/index.js": "minisearch/minisearch.js",
            "LICENSE.txt": "minisearch/LICENSE",
        },
    ),
}
# What is left out of a text: the older formats of fonts, and the name of a file that isn't copied
LEFT_OUT = re.compile(
    r',url\([^)]*\) format\("(?:woff|truetype)"\)|\n?//# sourceMappingURL=.*\n?', re.M
)


def fetch(name: str, package: Package, folder: Path) -> Path:
    """Fetch a package with npm, compare its hash, and unpack it.

    Raises:  UserError if npm fails or the hash differs
    """
    wanted = f"{name}@{package.version}"
    done = subprocess.run(
        ["npm", "pack", "--silent", wanted], cwd=folder, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        raise UserError(f"npm did not fetch {wanted}: {done.stderr.strip()}")
    archive = folder / done.stdout.strip().splitlines()[-1]
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != package.integrity.removeprefix("sha512-"):
        raise UserError(f"{wanted} has the hash sha512-{found}, and not {package.integrity}")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder / "package"


def copy(package: Package, source: Path, static: Path = STATIC) -> None:
    """Copy the files of an unpacked package into press/static."""
    for pattern, target in package.files.items():
        for file in sorted(source.glob(pattern)):
            to = static / target / (file.name if target.endswith("/") else "")
            content = file.read_bytes()
            if file.suffix in (".js", ".css"):
                content = LEFT_OUT.sub("", content.decode("utf-8")).encode("utf-8")
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(content)


def main() -> int:
    """Run the command."""
    for name, package in PACKAGES.items():
        if "--upgrade" in sys.argv:
            command = ["npm", "view", name, "version"]
            newest = subprocess.run(command, capture_output=True, encoding="utf-8").stdout.strip()
            print(f"{name} {package.version}, npm has {newest or 'not answered'}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            copy(package, fetch(name, package, Path(folder)))
    return 0


if __name__ == "__main__":
    run_tool(main)
