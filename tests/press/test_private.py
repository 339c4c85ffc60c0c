"""The non-public parts of Sphinx and of KaTeX that the press uses are there."""

import json
import re
from pathlib import Path

import pytest
from py_mini_racer import MiniRacer

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
