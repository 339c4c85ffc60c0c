"""The non-public parts of Sphinx and of KaTeX that the press uses are there."""

import json
import logging
import re
from pathlib import Path

import pytest
from py_mini_racer import MiniRacer
from sphinx.util.osutil import copyfile

from manuscript.common import ROOT
from press.extension import private
from press.extension.formulas import KATEX


@pytest.mark.parametrize("file", private.NAMES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_the_non_public_parts_still_exist(file: Path) -> None:
    text = file.read_text("utf8")
    assert [name for name in private.NAMES[file] if name not in text] == []


def test_every_name_that_our_scripts_take_from_sphinx_is_watched() -> None:
    ours = {"BOOK_TEXTS", "BookSearch", "MiniSearch", "STORED"}
    names = set(json.loads((ROOT / "press" / "oxlint.json").read_text("utf8"))["globals"])
    watched = re.findall(r"\w+", " ".join(sum(private.NAMES.values(), ())))
    assert names - ours - set(watched) == set()


def test_the_script_and_the_style_sheet_of_katex_are_of_one_version() -> None:
    engine = MiniRacer()
    engine.eval(KATEX.read_text("utf8"))
    css = KATEX.with_name("katex.min.css").read_text("utf8")
    assert f'content:"{engine.eval("katex.version")}"' in css


def test_a_second_build_does_not_say_that_it_overwrites_data(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> bool:
        for name in ("new", "old"):
            (tmp_path / name).write_text(name, "utf8")
        caplog.clear()
        with caplog.at_level(logging.INFO, "sphinx"):
            copyfile(tmp_path / "new", tmp_path / "old")
        return "overwrite" in caplog.text

    logger = logging.getLogger(private.COPIES)
    monkeypatch.setattr(logger, "filters", [])
    assert told()
    logger.addFilter(private.not_about_copies)
    assert not told()
