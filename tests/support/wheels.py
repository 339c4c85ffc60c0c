"""Make wheels for a test, in a local folder that replaces the package index."""

import hashlib
import os
import zipfile
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str, *needs: str) -> str:
    """Write a wheel of one module that defines VERSION; return its entry for a lock file."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {need}\n" for need in needs),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in files) + f"{info}/RECORD,,\n"
    folder.mkdir(exist_ok=True)
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{name}=={version} \\\n    --hash=sha256:{digest}\n"


def only_wheels(monkeypatch, folder: Path) -> None:
    """Let pip and uv, even in child processes, find only these wheels."""
    for name in os.environ:
        if name.startswith(("PIP_", "UV_", "ATTNBOOK_TORCH")):
            monkeypatch.delenv(name)
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "PIP_CONFIG_FILE": os.devnull}
    settings |= {
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": folder,
        "UV_NO_CACHE": "1",
        "UV_NO_CONFIG": "1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
