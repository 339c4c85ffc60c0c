"""`make lock` and `make upgrade` from start to finish, on packages made for these tests."""

import re
import sys
from pathlib import Path

import pytest

from manuscript.common import ROOT, UserError
from tests.support.wheels import make_wheel, only_wheels
from tools import lock

REQUIREMENTS = """\
-c limits.txt

torch==1.0       # the tensors
needed==1.0      # an explanation that stays
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout with a lock file, and a folder of packages beside it."""
    root, wheels = tmp_path / "project", tmp_path / "wheels"
    (root / "binder").mkdir(parents=True)
    monkeypatch.setattr(lock, "ROOT", root)
    for name in ("REQUIREMENTS", "LOCK", "BINDER"):
        path = root / getattr(lock, name).relative_to(ROOT)
        monkeypatch.setattr(lock, name, path)
        path.write_text("")
    only_wheels(monkeypatch, wheels)
    monkeypatch.setenv("PATH", "")  # otherwise uv starts each Python that it finds there
    make_wheel(wheels, "torch", "1.0", "needed>=1", "below")
    make_wheel(wheels, "needed", "1.0")
    make_wheel(wheels, "below", "1.0")
    (root / "limits.txt").write_text("needed<3  # why\n")
    lock.REQUIREMENTS.write_text(REQUIREMENTS)
    lock.BINDER.write_text("--no-index\ntorch==0.1+cpu\nneeded==0.1\n")
    use(monkeypatch)
    return root


def use(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Run the tool with these arguments."""
    monkeypatch.setattr(sys, "argv", ["lock", *arguments])
    assert lock.main() == 0


def locked() -> dict[str, str]:
    """Return the packages in the lock file, each of which has one hash."""
    pattern = r"^([\w-]+)==(\S+) \\\n    --hash=sha256:[0-9a-f]{64}$"
    return dict(re.findall(pattern, lock.LOCK.read_text(), re.M))


def test_the_lock_keeps_versions_and_reports_when_it_is_out_of_date(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locked() == {"needed": "1.0", "below": "1.0"}  # torch is left out
    assert lock.BINDER.read_text() == "--no-index\ntorch==1.0+cpu\nneeded==1.0\n"
    before = lock.LOCK.read_bytes()
    make_wheel(project.parent / "wheels", "below", "2.0")
    use(monkeypatch)
    assert lock.LOCK.read_bytes() == before

    monkeypatch.setattr(sys, "argv", ["lock", "--check"])
    for name, old, new in (
        ("requirements.txt", "needed==1.0", "needed==2.0"),
        ("requirements-lock.txt", "needed==1.0", "needed==0.9"),
        ("binder/requirements.txt", "needed==1.0", "needed==0.9"),
    ):
        text = (project / name).read_text()
        (project / name).write_text(text.replace(old, new))
        with pytest.raises(UserError, match="out of date: run make lock"):
            lock.main()
        (project / name).write_text(text)
    assert lock.main() == 0


def test_an_upgrade_raises_allowed_versions_and_reports_changes(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheels = project.parent / "wheels"
    for name, version in ("needed", "2.0"), ("needed", "3.0"), ("below", "2.0"):
        make_wheel(wheels, name, version)
    make_wheel(wheels, "torch", "2.0", "needed", "below")
    capsys.readouterr()
    use(monkeypatch, "--upgrade")
    said = capsys.readouterr().out
    assert re.match(r"below +1\.0 +2\.0\nneeded +1\.0 +2\.0\n.* is written\.\n", said)
    assert lock.REQUIREMENTS.read_text() == REQUIREMENTS.replace("needed==1.0 ", "needed==2.0 ")
    assert lock.BINDER.read_text() == "--no-index\ntorch==1.0+cpu\nneeded==2.0\n"
    assert locked() == {"needed": "2.0", "below": "2.0"}
    use(monkeypatch, "--check")


def test_one_package_is_raised_alone_and_pytorch_only_by_name(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("needed", "below", "torch"):
        make_wheel(project.parent / "wheels", name, "2.0")
    use(monkeypatch, "--upgrade", "below")
    assert locked() == {"needed": "1.0", "below": "2.0"}
    capsys.readouterr()
    use(monkeypatch, "--upgrade", "below")
    assert capsys.readouterr().out == "requirements-lock.txt is unchanged.\n"
    use(monkeypatch, "--upgrade", "torch")
    assert "torch==2.0       # the tensors" in lock.REQUIREMENTS.read_text()
    assert "torch==2.0+cpu" in lock.BINDER.read_text()


def test_an_upgrade_that_cannot_be_resolved_changes_no_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "limits.txt").write_text("needed<1\n")
    files = {path: path.read_bytes() for path in (lock.REQUIREMENTS, lock.LOCK, lock.BINDER)}
    with pytest.raises(UserError, match=r"uv found no versions that fit together: (?s:.*)needed"):
        use(monkeypatch, "--upgrade")
    assert {path: path.read_bytes() for path in files} == files
    with pytest.raises(UserError, match=r"other is not among the packages in requirements-lock"):
        use(monkeypatch, "--upgrade", "other")
