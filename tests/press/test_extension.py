"""The Sphinx extension for the HTML pages: its parts by themselves, and in a small book."""

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from fontTools.ttLib import TTFont
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attnbook.colors import ROLES
from attnbook.exercises.catalog import ALL
from manuscript import markers
from manuscript.chapters import Chapter, chapters
from manuscript.common import UserError
from press.extension import pictures
from press.extension.chapters_table import picture_of
from press.extension.figures import cut_fonts
from press.extension.folds import without_checks
from press.extension.formulas import FormulaError, render
from press.extension.to_directives import parts
from tests.support.pages import build, parsed

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
PARTS = "to_directives formulas solutions predictions headings tables folds figures pictures safety"
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
    assert folds[1].find_previous_sibling().select("svg")
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


def test_a_block_of_checks_goes_with_them_and_a_function_of_checks_stays() -> None:
    each = "def put(x):\n    for one in x:\n        check_size(one)\n    return x"
    assert without_checks(each) == "def put(x):\n    return x"
    whole = 'def look(x):\n    """Look."""\n    if x:\n        raise ValueError'
    assert without_checks(whole) == whole


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.path.stem)
def test_every_shortened_listing_is_python(chapter: Chapter) -> None:
    shown = [
        output["data"]["text/plain"]
        for cell in nbformat.read(chapter.path, as_version=4).cells
        if cell.cell_type == "code" and "show_source(" in cell.source
        for output in cell.outputs
        if output.output_type in ("execute_result", "display_data")
    ]
    assert shown
    for listing in shown:
        ast.parse(without_checks(listing))


def test_the_font_of_figures_has_the_characters_of_one_edition(tmp_path: Path) -> None:
    for folder, word in (("book", "key"), ("zh_CN/book", "键")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "one.html").write_text(f'<text x="0">{word}</text>', "utf8")
    env, builder = SimpleNamespace(found_docs={"book/one"}), SimpleNamespace(format="html")
    cut_fonts(SimpleNamespace(outdir=tmp_path, env=env, builder=builder), None)  # type: ignore[arg-type]
    font = TTFont(tmp_path / "_static" / "fonts" / "figures-bold.woff")
    assert {*map(chr, font.getBestCmap())} == {*"key"}


def test_the_minutes_of_a_part_count_second_readings_only_if_it_has_nothing_else() -> None:
    words = " word" * 3000
    cells = [new_markdown_cell(f"## 1.{i} A section\n\n{words}", id=f"s{i}") for i in range(1, 6)]
    cells += [new_markdown_cell("## 1.6 Exercises\n\none", id="exercises")]
    for second in (1, 3, 4):  # the second section, and all of the last part
        cells[second].metadata["tags"] = [markers.SECOND_READING_TAG]
    for first, name in ((0, "Mixed"), (2, "Ordinary"), (3, "Extra")):
        cells[first].metadata["part"] = name
    found = parts(nbformat.writes(new_notebook(cells=cells)))
    once = [seen.partition("\xa0")[0] for *_, seen in found.values()]
    assert [(name, range_) for _, name, range_, _ in found.values()] == [
        ("Mixed", "1.1 to 1.2"), ("Ordinary", "1.3"), ("Extra", "1.4 to 1.5")
    ]  # fmt: skip
    assert once[0] == once[1] != "5"
    assert int(once[2]) == pytest.approx(2 * int(once[1]), abs=5)


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
    assert part.get_text() == "Part 1 of 1 · A part · 5\xa0minDeep¶"
    assert page.select_one("figcaption .caption-text em").get_text() == "small"
    assert [caption.get_text() for caption in page.select("figcaption .caption-text")] == [
        "A small square."
    ]
    assert page.find("p", string="Under no picture.")
    assert len(page.select("details.answer")) == 4
    assert "solution(" not in page.get_text()
    assert [quote.get_text(strip=True) for quote in page.select("blockquote")] == ["A saying"]


def test_mistakes_give_a_warning_with_their_location(tmp_path: Path) -> None:
    said = build(tmp_path, WRONG, PARTS, **SETTINGS)
    assert re.search(r"index\.md:5: WARNING: KaTeX parse error.*\\frac", said, re.DOTALL)
    assert re.search(r"index\.md:9: ERROR: there is no exercise '03.nothing'", said)
    assert re.search(r"index\.md:12: WARNING: the color ky is not the name of a role", said)
    assert "WARNING: square.svg: --role-ky-dark is not a color of a role" in said


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


def test_a_chapter_without_a_drawing_is_told_its_file() -> None:
    with pytest.raises(
        UserError, match=r"chapter 99 needs a drawing, book/images/chapters/99\.svg"
    ):
        picture_of(Chapter(Path("99_x.ipynb"), 99, "X: y", "Why?", 60, 20))
