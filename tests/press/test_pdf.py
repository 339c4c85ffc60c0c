"""The printed book: made once, then checked for readers, printers and screen readers."""

import re
import subprocess
import sys
from collections import Counter
from ctypes import c_uint
from itertools import pairwise
from pathlib import Path

import pikepdf
import pypdfium2
import pytest
import yaml
from bs4 import BeautifulSoup, Tag
from bs4.filter import SoupStrainer
from pikepdf import Dictionary, Pdf
from playwright.sync_api import Browser
from pypdfium2 import raw

from attnbook.colors import ROLES
from attnbook.exercises.catalog import ALL
from attnbook.language import HAN
from manuscript.chapters import chapters
from manuscript.common import ROOT, UserError
from press.pdf.make import JOINED, PDF, make
from press.pdf.pages import joined
from tests.support.pages import CHAPTERS, HTML

CHINESE = re.compile(f"[{HAN}]")
FOLDS = "details:not(.code, .card)"  # folded code and cards stay in their places
OUT_OF_PRINT = (
    "a.headerlink, nav, .toctree-wrapper, .katex-mathml, h2 > .part, .listing, .start, "
    "button.guess, .try-first, .try-first + *"
)
FORMULA = "formula: "
PAINTS = {*"f F f* S s B B* b b* sh Do Tj TJ".split()}  # PDF's painting operators
FOOT = 24 * 72 / 25.4  # the bottom margin of a page, in points


@pytest.fixture(scope="module")
def made(book: None, browser: Browser) -> Path:
    """The PDF, made from the current pages."""
    make(browser)
    return PDF


@pytest.fixture(scope="module")
def pdf(made: Path) -> Pdf:
    """The contents of the PDF."""
    return Pdf.open(made)


@pytest.fixture(scope="module")
def texts(made: Path) -> list[str]:
    """The text of each page."""
    return [page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(made)]


@pytest.fixture(scope="module")
def sources(book: None) -> dict[str, Tag]:
    """The contents of the book's built pages, in order."""
    found = {}
    for address in CHAPTERS:
        text = (HTML / address).read_text("utf8")
        page = BeautifulSoup(text, "lxml", parse_only=SoupStrainer("article"))
        found[address] = page.select_one("article.bd-article")
        for tag in found[address].select(OUT_OF_PRINT):
            tag.decompose()
    return found


def squeezed(text: str) -> str:
    """Remove spaces, hyphens and line breaks from a text, since they depend on the layout."""
    return re.sub(r"[\s\x02\u00ad\u200b\u2060-\u2064\ufffe-]+", "", text)


def destinations(pdf: Pdf) -> dict[str, int]:
    """Return the page number of each id, counted from 1."""
    numbers = {page.obj.objgen: number for number, page in enumerate(pdf.pages, 1)}
    return {name[1:]: numbers[place[0].objgen] for name, place in pdf.Root.Dests.items()}


def figures(pdf: Pdf) -> list[tuple[str, Dictionary]]:
    """List everything that is marked as a figure with a description: pictures and formulas."""
    every = (o for o in pdf.objects if isinstance(o, Dictionary))
    return [(str(o.Alt), o) for o in every if o.get("/S") == "/Figure" and "/Alt" in o]


def listed(page: Tag) -> list[Tag]:
    """List the headings of a page that are in the contents: for a chapter, also its sections."""
    return page.select("h1, h2" if page.select_one(".opening") else "h1")


def test_the_outline_has_every_page_and_section_in_order(
    pdf: Pdf, sources: dict[str, Tag], texts: list[str]
) -> None:
    numbers = {page.obj.objgen: number for number, page in enumerate(pdf.pages)}
    with pdf.open_outline() as outline:
        items = [item for first in outline.root for item in (first, *first.children)]
    wanted = [heading.get_text() for page in sources.values() for heading in listed(page)]
    titles = [item.title.replace("√dₖ", "√dk") for item in items]  # a subscript on the page
    assert titles[: len(wanted)] == wanted
    assert titles != [item.title for item in items]
    folds = [details for page in sources.values() for details in page.select(FOLDS)]
    rounds = len({details["class"][-1] for details in folds})
    assert len(items) == len(wanted) + 1 + rounds
    for item, title in zip(items, titles, strict=True):
        page, _, _, top, _ = item.destination
        assert squeezed(title) in squeezed(texts[numbers[page.objgen]]), title
        assert top > FOOT + 36, f"{title} is stranded at the bottom of a page"


def test_links_arrive_and_page_numbers_are_right(
    made: Path, pdf: Pdf, sources: dict[str, Tag]
) -> None:
    there = destinations(pdf)
    linked, numbers = Counter[str](), 0
    for page, seen in zip(pdf.pages, pypdfium2.PdfDocument(made), strict=True):
        text = seen.get_textpage()
        for link in page.get("/Annots", []):
            if "/Dest" not in link:
                assert str(link.A.URI).startswith("https://")
                continue
            target = str(link.Dest)[1:]
            left, low, right, high = (float(side) for side in link.Rect)
            words = text.get_text_bounded(left, low + 2, right, high - 2).strip()
            linked[target] += 1
            if re.fullmatch(r"\d+", words):
                assert int(words) == there[target], target
                numbers += 1
    for name, page in sources.items():
        for link in page.select("a[href]"):
            place, _, anchor = link["href"].partition("#")
            if re.fullmatch(r"[\w./]*\.html|", place):
                target = f"book/{place}" if place else name
                assert linked[f"{target}#{anchor}".removesuffix("#")] > 0, (name, link["href"])
    headings = sum(len(listed(page)) for page in sources.values())
    assert numbers > headings + 8 * len(ALL)  # exercises link to and from hints and solutions


def test_no_word_and_no_chinese_character_is_lost(
    sources: dict[str, Tag], texts: list[str]
) -> None:
    assert all(texts)
    printed = "\n".join(texts)
    words, whole = set(re.findall(r"[^\W_]+", printed)), squeezed(printed)
    drawn = ".katex, .exercise + .cell .cell_output"  # printed letter by letter
    for name, page in sources.items():
        assert (
            Counter(CHINESE.findall(page.get_text())) - Counter(CHINESE.findall(printed))
            == Counter()
        )
        unread = {id(text) for tag in page.select(drawn) for text in tag(string=True)}
        read = [text for text in page(string=True) if id(text) not in unread]
        lost = set(re.findall(r"[^\W_]+", " ".join(read))) - words
        assert {word for word in lost if word not in whole} == set(), name  # some are hyphenated


def test_folded_parts_are_at_the_end_in_rounds(
    pdf: Pdf, sources: dict[str, Tag], texts: list[str]
) -> None:
    there = destinations(pdf)
    before = squeezed("".join(texts[: there["answers"] - 1]))
    behind = squeezed("".join(texts[there["answers"] - 1 :]))
    for details in [details for page in sources.values() for details in page.select(FOLDS)]:
        summary = details.summary.extract()
        pieces = [squeezed(piece) for piece in details(string=True)]
        says = max(pieces, key=len)[:40]  # short enough to be on one page
        assert says in behind
        assert says not in before or len(says) < 40
        assert "choice" not in details["class"] or squeezed(summary.get_text())[:12] in before
    rounds = ("choice", "hint-1", "hint-2", "hint-3", "solution")
    pages = [
        [there[i] for i in there if ".html#" in i and i.endswith(f"--{kind}")] for kind in rounds
    ]
    printed = {f"{chapter.number:02}" for chapter in chapters()}  # not the drafts
    exercises = [exercise for exercise in ALL if exercise.partition(".")[0] in printed]
    assert {len(found) for found in pages[1:]} == {len(exercises)}
    assert all(max(one) < min(other) for one, other in pairwise(pages))


def test_fonts_are_embedded_and_the_books_own(pdf: Pdf) -> None:
    fonts = [o for o in pdf.objects if isinstance(o, Dictionary) and o.get("/Type") == "/Font"]
    files = [o for o in fonts if o.Subtype == "/Type0"]
    assert all("/FontFile2" in font.DescendantFonts[0].FontDescriptor for font in files)
    names = {str(font.BaseFont).partition("+")[2] for font in files}
    # Another name means that press/pdf/fonts lacks a character: see press/fonts.py.
    assert {name for name in names if not name.startswith(("Book", "KaTeX_"))} == set()
    assert {"BookSerifRegular", "BookSansRegular", "BookMonoRegular", "KaTeX_Main-Regular"} <= names


def test_chinese_is_set_in_the_books_own_font(made: Path, browser: Browser) -> None:
    # In the PDF, Chinese characters are drawings that belong to no named font, so ask the browser.
    page = browser.new_page()
    page.goto(JOINED.as_uri())
    page.evaluate("document.fonts.ready.then(() => null)")
    developer = page.context.new_cdp_session(page)
    developer.send("DOM.enable")
    developer.send("CSS.enable")
    root = developer.send("DOM.getDocument")["root"]["nodeId"]
    main = developer.send("DOM.querySelector", {"nodeId": root, "selector": "main"})["nodeId"]
    fonts = developer.send("CSS.getPlatformFontsForNode", {"nodeId": main})["fonts"]
    page.close()
    assert [font["familyName"] for font in fonts if not font["isCustomFont"]] == []


def test_text_has_its_size_and_formulas_their_colors(made: Path, pdf: Pdf) -> None:
    page = pypdfium2.PdfDocument(made)[destinations(pdf)["book/notation.html"] - 1]
    text, matrix, rgba = page.get_textpage(), raw.FS_MATRIX(), [c_uint() for _ in range(4)]
    sizes, colors = Counter[float](), set()
    for i in range(text.count_chars()):
        raw.FPDFText_GetMatrix(text, i, matrix)
        raw.FPDFText_GetFillColor(text, i, *rgba)
        sizes[round(abs(matrix.d) * raw.FPDFText_GetFontSize(text, i), 1)] += 1
        colors.add("#{:02X}{:02X}{:02X}".format(*(part.value for part in rgba[:3])))
    # If anything is too wide for the paper, Chromium shrinks the whole book.
    assert min(sizes[10.0], sizes[8.8]) > 100  # text and tables
    assert {role.light.upper() for role in ROLES.values()} <= colors


def test_pictures_are_drawn_and_formulas_can_be_heard(pdf: Pdf, sources: dict[str, Tag]) -> None:
    described = figures(pdf)
    pictures = [(says, drawn) for says, drawn in described if not says.startswith(FORMULA)]
    wanted = {
        image.get("alt") or image["aria-label"]: image.get("src", ".svg")
        for page in sources.values()
        for image in page.select("img, .picture > svg")
    }
    assert Counter(says for says, _ in pictures) == Counter(list(wanted))
    for says, picture in pictures:
        drawn = wanted[says].endswith(".svg")  # the only PNG shows measured times
        assert strokes(picture) > (20 if drawn else 0), says
    heard = [says for says, _ in described if says.startswith(FORMULA)]
    assert len(heard) >= sum(len(page.select(".katex")) for page in sources.values())
    assert f"{FORMULA}softmax ( Q K^⊤ / √(d_k) ) V" in heard
    assert FORMULA not in heard


def strokes(picture: Dictionary) -> int:
    """Count the painting operators inside the marked content of a picture."""
    depth = painted = 0
    for operands, operator in pikepdf.parse_content_stream(
        picture.Pg, " ".join(["BDC", "BMC", "EMC", *PAINTS])
    ):
        name = str(operator)
        if depth:
            depth += {"BDC": 1, "BMC": 1, "EMC": -1}.get(name, 0)
            painted += name in PAINTS
        elif name == "BDC" and int(operands[1].get("/MCID", -1)) == int(picture.K):
            depth = 1
    return painted


def test_the_pdf_has_a_title_and_metadata(made: Path, pdf: Pdf) -> None:
    assert set(pdf.docinfo) == {"/Title", "/Author", "/Subject"}  # no date and no machine name
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    assert pdf.docinfo["/Title"] == config["title"]
    assert str(pdf.Root.Lang) == "en"
    assert pdf.Root.PageMode == "/UseOutlines"
    assert bool(pdf.Root.ViewerPreferences.DisplayDocTitle)
    assert made.stat().st_size < 20e6


def test_one_line_says_that_there_is_no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNBOOK_CHROMIUM", "no-such-browser")
    run = subprocess.run(
        [sys.executable, "-m", "press.pdf"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert re.fullmatch(r"attention book: Chromium was not found .*\n", run.stderr)


@pytest.mark.parametrize(
    ("built", "complaint"),
    [
        (None, "the page book/index is not built"),
        ('<article><img src="gone.svg"></article>', "the picture .*gone.svg"),
    ],
)
def test_one_line_says_what_is_missing(
    built: str | None, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("press.pdf.pages.HTML", tmp_path)
    (tmp_path / "book").mkdir()
    if built:
        (tmp_path / "book" / "index.html").write_text(built, "utf8")
    with pytest.raises(UserError, match=rf"^{complaint}.*'make"):
        joined()
