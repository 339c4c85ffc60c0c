"""Pack the built book into _build/attention-book-html.zip: `make zip`, after `make book`.

A reader unpacks one folder, attention-book, and opens the one page in it, index.html. That page
links to attention-book/pages, which holds all other files, so that there is nothing else to open.
The zip contains only what a reader can reach, and the same book gives the same zip, byte for byte.
"""

import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lxml.html import document_fromstring

from attnbook.language import _
from manuscript.common import ROOT, UserError, run_tool
from manuscript.edition import ENDING, HTML
from press.editions import SWITCH

ZIP = ROOT / "_build" / f"attention-book-html{ENDING}.zip"
FOLDER = f"attention-book{ENDING}"
PAGES = "pages"

LICENSES = ("licenses.txt", "LICENSE", "OFL.txt")  # in _static, where no page links to them
READ_ME = _(
    """\
Attention, from the library up

Open index.html in this folder: a double click shows the book in your browser.

If you see this inside a zip, unpack the whole zip first (on Windows: right
click on it, "Extract All...").

The book needs no network and sends nothing anywhere; its search works too.
To move the book, move this whole folder.

The text and the figures are under CC BY 4.0 (LICENSE-TEXT.txt), the code is
under the MIT license (LICENSE.txt). The licenses of software and
fonts by others: pages/_static/licenses.txt, and the files beside the fonts.
"""
)


def main() -> int:
    """Make the zip; return the exit status."""
    pack(dict(contents(HTML)), ZIP)
    print(f"{ZIP.relative_to(ROOT)}: {ZIP.stat().st_size / 1e6:.1f} MB")
    return 0


def contents(html: Path) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each file in the zip."""
    start, *others = reached(html)
    moved = re.sub(r'((?:href|src)="|url=)', rf"\1{PAGES}/", start.read_text("utf-8"))
    yield "index.html", moved.encode()
    yield "READ ME.txt", READ_ME.encode()
    for name in ("LICENSE", "LICENSE-TEXT"):
        yield f"{name}.txt", (ROOT / name).read_bytes()
    for path in others:
        content = path.read_bytes()
        if path.suffix == ".html":  # the other edition is not in this zip
            content = SWITCH.sub("", content.decode()).encode()
        yield f"{PAGES}/{path.relative_to(html).as_posix()}", content


def reached(html: Path) -> list[Path]:
    """The first page, everything that a reader can reach from there, and the licenses.

    Leftovers from an earlier build are not included.
    """
    found: dict[Path, None] = {}
    waiting = [html / "index.html"]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        if not path.is_file():
            name = os.path.relpath(path, html)
            raise UserError(f"{name} is missing in _build/html: run 'make book' first")
        found[path] = None
        for address in map(urlsplit, addresses(path)):
            if address.path and not address.scheme and not address.netloc:
                waiting.append(Path(os.path.normpath(path.parent / unquote(address.path))))
    return [*found, *(path for name in LICENSES for path in (html / "_static").rglob(name))]


def addresses(path: Path) -> list[str]:
    """The addresses of everything that a page or a style sheet links to, shows or loads."""
    if path.suffix == ".css":
        return re.findall(r"url\(([^\"'()]+)\)", path.read_text("utf-8"))
    if path.suffix != ".html":
        return []
    page = document_fromstring(path.read_text("utf-8"))
    for switch in page.find_class("editions"):
        switch.drop_tree()
    return [str(address) for address in page.xpath("//@href | //@src | //@data-headings")]


def pack(files: dict[str, bytes], target: Path) -> None:
    """Write the files into a zip, sorted by name and all with the same date."""
    unfinished = target.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w") as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}")  # dated 1980, the earliest year allowed
            entry.create_system = 3  # "Unix" on every system, so that the file mode counts
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=9)
    unfinished.replace(target)


if __name__ == "__main__":
    run_tool(main)
