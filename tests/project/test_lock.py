"""`make lock` and `make upgrade` from start to finish, on packages made for these tests."""

import re
import sys
from pathlib import Path

import pytest

from manuscript.common import UserError
from tests.support.wheels import make_wheel, only_wheels
from tools import lock

REQUIREMENTS = """\
-c limits.txt

torch==1.0       # the tensors
needed==1.0      # an explanation that stays
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout with locks, and a folder of packages beside it."""
    root, wheels = tmp_path / "project", tmp_path / "wheels"
    (root / "binder").mkdir(parents=True)
    monkeypatch.setattr(lock, "ROOT", root)
    only_wheels(monkeypatch, wheels)
    monkeypatch.setenv("PATH", "")  # otherwise uv starts each Python that it finds there
    make_wheel(wheels, "torch", "1.0", "needed>=1", "below", "nvidia-it ; sys_platform == 'linux'")
    cpu_index(tmp_path / "cpu", monkeypatch)
    for name in ("needed", "below", "nvidia-it", "pip-audit"):
        make_wheel(wheels, name, "1.0")
    for name in (lock.LOCK, lock.TORCH, lock.CPU, lock.AUDIT):
        (root / name).write_text("")
    (root / "limits.txt").write_text("needed<3  # why\n")
    (root / lock.REQUIREMENTS).write_text(REQUIREMENTS)
    (root / lock.BINDER).write_text("--no-index\ntorch==0.1+cpu\nneeded==0.1\n")
    use(monkeypatch)
    return root


def cpu_index(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a package index that has only the CPU build of torch 1.0."""
    index.mkdir()
    digest = make_wheel(index / "torch", "torch", "1.0+cpu", "needed>=1").rpartition(":")[2]
    (wheel,) = (index / "torch").iterdir()
    page = f'<a href="{wheel.name}#sha256={digest.strip()}">{wheel.name}</a>'
    (index / "torch" / "index.html").write_text(page)
    monkeypatch.setattr(lock, "CPU_INDEX", index.as_uri())


def use(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Run the tool with these arguments."""
    monkeypatch.setattr(sys, "argv", ["lock", *arguments])
    assert lock.main() == 0


def locked(name: str = lock.LOCK) -> dict[str, str]:
    """Return the packages in a lock, each of which has one hash."""
    pattern = r"^([\w-]+)==(\S+)(?: ; .*)? \\\n    --hash=sha256:[0-9a-f]{64}$"
    return dict(re.findall(pattern, (lock.ROOT / name).read_text(), re.M))


def test_the_lock_keeps_versions_and_reports_when_it_is_out_of_date(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locked() == {"needed": "1.0", "below": "1.0"}
    assert (project / lock.BINDER).read_text() == "--no-index\ntorch==1.0+cpu\nneeded==1.0\n"
    before = (project / lock.LOCK).read_bytes()
    make_wheel(project.parent / "wheels", "below", "2.0")
    use(monkeypatch)
    assert (project / lock.LOCK).read_bytes() == before

    monkeypatch.setattr(sys, "argv", ["lock", "--check"])
    for name, old, new in (
        ("requirements.txt", "needed==1.0", "needed==2.0"),
        ("requirements-lock.txt", "needed==1.0", "needed==0.9"),
        ("requirements-torch.txt", "torch==1.0", "torch==0.9"),
        ("requirements-cpu.txt", "torch==1.0", "torch==0.9"),
        ("binder/requirements.txt", "needed==1.0", "needed==0.9"),
    ):
        text = (project / name).read_text()
        (project / name).write_text(text.replace(old, new))
        with pytest.raises(UserError, match="out of date: run make lock"):
            lock.main()
        (project / name).write_text(text)
    assert lock.main() == 0


def test_pytorch_has_a_lock_for_each_of_its_builds(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert locked(lock.TORCH) == {"torch": "1.0", "nvidia-it": "1.0"}
    assert locked(lock.CPU) == {"torch": "1.0+cpu"}
    small = (project / lock.CPU).read_bytes()
    monkeypatch.setattr(lock, "CPU_INDEX", "file:///no-answer")
    use(monkeypatch)
    assert (project / lock.CPU).read_bytes() == small
    make_wheel(project.parent / "wheels", "torch", "2.0")
    use(monkeypatch, "--upgrade", "torch")
    assert locked(lock.TORCH) == {"torch": "2.0"}
    assert locked(lock.CPU) == {}
    assert "requirements-cpu.txt is empty until `make lock` reaches" in capsys.readouterr().out
    use(monkeypatch, "--check")


def test_an_upgrade_raises_allowed_versions_and_reports_changes(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheels = project.parent / "wheels"
    for name, version in ("needed", "2.0"), ("needed", "3.0"), ("below", "2.0"), ("pip-audit", "2"):
        make_wheel(wheels, name, version)
    make_wheel(wheels, "torch", "2.0", "needed", "below")
    capsys.readouterr()
    use(monkeypatch, "--upgrade")
    said = capsys.readouterr().out
    assert re.match(r"below +1\.0 +2\.0\nneeded +1\.0 +2\.0\nwritten: .*requirements-lock", said)
    requirements = (project / lock.REQUIREMENTS).read_text()
    assert requirements == REQUIREMENTS.replace("needed==1.0 ", "needed==2.0 ")
    assert (project / lock.BINDER).read_text() == "--no-index\ntorch==1.0+cpu\nneeded==2.0\n"
    assert locked() == {"needed": "2.0", "below": "2.0"}
    assert locked(lock.AUDIT) == {"pip-audit": "2"}
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
    assert capsys.readouterr().out == "written: nothing new\n"
    use(monkeypatch, "--upgrade", "torch")
    assert "torch==2.0       # the tensors" in (project / lock.REQUIREMENTS).read_text()
    assert "torch==2.0+cpu" in (project / lock.BINDER).read_text()


def test_an_upgrade_that_cannot_be_resolved_changes_no_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "limits.txt").write_text("needed<1\n")
    files = {path: path.read_bytes() for path in project.rglob("*.txt")}
    with pytest.raises(UserError, match=r"uv found no versions that fit together: (?s:.*)needed"):
        use(monkeypatch, "--upgrade")
    assert {path: path.read_bytes() for path in files} == files
    with pytest.raises(UserError, match=r"other is not among the packages in requirements-lock"):
        use(monkeypatch, "--upgrade", "other")
