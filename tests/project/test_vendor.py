"""The copied JavaScript libraries: what is left out of them, and that a wrong hash is refused."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from manuscript.common import UserError
from tools.vendor import PACKAGES, STATIC, Package, copy, fetch

CSS = '@font-face{src:url(a.woff2) format("woff2"),url(a.woff) format("woff")}'


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """An unpacked package."""
    folder = tmp_path / "package"
    (folder / "fonts").mkdir(parents=True)
    (folder / "a.css").write_text(CSS)
    (folder / "fonts" / "a.woff2").write_bytes(b"font")
    (folder / "fonts" / "a.woff").write_bytes(b"old")
    (folder / "a.js").write_text("run();\n//# sourceMappingURL=a.js.map\n")
    return folder


def test_only_what_is_named_is_copied_without_older_fonts(unpacked: Path, tmp_path: Path) -> None:
    files = {"a.css": "a/b.css", "fonts/*.woff2": "a/fonts/", "a.js": "a/a.js"}
    copy(Package("1", "", files), unpacked, tmp_path / "to")
    copied = {
        file.relative_to(tmp_path / "to").as_posix(): file.read_bytes().decode()
        for file in (tmp_path / "to").rglob("*")
        if file.is_file()
    }
    assert copied == {
        "a/a.js": "run();",
        "a/b.css": '@font-face{src:url(a.woff2) format("woff2")}',
        "a/fonts/a.woff2": "font",
    }


def test_another_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def npm(command: list[str], cwd: Path, **_rest: object) -> subprocess.CompletedProcess[str]:
        with tarfile.open(cwd / "a.tgz", "w:gz") as archive:
            archive.addfile(tarfile.TarInfo("package/a.js"), io.BytesIO())
        return subprocess.CompletedProcess(command, 0, "a.tgz\n", "")

    monkeypatch.setattr(subprocess, "run", npm)
    with pytest.raises(UserError, match=r"a@1 has the hash sha512-.*, and not sha512-other"):
        fetch("a", Package("1", "sha512-other", {}), tmp_path)
    assert not (tmp_path / "package").exists()


@pytest.mark.parametrize("name", PACKAGES)
def test_every_file_that_is_named_is_there(name: str) -> None:
    for target in PACKAGES[name].files.values():
        assert (STATIC / target).exists()
