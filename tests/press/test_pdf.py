"""The book on paper: made once, then read as a reader, a printer and a screen reader get it."""

import os
import re
import subprocess
import sys
from collections import Counter
from ctypes import c_double, c_uint
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pikepdf
import pypdfium2
import pytest
import yaml
from bs4 import BeautifulSoup
from pikepdf import Dictionary, Pdf
from playwright.sync_api import Browser
from pypdfium2 import raw

from attnbook.colours import ROLES
from attnbook.exercises.catalogue import ALL
from press import pdf as make_pdf
from tests.press.test_pages import CHAPTERS
from tools.common import ROOT, UserError

POINTS = 72 / 25.4  # in a millimetre
SCALE = 0.5  # pixels for a point, where pages are drawn to look for ink
HAN = re.compile(r"[\u4e00-\u9fff]")
FORMULA = "formula: "
PAINTS = {"f", "F", "f*", "S", "s", "B", "B*", "b", "b*", "sh", "Do"}  # the operators of PDF


class Letter(NamedTuple):
    """A letter, its size in points, and how far its foot is from that of the page."""

    sign: str
    size: float
    y: float


class Sheet(NamedTuple):
    """A page as it is seen: its text, its letters one by one, and where there is ink."""

    text: str
    letters: list[Letter]
    ink: np.ndarray


class Source(NamedTuple):
    """What the PDF has to have of a built page."""

    title: str
    sections: list[str]
    pictures: list[str]  # what each shows
    formulas: int
    links: list[str]  # what it links to in the book, as ids of the PDF
    choices: list[tuple[str, str]]  # each choice, and a piece of what it says
    text: str  # all of it but formulas


@pytest.fixture(scope="module")
def made(book: None, browser: Browser) -> Path:
    """The PDF, made now from the pages as they are now."""
    make_pdf.make(browser)
    return make_pdf.PDF


@pytest.fixture(scope="module")
def pdf(made: Path) -> Pdf:
    """What is in the file."""
    return Pdf.open(made)


@pytest.fixture(scope="module")
def sheets(made: Path) -> list[Sheet]:
    """What is seen on its pages."""
    return [read(page) for page in pypdfium2.PdfDocument(made)]


def read(page: pypdfium2.PdfPage) -> Sheet:
    """A page, read and drawn."""
    text = page.get_textpage()
    letters, matrix, x, y = [], raw.FS_MATRIX(), c_double(), c_double()
    for i in range(text.count_chars()):
        raw.FPDFText_GetMatrix(text, i, matrix)
        raw.FPDFText_GetCharOrigin(text, i, x, y)
        size = abs(matrix.d) * raw.FPDFText_GetFontSize(text, i)
        letters.append(Letter(chr(raw.FPDFText_GetUnicode(text, i)), size, y.value))
    ink = page.render(scale=SCALE, grayscale=True).to_numpy() < 250
    return Sheet(text.get_text_range(), letters, ink.squeeze())


@pytest.fixture(scope="module")
def sources(book: None) -> list[Source]:
    """The pages of the book as they are built, in order."""
    return [source(ROOT / "_build" / "html" / address) for address in CHAPTERS]


def source(path: Path) -> Source:
    """What has to be printed of a page."""
    page = BeautifulSoup(path.read_text("utf8"), "html.parser")
    article = page.select_one("article.bd-article")
    formulas = len(article.select(".katex"))
    unseen = "a.headerlink, nav, .toctree-wrapper, .katex, .exercise + .cell .cell_output"
    for tag in article.select(unseen):
        tag.decompose()
    links = []
    for link in article.select("a[href]"):
        place, _, anchor = link["href"].partition("#")
        if re.fullmatch(r"[\w./]*\.html|", place):
            links.append(f"{Path(place or path).stem}--{anchor}".removesuffix("--"))
    choices = []
    for details in article.select("details.choice"):
        pieces = [squeezed(piece) for piece in details.p.find_all(string=True)]
        # forty letters lie on a line or two, so on one page
        choices.append((squeezed(details.summary.get_text())[:12], max(pieces, key=len)[:40]))
    return Source(
        article.h1.get_text().strip(),
        [heading.get_text().strip() for heading in article.select("h2")],
        [image["alt"] for image in article.select("img")],
        formulas,
        links,
        choices,
        article.get_text(" "),
    )


def squeezed(text: str) -> str:
    """A text without spaces, hyphens and line breaks, which a page sets as it must."""
    return re.sub(r"[\s\x02\u00ad\u2060-\u2064\ufffe-]+", "", text)


def destinations(pdf: Pdf) -> dict[str, int]:
    """The page of each id, counted from 1."""
    numbers = {page.obj.objgen: number for number, page in enumerate(pdf.pages, 1)}
    return {name[1:]: numbers[place[0].objgen] for name, place in pdf.Root.Dests.items()}


def figures(pdf: Pdf) -> list[Dictionary]:
    """What is marked as a figure and says what it shows: pictures and formulas."""
    every = (o for o in pdf.objects if isinstance(o, Dictionary))
    return [o for o in every if o.get("/S") == "/Figure" and "/Alt" in o]


def test_the_outline_has_every_page_and_section_in_order(
    pdf: Pdf, sources: list[Source], sheets: list[Sheet]
) -> None:
    with pdf.open_outline() as outline:
        found = [(item.title, [child.title for child in item.children]) for item in outline.root]
        items = [item for first in outline.root for item in (first, *first.children)]
    rounds = ["First hints", "Second hints", "Third hints", "Solutions"]
    answers = ("Hints and answers", ["Predictions: what each choice says", *rounds])
    assert found == [*((page.title, page.sections) for page in sources), answers]
    numbers = {page.obj.objgen: number for number, page in enumerate(pdf.pages)}
    for item in items:
        there = sheets[numbers[item.destination[0].objgen]]
        assert squeezed(item.title) in squeezed(there.text), item.title


def test_links_arrive_and_page_numbers_are_right(
    made: Path, pdf: Pdf, sources: list[Source], sheets: list[Sheet]
) -> None:
    there = destinations(pdf)
    numbers, titles, linked = 0, 0, Counter()
    for page, seen in zip(pdf.pages, pypdfium2.PdfDocument(made), strict=True):
        text = seen.get_textpage()
        for link in page.get("/Annots", []):
            if "/Dest" not in link:
                assert str(link.A.URI).startswith("https://")
                continue
            target = there[str(link.Dest)[1:]]
            left, low, right, high = (float(side) for side in link.Rect)
            if high - low < 4:
                continue  # the rim of a line that went to the next page
            words = text.get_text_bounded(left, low + 2, right - 2, high - 2).strip()
            linked[str(link.Dest)[1:]] += page.index >= there["index"] - 1  # behind the contents
            if re.fullmatch(r"\d+", words):
                assert int(words) == target, link.Dest
                numbers += 1
            elif page.index < there["index"] - 1:  # the contents
                assert squeezed(words) in squeezed(sheets[target - 1].text), words
                titles += 1
    assert Counter(link for page in sources for link in page.links) - linked == Counter()
    hints_and_answers = 6
    assert titles == sum(1 + len(page.sections) for page in sources) + hints_and_answers
    assert numbers > titles + 8 * len(ALL)  # to hints and solution of each exercise, and back


def test_no_word_and_no_chinese_character_is_lost(
    sources: list[Source], sheets: list[Sheet]
) -> None:
    printed = "\n".join(sheet.text for sheet in sheets)
    words, whole = set(re.findall(r"[^\W_]+", printed)), squeezed(printed)
    written = "".join(page.text for page in sources)
    lost = set(re.findall(r"[^\W_]+", written)) - words
    assert {word for word in lost if word not in whole} == set()  # some are broken at a line's end
    assert Counter(HAN.findall(written)) - Counter(HAN.findall(printed)) == Counter()
    assert len(words) > 2000


def test_fonts_are_inside_and_the_books_own(pdf: Pdf) -> None:
    fonts = [o for o in pdf.objects if isinstance(o, Dictionary) and o.get("/Type") == "/Font"]
    names = set()
    for font in fonts:
        if font.Subtype == "/Type3":
            assert len(font.CharProcs) > 0  # its letters are drawings in the file
        elif font.Subtype == "/Type0":
            assert "/FontFile2" in font.DescendantFonts[0].FontDescriptor
            names.add(str(font.BaseFont).partition("+")[2])
        else:
            assert font.Subtype == "/CIDFontType2"  # the second half of a Type0
    # another name: a sign is missing in press/print/fonts, see tools/make_print_fonts.py
    assert {name for name in names if not name.startswith(("Book", "KaTeX_"))} == set()
    assert {"BookSerifRegular", "BookSansRegular", "BookMonoRegular", "KaTeX_Main-Regular"} <= names


def test_chinese_is_set_in_the_books_own_font(made: Path, browser: Browser) -> None:
    # its letters are drawings in the PDF, which has no name for them; so the browser is asked
    page = make_pdf.open_joined(browser)
    page.evaluate(
        """() => {
            const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (texts.nextNode()) {
                const text = texts.currentNode;
                if (/[\u4e00-\u9fff]/.test(text.data)) text.parentElement.dataset.han = "";
            }
        }"""
    )
    developer = page.context.new_cdp_session(page)
    developer.send("DOM.enable")
    developer.send("CSS.enable")
    root = developer.send("DOM.getDocument")["root"]["nodeId"]
    found = developer.send("DOM.querySelectorAll", {"nodeId": root, "selector": "main [data-han]"})
    assert len(found["nodeIds"]) > 300
    for node in found["nodeIds"]:
        fonts = developer.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
        assert [font["familyName"] for font in fonts if not font["isCustomFont"]] == []
    page.context.close()


def test_no_page_is_blank_and_the_margins_are(sheets: list[Sheet]) -> None:
    left, right, foot = (round(side * POINTS * SCALE) for side in (25, 185.5, 297 - 22))
    for number, sheet in enumerate(sheets[1:], 2):  # the cover has no margins
        assert sheet.ink[:foot, left:right].sum() > 300, number
        assert not sheet.ink[:, :left].any(), number
        assert not sheet.ink[:, right:].any(), number
        assert not sheet.ink[foot:].any(), number


def test_nothing_was_shrunk_to_fit_the_paper(sheets: list[Sheet]) -> None:
    # where one thing is too wide, Chromium makes the whole book smaller
    sizes = Counter(round(letter.size, 1) for sheet in sheets for letter in sheet.letters)
    assert {size for size, _ in sizes.most_common(2)} == {10.0, 7.7}  # text and code


def test_no_heading_is_left_at_the_foot_of_a_page(pdf: Pdf, sheets: list[Sheet]) -> None:
    for number, sheet in enumerate(sheets[destinations(pdf)["index"] - 1 :]):
        seen = [letter for letter in sheet.letters if letter.sign.strip()]
        last = min(seen, key=lambda letter: letter.y)
        line = "".join(letter.sign for letter in seen if abs(letter.y - last.y) < 1)
        assert last.size < 11.5, (number, line)


def test_every_picture_is_drawn_once(pdf: Pdf, sources: list[Source]) -> None:
    pictures = [figure for figure in figures(pdf) if not str(figure.Alt).startswith(FORMULA)]
    wanted = Counter(picture for page in sources for picture in page.pictures)
    assert Counter(str(picture.Alt) for picture in pictures) == wanted
    assert sum(wanted.values()) > 40
    for picture in pictures:
        assert strokes(picture) > 20, str(picture.Alt)


def strokes(picture: Dictionary) -> int:
    """How many things are painted inside the mark that belongs to a picture."""
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


def test_formulas_are_set_and_can_be_heard(
    pdf: Pdf, sources: list[Source], sheets: list[Sheet]
) -> None:
    alts = [str(figure.Alt) for figure in figures(pdf)]
    heard = [alt.removeprefix(FORMULA) for alt in alts if alt.startswith(FORMULA)]
    assert len(heard) >= sum(page.formulas for page in sources)
    assert "softmax ( Q K^⊤ / √(d_k) ) V" in heard
    assert "" not in heard
    first = squeezed(sheets[destinations(pdf)["index"] - 1].text)
    for part in ("attention(Q,K,V)", "softmax", "weights"):
        assert part in first


def test_formulas_wear_the_colours_of_the_roles_on_light_paper(made: Path, pdf: Pdf) -> None:
    page = pypdfium2.PdfDocument(made)[destinations(pdf)["notation"] - 1]
    text, rgba, colours = page.get_textpage(), [c_uint() for _ in range(4)], set()
    for i in range(text.count_chars()):
        raw.FPDFText_GetFillColor(text, i, *rgba)
        colours.add("#{:02X}{:02X}{:02X}".format(*(part.value for part in rgba[:3])))
    assert {role.light.upper() for role in ROLES.values()} <= colours


def test_what_folds_on_a_screen_stands_at_the_end(
    pdf: Pdf, sources: list[Source], sheets: list[Sheet]
) -> None:
    there = destinations(pdf)
    end = there["answers"]
    rounds = ("hint-1", "hint-2", "hint-3", "solution")
    places = [there[f"{fold}--{key}"] for fold in rounds for key in ALL]
    assert all(one <= other for one, other in pairwise([end, *places]))
    before = squeezed("".join(sheet.text for sheet in sheets[: end - 1]))
    behind = squeezed("".join(sheet.text for sheet in sheets[end - 1 :]))
    choices = [choice for page in sources for choice in page.choices]
    assert len(choices) > 40
    for choice, says in choices:
        assert choice in before
        assert says not in before
        assert says in behind


def test_the_file_says_what_it_is(made: Path, pdf: Pdf) -> None:
    info = {key: str(value) for key, value in pdf.docinfo.items()}
    assert info["/Title"] == "Attention, from the library up"
    assert info["/Author"] == "The attention book authors"
    described = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
    assert info["/Subject"] == described["html_context"]["description"]
    assert set(info) == {"/Title", "/Author", "/Subject"}  # no date, no machine
    assert str(pdf.Root.Lang) == "en"
    assert pdf.Root.PageMode == "/UseOutlines"
    assert bool(pdf.Root.ViewerPreferences.DisplayDocTitle)
    assert made.stat().st_size < 15e6


def test_one_line_says_that_there_is_no_browser() -> None:
    run = subprocess.run(
        [sys.executable, "press/pdf.py"],
        cwd=ROOT,
        env=os.environ | {"ATTNBOOK_CHROMIUM": "no-such-browser"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert re.fullmatch(r"attention book: no-such-browser does not start.*\n", run.stderr)


def test_one_line_says_what_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser: Browser
) -> None:
    monkeypatch.setattr(make_pdf, "HTML", tmp_path)
    with pytest.raises(UserError, match=r"^the page book/index is not built: run 'make"):
        make_pdf.make(browser)


def test_one_line_says_which_picture_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser: Browser
) -> None:
    joined = tmp_path / "book.html"
    joined.write_text('<img src="gone.svg">', encoding="utf8")
    monkeypatch.setattr(make_pdf, "JOINED", joined)
    with pytest.raises(UserError, match=r"^the picture \S+gone.svg is missing"):
        make_pdf.open_joined(browser)
