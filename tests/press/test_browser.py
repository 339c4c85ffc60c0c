"""The browser for tests and tools is the first that starts, and in its sandbox if it can be."""

from typing import Any
from unittest.mock import Mock

import pytest
from playwright.sync_api import Error

from manuscript.common import UserError
from press.browser import launch

NAMED = "/opt/a-browser"


def tried(monkeypatch: pytest.MonkeyPatch, user: int, starts: bool | None) -> list[bool]:
    """Start a browser that starts only with or without a sandbox, or never; return the tries."""
    tries = []

    def start(executable_path: str, chromium_sandbox: bool, args: list[str]) -> Any:
        assert executable_path == NAMED
        assert "--no-sandbox" not in args
        tries.append(chromium_sandbox)
        if chromium_sandbox is not starts:
            raise Error("does not start")

    monkeypatch.setenv("ATTNBOOK_CHROMIUM", NAMED)
    monkeypatch.setattr("os.geteuid", lambda: user, raising=False)
    launch(Mock(chromium=Mock(launch=start)))
    return tries


def test_a_browser_leaves_its_sandbox_only_for_root_or_if_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert tried(monkeypatch, user=1000, starts=True) == [True]
    assert tried(monkeypatch, user=1000, starts=False) == [True, False]
    assert tried(monkeypatch, user=0, starts=False) == [False]
    with pytest.raises(UserError, match="Chromium was not found or does not start"):
        tried(monkeypatch, user=1000, starts=None)
