"""The style sheets of the theme and of the book become one, without the rules that no page uses."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import tinycss2
import yaml

from manuscript.common import ROOT
from press.extension import styles
from tests.support.pages import HTML

THEME_CSS = """
@charset "utf-8";
/* .used { color: red } */
a, .used:not(.gone), .gone .used, p.gone:is(.used) { color: red; background: url(x.png) }
.gone > p, #gone a { color: blue }
div:is(.gone, .used) { margin: 0 }
[class*="a,b"] .used { x: y }
@media print { .gone { x: y } #here { x: "}" } .icon { font: "Font Awesome 6" } }
@media (width > 1px) { .gone { x: y } }
@font-face { font-family: "Font Awesome 6 Free"; src: url(x.woff2) }
@font-face { font-family: Kept; src: url(y.woff2) }
@keyframes kept { to { opacity: 0 } }
"""


def test_the_theme_keeps_the_rules_that_pages_use_and_loses_the_rest() -> None:
    rules = tinycss2.parse_stylesheet(THEME_CSS, skip_comments=True)
    kept = styles.prune(rules, {"used", "here", "icon"})
    assert [tinycss2.serialize(rule.prelude).strip() for rule in kept] == [
        "a, .used:not(.gone)",
        "div:is(.gone, .used)",
        '[class*="a,b"] .used',
        "print",
        "",
        "kept",
    ]
    text = tinycss2.serialize(kept)
    assert '#here { x: "}" }' in text
    assert '.icon { font: "Font Awesome 6" }' in text
    assert "Free" not in text


def test_the_sheets_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The theme's CSS, from another folder, is joined with the book's; used classes are kept."""
    (tmp_path / "_static" / "part").mkdir(parents=True)
    theme = """/*! by someone */ .used, .gone { --a: url(x.woff2); --b: url("../y.png") }
        p { background: url("data:image/svg+xml,%3Csvg/%3E") } @font-face { src: url('z.woff2') }"""
    book = ".cell-1 { /* why */ &:hover { color: red } } p { src: url(own.png) }"
    sheets = {"basic.css": "", "part/theme.css": theme, "book.css": book, "pygments.css": ".gone{}"}
    for name, css in sheets.items():
        (tmp_path / "_static" / name).write_text(css, "utf8")
    (tmp_path / "_static" / "book.js").write_text('element.classList.add("used", "cell-" + i);')
    files = [SimpleNamespace(filename=f"_static/{name}") for name in sheets]
    config = SimpleNamespace(html_css_files=[("book.css", {"priority": 800})])
    builder = SimpleNamespace(globalcontext={"css_files": files[1:]})
    monkeypatch.setattr(styles, "FIRST", ["_static/basic.css"])
    styles.join(SimpleNamespace(outdir=tmp_path, config=config, builder=builder), None)  # type: ignore[arg-type]
    left = {path.name for path in (tmp_path / "_static").rglob("*.css")}
    assert left == {"pygments.css", "site.css"}
    site_css = (tmp_path / "_static" / "site.css").read_text("utf8")
    layer, own = site_css.split("}.cell-1", 1)
    assert "gone" not in site_css
    assert layer.startswith("/*! by someone */@layer theme {")
    assert "&:hover { color: red }" in own
    assert "why" not in own
    assert re.findall(r"url\((.*?)\)", site_css) == [  # the URLs still lead to the files
        "part/x.woff2",
        '"part/../y.png"',
        '"data:image/svg+xml,%3Csvg/%3E"',
        '"part/z.woff2"',
        "./own.png",
    ]


@pytest.mark.usefixtures("book")
def test_the_style_sheet_has_the_themes_rules_in_a_layer_and_then_the_books() -> None:
    authors, rest = (HTML / "_static" / "site.css").read_text("utf8").split("@layer theme {")
    assert authors.startswith("/*!")
    assert ":root{--role-" in rest
    assert "/*" not in rest
    sheets = {f"css/{path.name}": path for path in (ROOT / "press/static/css").iterdir()}
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    assert set(sheets) == set(config["sphinx"]["config"]["html_css_files"])
    book = "".join(path.read_text("utf8") for path in sheets.values())
    assert [name for name in re.findall(r"--book-[\w-]+", book) if f"{name}:" not in rest] == []
