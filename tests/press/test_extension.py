"""The Sphinx extension for the HTML pages: each part by itself, and in small books."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import tinycss2
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from py_mini_racer import MiniRacer

from attnbook.colors import ROLES
from attnbook.exercises.catalog import ALL
from attnbook.language import HAN
from manuscript import markers
from manuscript.common import ROOT
from press.extension import pictures, private, styles
from press.extension.folds import without_checks
from press.extension.formulas import KATEX, FormulaError, render
from press.extension.glossary import Row, sound
from press.extension.search import BookSearch, texts
from tests.support.pages import build, parsed

SEARCH = BookSearch({})
QUERY = ROLES["query"].light

PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt"/>'
DRESSED = [
    ("# A page\n\n> **First**\n>\n> **Question:** Why?\n>\n> **You need:** five", ["opening"]),
    ("import math", ["imports"]),
    ("plot_steps(1)", ["drawing"]),
    ("x = plot_steps(1)", ["computing"]),
    ("Two, **as** predicted.", ["answer"]),
    ("## Deep\n\nsea", ["part"]),
    ("## A long one (second reading)\n\ntext", ["second-reading"]),
    ("## An untagged one (second reading)", []),
    ("before it\n\n> **Beware**\n>\n> of `~`\n\nafter it", ["danger"]),
    ("> A saying", []),
    ("*Under no picture.*", ["caption"]),
    (f"SVG({PICTURE!r})", ["picture"]),
    ("*A _small_ square.*", ["caption"]),
    ('### Exercise: do it\n\n> ★☆☆\n>\n> - `"a"`: one', ["exercise"]),
    ('# solution("03.scores")', ["solution"]),
]


def plain_notebook() -> str:
    """Return the text of a notebook with the cells in DRESSED, each with its tags."""
    cells = []
    for source, tags in DRESSED:
        code = bool({"imports", "drawing", "computing", "picture", "solution"} & set(tags))
        cell = (new_code_cell if code else new_markdown_cell)(source, metadata={"tags": tags})
        if tags == ["part"]:
            cell.metadata = {"part": "A part"}
        if "imports" in tags:
            cell.id = "imports"
        if {"drawing", "computing", "picture"} & set(tags):
            cell.outputs = [new_output("display_data", {"image/svg+xml": PICTURE})]
        cells.append(cell)
    metadata = {"language_info": {"name": "python", "pygments_lexer": "python"}}
    return nbformat.writes(new_notebook(cells=cells, metadata=metadata))


# Two small books: a correct one, and one that has to give warnings
RIGHT = {
    "index.md": "# Title\n\n```{toctree}\ndressed\nformulas\nmarkup\nsolution\n```\n",
    "formulas.md": "# Formulas\n\n$$\na = b\n$$\n\nOf $\\textcolor{key}{K}$ see ($d_k$).\n",
    "markup.md": """# Markup

**Predict before you run.** What comes?

Predict before you run, they say: **Predict before you run.**

**Do not** forget: **Predict before you run.**

**It says: Predict before you run.**

## Why √d_k, and not `√d_k` or w_q?

| a | b | c |
|---|---|---|
| this is a table | with long cells | for a phone |

|   | one |
|---|-----|
| a | b   |
|   | c   |

![A square](square.svg)
""",
    "solution.md": "# Solution\n\n:::{solution} 03.scores\n:::\n",
    "dressed.ipynb": plain_notebook(),
    "square.svg": PICTURE.replace("/>", '><rect fill="var(--role-key-dark, coral)"/></svg>'),
}
WRONG = {
    "index.md": """# Title\n\nText.\n\n$$\n\\frac{1}{\n$$\n\n:::{solution} 03.nothing\n:::

An $\\textcolor{ky}{K}$.

![A square](square.svg)
""",
    "square.svg": RIGHT["square.svg"].replace("role-key", "role-ky"),
}
PARTS = "to_directives formulas solutions predictions headings tables folds pictures safety"
SETTINGS = {"html_math_renderer": "katex"}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a small book."""
    folder = tmp_path_factory.mktemp("small")
    assert build(folder, RIGHT, PARTS, **SETTINGS) == ""
    return folder / "out"


def test_formulas_are_drawn_and_spoken_and_keep_their_punctuation(book: Path) -> None:
    page = parsed(book / "formulas.html")
    assert page.select("div.math .katex-display .katex-html[aria-hidden=true]")
    assert len(page.select(".katex-mathml math")) == 3
    assert not page.select("annotation")  # the LaTeX source, which nothing reads
    (together,) = page.select("span.together")
    assert (together.get_text()[0], together.get_text()[-2:]) == ("(", ").")


def test_a_role_in_a_formula_or_a_drawing_gets_its_color(book: Path) -> None:
    (colored,) = parsed(book / "formulas.html").select(".katex-html .role-key")
    assert colored.get_text() == "K"
    assert "color" not in str(colored.get("style", ""))  # the style sheet has one for each theme
    drawing = (book / "_images" / "square.svg").read_text("utf8")
    assert drawing.endswith(f'><rect fill="{ROLES["key"].dark}"/></svg>')


def test_the_html_of_the_visitors_and_the_transform(book: Path) -> None:
    page = parsed(book / "markup.html")
    assert [p.get_text() for p in page.select("p.predict")] == [f"{markers.PREDICT} What comes?"]
    (mark,) = parsed(book / "dressed.html").select("h2 .second-reading")
    assert mark.parent
    assert mark.parent.get_text().startswith(f"A long one {mark.get_text()}")
    root = next(heading for heading in page.select("h2") if "√" in heading.text)
    assert [index.text for index in root.select("sub")] == ["k"]
    assert root.get_text().startswith("Why √dk, and not √d_k or w_q?")
    wide, narrow = page.select("table")
    assert "stack" in wide["class"]
    assert [cell.get("data-label") for cell in wide.select("td")] == ["a", "b", "c"]
    assert "stack" not in narrow["class"]
    corner, one, *rest = narrow.select("th, td")
    assert (corner.name, one.name) == ("td", "th")
    assert {cell.name for cell in rest} == {"td"}
    (picture,) = page.select("a span.picture img")
    assert [picture[name] for name in ("width", "height", "alt")] == ["96", "48", "A square"]
    assert picture["loading"] == "lazy"


def test_hints_and_solution_are_folded_and_come_from_the_library(book: Path) -> None:
    page = parsed(book / "solution.html")
    folds = page.select("details.answer")
    assert [f.summary.get_text() for f in folds] == ["Hint 1", "Hint 2", "Hint 3", "Solution"]
    plain = [re.sub(r"\s", "", fold.get_text()) for fold in folds]
    for hint, inside in zip(ALL["03.scores"].hints, plain, strict=False):
        assert re.sub(r"[`\s]", "", hint) in inside
    assert "query@key.mT/math.sqrt(query.size(-1))" in plain[3]


def test_imports_are_folded_and_drawing_code_is_folded_below_its_picture(book: Path) -> None:
    page = parsed(book / "dressed.html")
    folds = page.select("details.code")
    assert [fold.summary.get_text() for fold in folds] == ["imports", "code"]
    assert folds[0].find_previous_sibling() is None
    assert folds[1].find_previous_sibling().select("img")
    assert [fold.pre.get_text().strip() for fold in folds] == ["import math", "plot_steps(1)"]


LISTING = '''def add(x: int, y: int) -> int:
    """Return a sum.

    Raises:  ValueError
    """
    check_numbers(x, y)
    if x < 0:
        raise ValueError("x")
    if y:  # it counts
        x += y
    if x > 99:
        raise ValueError("x")
    else:
        y = x

    return x'''


def test_a_listing_shows_what_is_computed() -> None:
    assert without_checks(LISTING).splitlines() == [
        "def add(x: int, y: int) -> int:",
        "    if y:  # it counts",
        "        x += y",
        "    if x > 99:",
        '        raise ValueError("x")',
        "    else:",  # without the first branch, this one would mean something else
        "        y = x",
        "",
        "    return x",
    ]
    assert without_checks("    indented = 1") == "    indented = 1"


def test_a_notebook_of_plain_markdown_becomes_boxes_captions_and_folds(book: Path) -> None:
    page = parsed(book / "dressed.html").select_one("[role=main], .body")
    kinds = ("danger", "exercise")
    boxes = {kind: page.select_one(f".admonition.{kind}") for kind in kinds}
    titles = {kind: box.select_one(".admonition-title").get_text() for kind, box in boxes.items()}
    assert titles == {"danger": "Beware", "exercise": "Exercise: do it"}
    opening = [(p["class"], p.get_text()) for p in page.select("h1 + .opening > p")]
    assert opening == [(["question"], "Why?"), (["you-need"], "You need: five")]
    assert page.select_one("div.answer > p").get_text() == "Two, as predicted."
    assert boxes["exercise"].select("li code")
    assert not boxes["danger"].find(string="after it")
    assert page.select_one("h1").get_text().startswith("A page")
    part, *_others = page.select("h2, h3")
    assert part.get_text() == "A part · 5\xa0minDeep¶"
    assert page.select_one("figcaption .caption-text em").get_text() == "small"
    assert [caption.get_text() for caption in page.select("figcaption .caption-text")] == [
        "A small square."
    ]
    assert page.find("p", string="Under no picture.")
    assert len(page.select("details.answer")) == 4
    assert "solution(" not in page.get_text()
    assert [quote.get_text(strip=True) for quote in page.select("blockquote")] == ["A saying"]


GLOSSARY = """# Notation

## Glossary, English and Chinese

| English | 中文 | where | in one line |
|:--|:--|:--|:--|
| mask | 掩码 *yǎnmǎ* | [6.1](masks.ipynb) | who may attend to whom |
| token | 词元 *cíyuán* | [6.1](masks.ipynb) | a piece of text |
| BLEU | BLEU | [6.2](masks.ipynb) | a measure |

:::{by-pinyin}
:::
"""
MASKS = """# 6. Masks

## 6.1 What 苹果 may see

See [6.2](masks.ipynb), and `掩码 = 1`, not <b>掩码</b>.

```
掩码
```

## 6.2 Another
"""


@pytest.fixture(scope="module")
def bilingual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a small book with a glossary."""
    folder = tmp_path_factory.mktemp("bilingual")
    masks = nbformat.writes(new_notebook(cells=[new_markdown_cell(MASKS)]))
    index = "# Title\n\n```{toctree}\nnotation\nmasks\n```\n"
    pages = {"index.md": index, "notation.md": GLOSSARY, "masks.ipynb": masks}
    parts = "section_links glossary chinese"
    assert build(folder, pages, parts, glossary_page="notation") == ""
    return folder / "out"


def test_a_section_shows_its_chinese_words_once_and_a_link_leads_to_it(bilingual: Path) -> None:
    page = parsed(bilingual / "masks.html")
    (line,) = page.select("p.in-chinese")
    assert line.get_text() == "掩码 mask · 词元 token"
    assert line.find_previous("h2").get_text().startswith("6.1 ")
    (anchor,) = [section["id"] for section in page.select("section") if "6.2" in section.h2.text]
    assert page.find("a", string="6.2")["href"] == f"#{anchor}"
    assert (
        parsed(bilingual / "notation.html").find("a", string="6.2")["href"]
        == f"masks.html#{anchor}"
    )


def test_the_search_finds_where_a_word_is_introduced(bilingual: Path) -> None:
    text = (bilingual / "searchwords.js").read_text("utf8")
    words = json.loads(text.removeprefix("Search.words = ").removesuffix(";\n"))
    assert set(words) == {"mask", "掩码", "token", "词元", "bleu"}
    assert words["mask"] == words["掩码"] != words["bleu"]
    page, anchor = words["掩码"]
    assert parsed(bilingual / f"{page}.html").find(id=anchor).h2.get_text().startswith("6.1 ")


def test_the_second_table_is_sorted_by_pinyin(bilingual: Path) -> None:
    table = parsed(bilingual / "notation.html").select("table")[1]
    assert [td.get_text() for td in table.select("tbody td:first-child")] == [
        "cíyuán 词元",
        "yǎnmǎ 掩码",
    ]


def test_pinyin_is_sorted_by_letters_with_ü_after_u_and_then_by_tones() -> None:
    words = ["lū", "lú", "lǔ", "lù", "lúzi", "lǜ", "xiánǚ", "xiànxìng"]
    rows = [Row("", "", pinyin, "", "", "", "") for pinyin in reversed(words)]
    assert [row.pinyin for row in sorted(rows, key=sound)] == words


def test_chinese_is_marked_in_text_and_not_in_blocks_of_code(bilingual: Path) -> None:
    page = parsed(bilingual / "masks.html")
    marked = [
        span.get_text()
        for span in page.select("article [lang=zh-Hans], [role=main] [lang=zh-Hans]")
    ]
    assert {"苹果", "掩码", "词元"} <= set(marked)
    assert all(re.fullmatch(f"[{HAN}]+", text) for text in marked)
    assert not page.select("pre [lang]")
    for code in page.select("code"):
        assert [span.get_text() for span in code.select("[lang]")] == ["掩码"]


def test_a_line_of_the_glossary_that_is_not_a_row_is_a_warning(tmp_path: Path) -> None:
    broken = GLOSSARY.replace("| [6.2](masks.ipynb) |", "| 6.2 |")
    said = build(
        tmp_path, {"index.md": broken}, "section_links glossary chinese", glossary_page="index"
    )
    assert "not a row of the glossary: | BLEU |" in said


def test_mistakes_give_a_warning_with_their_location(tmp_path: Path) -> None:
    said = build(tmp_path, WRONG, PARTS, **SETTINGS)
    assert re.search(r"index\.md:5: WARNING: KaTeX parse error.*\\frac", said, re.DOTALL)
    assert re.search(r"index\.md:9: ERROR: there is no exercise '03.nothing'", said)
    assert re.search(r"index\.md:12: WARNING: the color ky is not the name of a role", said)
    assert "WARNING: square.svg: --role-ky-dark is not a color of a role" in said


@pytest.mark.parametrize("file", private.NAMES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_the_non_public_parts_still_exist(file: Path) -> None:
    text = file.read_text("utf8")
    assert [name for name in private.NAMES[file] if name not in text] == []


def test_every_name_that_our_scripts_take_from_sphinx_is_watched() -> None:
    scripts = ROOT / "press" / "static"
    ours = {"BOOK_HEADINGS", "CHINESE", "PIECES", "STORED", "texts", "words"}
    names = set(json.loads((ROOT / "press" / "oxlint.json").read_text("utf8"))["globals"])
    names |= set(re.findall(r"\bSearch\.(\w+)", (scripts / "search.js").read_text("utf8")))
    watched = re.findall(r"\w+", " ".join(sum(private.NAMES.values(), ())))
    assert names - ours - set(watched) == set()


def test_the_script_and_the_style_sheet_of_katex_are_of_one_version() -> None:
    engine = MiniRacer()
    engine.eval(KATEX.read_text("utf8"))
    css = KATEX.with_name("katex.min.css").read_text("utf8")
    assert f'content:"{engine.eval("katex.version")}"' in css


@pytest.mark.parametrize(
    ("tex", "reason"),
    [
        (r"\attention(Q)", r"Undefined control sequence: \\attention"),
        (r"\textcolor{red}{Q}", r"the color red is not the name of a role \(query, key, "),
        (rf"\textcolor{{{QUERY}}}{{Q}}", f"{QUERY} is not the name of a role"),
        (r"a \\ b", "breaks no line here"),
    ],
)
def test_formulas_that_cannot_be_set_say_why(tex: str, reason: str) -> None:
    with pytest.raises(FormulaError, match=reason):
        render(tex, display=True)


def test_search_splits_chinese_into_characters_and_pairs() -> None:
    assert SEARCH.split("softmax函数, d_k=64") == ["softmax", "函", "数", "函数", "d_k", "64"]
    assert SEARCH.split("注意力") == ["注", "意", "力", "注意", "意力"]


@pytest.mark.parametrize("query", ["softmax", "注意力", "多头注意力 MultiHead", "头", "q·k ω₂"])
def test_the_browser_asks_for_words_that_the_index_has(query: str) -> None:
    engine = MiniRacer()
    engine.eval(BookSearch.js_splitter_code)
    asked = json.loads(str(engine.eval(f"JSON.stringify(splitQuery({json.dumps(query)}))")))
    assert asked
    assert set(asked) <= set(SEARCH.split(query))


def test_the_texts_of_a_page_are_the_visible_texts_of_its_sections() -> None:
    page = f"""
    <p>menu</p><article><section id="one"><h1>1. One<a class="headerlink" href="#one">#</a></h1>
    <nav class="launch"><a>Open</a></nav><p>The <b>so</b>ft<br>max of {render("x^2")}</p>
    <img src="x.svg"><ul><li>a</li><li>b</li></ul>
    <details class="choice"><summary>A</summary><p>wrong</p></details>
    <section id="two"><h2>1.1 <code>Two</code></h2>
    <details class="answer"><summary>Hint 1</summary><div>secret</div></details>
    <details class="hide"><summary>Show</summary><pre><span>x</span> = 苹果</pre></details>
    </section></section></article><p>foot</p>"""
    assert texts(page) == [
        ("one", "1. One", "The soft max of x2 a b"),
        ("two", "1.1 Two", "Show x = 苹果"),
    ]


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


@pytest.mark.parametrize(
    ("size", "pixels"),
    [
        ('width="72pt" height="36.5pt"', (96, 49)),
        ('width="40" height="20px"', (40, 20)),
        ('width="100%" height="20"', None),
    ],
)
def test_the_size_of_a_picture_is_read(tmp_path: Path, size: str, pixels: object) -> None:
    path = tmp_path / "picture.svg"
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size}><g/></svg>', encoding="utf8")
    assert pictures.svg_size(path) == pixels
