"""Print the whole book into _build/attention-book.pdf: `make pdf`, after `make book`.

Joins the built pages, in the order of _toc.yml, into one document and lets Chromium print it. The
first print tells on which page everything lies, the second says so in the contents. The look is in
press/print/print.css.

Paper cannot fold. What is folded on a screen stands at the end of the book, where a reader meets
it only on purpose: what each choice of a prediction says, hints in three rounds, solutions.
"""

import io
import os
import posixpath
import re
import sys
from html import escape
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote, urldefrag

import pikepdf
import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, Error, Page, Playwright, sync_playwright

from press.browser import FLAGS, chromiums
from tools.common import ROOT, UserError

HTML = ROOT / "_build" / "html"
JOINED = ROOT / "_build" / "pdf" / "book.html"
PDF = ROOT / "_build" / "attention-book.pdf"
STYLE = ROOT / "press" / "print" / "print.css"

CHANNELS = ("chrome", "msedge")  # where Windows and macOS keep theirs
OLDEST = 131  # the first Chromium that prints running titles

TEXT_WIDTH = 597  # CSS pixels: 158 mm, as print.css leaves them between the margins
SMALLEST = 8.5  # CSS pixels: what would have to be smaller is wrapped
UNKNOWN = "000"  # a page number before the first print, as wide as a real one
NOT_PRINTED = "a.headerlink, .toctree-wrapper, nav, button, script, noscript, .katex-mathml"
WITHOUT_COLOUR = ".highlight :is(.n, .o, .p, .w, .nn)"  # tags that would be half of the file

ANSWERS = "Hints and answers"
CHOICES = "Predictions: what each choice says"
FOLDS = {  # what stands on a fold of an exercise, and where it is unfolded
    "Hint 1": "First hints",
    "Hint 2": "Second hints",
    "Hint 3": "Third hints",
    "Solution": "Solutions",
}

# Waits for pictures and fonts, lets shrink what is too wide, since Chromium would shrink the whole
# book, and notes which boxes are short enough to stay on one page. Returns the missing pictures.
READY = """async (smallest) => {
    document.querySelectorAll("img").forEach((image) => (image.loading = "eager"));
    await Promise.all([...document.images].map((image) => image.decode().catch(() => {})));
    await document.fonts.ready;
    document.body.classList.add("fitting");
    const room = (box) => (box.matches("table") ? box.parentElement : box);
    let wide = [...document.querySelectorAll("pre, div.math, table")];
    for (let round = 0; round < 5; round++) {  // measure all, then change them
        wide = wide.filter((box) => room(box).scrollWidth > room(box).clientWidth);
        const sizes = wide.map((box) => {
            const fits = room(box).clientWidth / room(box).scrollWidth;
            return Math.max(smallest, 0.98 * fits * parseFloat(getComputedStyle(box).fontSize));
        });
        wide.forEach((box, i) => (box.style.fontSize = `${sizes[i]}px`));
    }
    wide.forEach((box) => box.classList.add("wraps"));
    document.body.classList.remove("fitting");
    const boxes = "pre, [class*=highlight-], .cell_input, .output, table";
    const short = [...document.querySelectorAll(boxes)].filter((box) => box.offsetHeight < 300);
    short.forEach((box) => box.classList.add("short"));
    return [...document.images].filter((image) => !image.naturalWidth).map((image) => image.src);
}"""

FILL = """(pages) => {
    for (const link of document.querySelectorAll("a.page-number")) {
        link.textContent = pages[decodeURIComponent(link.hash.slice(1))];
    }
}"""

# How a formula is read aloud, from its MathML
INVISIBLE = re.compile(r"[\s\u2061-\u2064]+")
SPOKEN = {
    "mfrac": "({})/({})",
    "msub": "{}_{}",
    "munder": "{}_{}",
    "msup": "{}^{}",
    "mover": "{}^{}",
    "msubsup": "{}_{}^{}",
    "munderover": "{}_{}^{}",
}


def settings(file: str) -> dict[str, Any]:
    """What one of the book's two files for Jupyter Book says."""
    found: dict[str, Any] = yaml.safe_load((ROOT / file).read_text("utf8"))
    return found


def parts_of(toc: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The parts of the book: the caption of each, and the names of its pages in order."""
    parts = [("", [str(toc["root"])])]
    for part in toc["parts"]:
        parts.append((part.get("caption", ""), [entry["file"] for entry in part["chapters"]]))
    return parts


def stem(name: str) -> str:
    """The id of a page in the document: 03_single_head."""
    return posixpath.basename(name)


def page_number(target: str) -> str:
    """The number of the page on which an id lies, as a link to it."""
    return f'<a class="page-number" href="#{target}">{UNKNOWN}</a>'


def entry(target: str, title: str, kind: str = "section") -> str:
    """A line of a list of contents."""
    number, _, words = title.partition(" ") if re.match(r"\w+\.\w* ", title) else ("", "", title)
    return (
        f'<li class="{kind}"><a href="#{target}"><span class="number">{number}</span>'
        f'<span class="words">{words}</span></a>{page_number(target)}</li>'
    )


def told(target: str, where: str, text: str) -> str:
    """One of the folded texts, under a line that says where it comes from."""
    return f'<div class="told"><p class="where" id="{target}">{where}</p>{text}</div>'


def parsed(text: str) -> Tag:
    """The first tag in a piece of HTML."""
    return one(BeautifulSoup(text, "html.parser"), "*")


def one(tag: Tag | None, selector: str) -> Tag:
    """The first tag inside another that a selector finds; there has to be one."""
    found = tag and tag.select_one(selector)
    if not found:
        raise UserError(f"no {selector} in {str(tag)[:200]!r}: press/pdf.py expects one there")
    return found


def markup(tag: Tag) -> str:
    """What stands inside a tag."""
    return tag.decode_contents().strip()


def spoken(tag: Tag) -> str:
    """A formula in one line: (Q K^⊤)/(√(d_k))."""
    parts = [spoken(child) for child in tag.find_all(True, recursive=False)]
    if tag.name in SPOKEN:
        return SPOKEN[tag.name].format(*parts)
    line = " ".join(filter(None, parts)) or INVISIBLE.sub(" ", tag.get_text()).strip()
    return f"√({line})" if tag.name == "msqrt" else line


class Book:
    """The pages, made ready for paper, and what was folded in them."""

    def __init__(self) -> None:
        config = settings("_config.yml")
        self.title: str = config["title"]
        self.author: str = config["author"]
        self.subject: str = config["sphinx"]["config"]["html_context"]["description"]
        self.parts = parts_of(settings("_toc.yml"))
        self.names = [name for _, names in self.parts for name in names]
        self.titles: dict[str, str] = {}
        self.folded: dict[str, list[str]] = {part: [] for part in (CHOICES, *FOLDS.values())}
        self.styles = self.cover = ""
        self.articles = {stem(name): self.article(name) for name in self.names}
        self.articles["answers"] = self.answers()

    def article(self, name: str) -> Tag:
        """A page of the book: ids of its own, links into this document, nothing folded."""
        path = HTML / f"{name}.html"
        if not path.exists():
            raise UserError(f"the page {name} is not built: run 'make book' first")
        page = BeautifulSoup(path.read_text("utf8"), "html.parser")
        article = one(page, "article.bd-article")
        for formula in article.select(".katex"):
            drawn = one(formula, ".katex-html")
            drawn.attrs |= {"role": "img", "aria-label": "formula: " + spoken(one(formula, "math"))}
            del drawn["aria-hidden"]
        for tag in article.select(NOT_PRINTED):
            tag.decompose()
        for tag in article.select(WITHOUT_COLOUR):
            tag.unwrap()
        for tag in article.select("[id]"):
            tag["id"] = f"{stem(name)}--{tag['id']}"
        for tag in article.select("[href]"):
            self.relink(tag, name)
        for image in article.select("img"):
            image["src"] = address(name, str(image["src"]))
        for section in article.select("section[id]"):  # it may begin on the page before its heading
            heading = one(section, ":scope > :is(h1, h2, h3, h4)")
            heading["id"] = section.attrs.pop("id")
        self.titles[stem(name)] = title = markup(one(article, "h1"))
        if not self.styles:
            self.styles = styles(page, name)
            self.cover = str(one(article, "img.cover").extract())
        for part, texts in {**unfold_choices(article, name), **unfold_exercises(article)}.items():
            self.folded[part] += [f"<h3>{title}</h3>", *texts] if texts else []
        for details in article.select("details"):
            details.name = "div"
        open_chapter(article)
        return article

    def relink(self, tag: Tag, name: str) -> None:
        """Let a link between pages lead to the same place in this document."""
        place, anchor = urldefrag(str(tag["href"]))
        if re.match(r"\w+:", place):
            return
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), place))
        target = target.removesuffix(".html") if place else name
        if target in self.names:
            tag["href"] = f"#{stem(target)}" + (f"--{unquote(anchor)}" if anchor else "")
        else:
            tag.unwrap()  # a picture that leads to its own file

    def answers(self) -> Tag:
        """The last part of the book: what was folded."""
        rounds = ""
        for number, (part, texts) in enumerate(self.folded.items(), 1):
            heading = f'<h2 id="answers--{number}">{part}</h2>'
            rounds += f'<section class="round">{heading}{"".join(texts)}</section>'
        article = parsed(
            f'<article class="bd-article"><section><h1>{ANSWERS}</h1><div class="opening">'
            "<p>Commit to a choice before you look up what it says. Work for five minutes before "
            "you look up a hint; the next one stands some pages on, so that your eye does not fall "
            "on it. A solution is one right answer among many. What is wrong with yours, the "
            f"checker tells you in the notebooks.</p></div>{rounds}</section></article>"
        )
        self.titles["answers"] = ANSWERS
        open_chapter(article)
        return article

    def contents(self) -> str:
        """The list of contents, with the page of each chapter and section."""
        lines = ""
        for caption, names in [*self.parts, ("At the end", ["answers"])]:
            lines += f'<li class="part">{escape(caption)}</li>' if caption else ""
            for key in map(stem, names):
                lines += entry(key, self.titles[key], "page") + sections(self.articles[key])
        return f'<section class="contents"><h1>Contents</h1><ol>{lines}</ol></section>'

    def outline(self) -> list[dict[str, str]]:
        """For each chapter its id and its title, and those of its sections."""
        return [
            {key: parsed(f"<p>{self.titles[key]}</p>").get_text()}
            | {str(heading["id"]): heading.get_text() for heading in article.select("h2")}
            for key, article in self.articles.items()
        ]

    def document(self) -> str:
        """The whole book as one page of HTML."""
        running, body = "", ""
        for key, article in self.articles.items():
            if article.select_one(".opener"):
                title = one(article, "h1").get_text().replace('"', "”")
                running += f'@page c{key} {{ @top-left {{ content: "{title}" }} }}\n'
                running += f'[id="{key}"] {{ page: c{key} }}\n'
            body += f'<div class="chapter" id="{key}">{article}</div>\n'
        return f"""<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<title>{escape(self.title)}</title>
{self.styles}
<link rel="stylesheet" href="../../{STYLE.relative_to(ROOT).as_posix()}">
<style>
{running}</style>
</head>
<body>
<main class="bd-content">
{self.front()}
{self.contents()}
{body}
</main>
</body>
</html>
"""

    def front(self) -> str:
        """The cover, and the page behind it."""
        places = ""
        for name, says in (
            ("ATTNBOOK_SITE", "Read it in a browser"),
            ("ATTNBOOK_REPOSITORY", "Notebooks and library"),
        ):
            if place := escape(os.environ.get(name, "")):
                places += f'<p>{says}: <a href="{place}">{place}</a></p>\n'
        return f"""<section class="front">
<p class="title">{escape(self.title)}</p>
<p class="subject">{escape(self.subject)}</p>
{self.cover}
<p class="author">{escape(self.author)}</p>
</section>
<section class="imprint"><div>
<p><strong>{escape(self.title)}</strong><br>{escape(self.author)}, version {version("attnbook")}</p>
{places}<p>This is the book on paper. Each chapter is also a notebook, in which you can change a
number and see what breaks, and in which the exercises check themselves. Every output and every
picture here was computed by those notebooks, and is computed again by the book’s tests.</p>
<p>What folds on a screen stands at the end, from page {page_number("answers")} on: what each choice
of a prediction says, hints, and solutions.</p>
<p>The text and the figures are licensed under CC BY 4.0: use them, change them, and name the book.
The code is under the MIT licence.</p>
<p>Set in Source Serif, Source Sans, Source Code and Noto Sans CJK (SIL Open Font License), the
formulas in the fonts of KaTeX (MIT licence).</p>
</div></section>"""


def address(name: str, link: str) -> str:
    """The address of a file that a page names, seen from the joined document."""
    return "../html/" + posixpath.normpath(posixpath.join(posixpath.dirname(name), link))


def styles(page: BeautifulSoup, name: str) -> str:
    """The style sheets that a page uses."""
    tags = one(page, "head").select("link[rel=stylesheet], :not(noscript) > style")
    for tag in tags:
        if tag.has_attr("href"):
            tag["href"] = address(name, str(tag["href"]))
    return "\n".join(str(tag) for tag in tags)


def sections(article: Tag) -> str:
    """Lines of a list of contents: the sections of a page."""
    return "".join(entry(str(heading["id"]), markup(heading)) for heading in article.select("h2"))


def open_chapter(article: Tag) -> None:
    """Give a chapter a first page with its title, what it needs, and its sections."""
    opening = article.select_one("h1 + div.opening")
    if opening is None:
        return
    opener = parsed(f'<div class="opener"><ol>{sections(article)}</ol></div>')
    heading = one(article, "h1").replace_with(opener)
    title = re.sub(r"^\d+\.", r'<span class="number">\g<0></span>', markup(heading))
    heading.clear()
    heading.extend(list(parsed(f"<div>{title}</div>").contents))
    for place, tag in enumerate((heading, opening.extract())):
        opener.insert(place, tag)


def unfold_choices(article: Tag, name: str) -> dict[str, list[str]]:
    """List the choices of each prediction below it; return what they say."""
    texts = []
    for question in article.select("p.predict:has(+ details.choice)"):
        choices = question.find_next_siblings("details")
        key = str(choices[0]["name"])
        here, there = f"{stem(name)}--{key}", f"told--{key}"
        listed = answers = ""
        for details in choices:
            if details.get("name") != key:
                break
            choice = markup(one(details, "summary").extract())
            listed += f"<li>{choice}</li>"
            answers += f"<li><strong>{choice}</strong> {markup(details.extract())}</li>"
        section = question.find_parent("section")
        where = f"{markup(one(section, 'h2, h3'))}, page {page_number(here)}"
        asked = re.sub(r"^<strong>.*?</strong>\s*", "", markup(question))
        texts.append(told(there, where, f"<p>{asked}</p><ul>{answers}</ul>"))
        question["id"] = here
        question.insert_after(
            parsed(
                f'<div class="choices"><ul>{listed}</ul><p class="turn">What each choice says: '
                f"page {page_number(there)}</p></div>"
            )
        )
    return {CHOICES: texts}


def unfold_exercises(article: Tag) -> dict[str, list[str]]:
    """Say below each exercise where its hints and its solution are; return these."""
    texts: dict[str, list[str]] = {part: [] for part in FOLDS.values()}
    for card in article.select("div.exercise"):
        title = one(card, ".admonition-title")
        key, _, words = title.get_text().removeprefix("Exercise ").partition(": ")
        title["id"] = here = f"exercise--{key}"
        where = f"<strong>{key}</strong> {escape(words)}, page {page_number(here)}"
        untried = one(card.find_next_sibling("div", class_="cell"), ".cell_output")
        pages = []
        for details in card.find_next_siblings("details", limit=len(FOLDS)):
            fold = one(details, "summary").extract().get_text()
            there = f"{fold.lower().replace(' ', '-')}--{key}"
            texts[FOLDS[fold]].append(told(there, where, markup(details.extract())))
            pages.append(page_number(there))
        *hints, solution = pages
        line = f"Hints: pages {', '.join(hints)} · Solution: page {solution}"
        untried.replace_with(parsed(f'<p class="turn">{line}</p>'))
    return texts


def start(playwright: Playwright) -> Browser:
    """A Chromium: the one that ATTNBOOK_CHROMIUM names, or else the first that starts."""
    named = os.environ.get("ATTNBOOK_CHROMIUM")
    ways: list[dict[str, str]] = [{"executable_path": path} for path in chromiums()]
    if not named:
        ways += [{}, *({"channel": channel} for channel in CHANNELS)]  # {} is Playwright's own
    for way in ways:
        try:
            browser = playwright.chromium.launch(args=FLAGS, **way)  # type: ignore[arg-type]
        except Error:
            continue
        if int(browser.version.split(".")[0]) >= OLDEST:
            return browser
        browser.close()
    raise UserError(
        f"{named or 'no Chromium'} {'does not start or is too old' if named else 'was found'}: "
        f"install Chromium {OLDEST} or newer, or set ATTNBOOK_CHROMIUM to its path"
    )


def open_joined(browser: Browser) -> Page:
    """The joined document in the browser, laid out as on paper."""
    page = browser.new_context(
        offline=True, viewport={"width": TEXT_WIDTH, "height": 900}, color_scheme="light"
    ).new_page()
    page.emulate_media(media="print")
    page.goto(JOINED.as_uri())
    for picture in page.evaluate(READY, SMALLEST):
        raise UserError(f"the picture {picture} is missing: 'make clean', then 'make pdf' again")
    return page


def printed(page: Page) -> bytes:
    """The document as a PDF whose page numbers are right."""
    filled: dict[str, int] = {}
    for _ in range(4):
        pdf = page.pdf(prefer_css_page_size=True, print_background=True, tagged=True)
        found = destinations(pdf)
        if found == filled:
            return pdf
        page.evaluate(FILL, found)
        filled = found
    raise UserError("the page numbers do not settle: a fault in press/pdf.py, please report it")


def destinations(pdf: bytes) -> dict[str, int]:
    """The page of each id that something links to."""
    with pikepdf.open(io.BytesIO(pdf)) as document:
        numbers = {page.obj.objgen: number for number, page in enumerate(document.pages, 1)}
        places = document.Root.Dests.items()
        return {name.removeprefix("/"): numbers[place[0].objgen] for name, place in places}


def finished(pdf: bytes, book: Book) -> bytes:
    """The PDF with title, author and outline to the fore, packed, and without a date."""
    with pikepdf.open(io.BytesIO(pdf)) as document:
        del document.docinfo
        document.docinfo["/Title"] = book.title
        document.docinfo["/Author"] = book.author
        document.docinfo["/Subject"] = book.subject
        document.Root.PageMode = pikepdf.Name.UseOutlines
        places = document.Root.Dests
        with document.open_outline() as outline:
            for titles in book.outline():
                first, *others = (
                    pikepdf.OutlineItem(title, pikepdf.Array(places[f"/{key}"]))
                    for key, title in titles.items()
                )
                first.children, first.is_closed = others, True
                outline.root.append(first)
        file = io.BytesIO()
        packed = pikepdf.ObjectStreamMode.generate
        document.save(file, object_stream_mode=packed, deterministic_id=True)
    return file.getvalue()


def make(browser: Browser) -> None:
    """Join, print and write the book."""
    book = Book()
    JOINED.parent.mkdir(parents=True, exist_ok=True)
    JOINED.write_text(book.document(), encoding="utf8")
    pdf = finished(printed(open_joined(browser)), book)
    unfinished = PDF.with_suffix(".part")
    unfinished.write_bytes(pdf)
    unfinished.replace(PDF)


def main() -> int:
    """Make the PDF, or say in one line why not; return the exit status."""
    try:
        with sync_playwright() as playwright:
            make(start(playwright))
    except (UserError, OSError, Error) as trouble:
        print(f"attention book: {str(trouble).splitlines()[0]}", file=sys.stderr)
        return 1
    print(f"{PDF.relative_to(ROOT)}: {PDF.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
