"""Subset the fonts of the PDF and of the figures to the characters that the book may need.

    .venv/bin/python -m press.fonts pdf FOLDER
    .venv/bin/python -m press.fonts figures [FOLDER]

`pdf` writes press/pdf/fonts, and needs the package brotli. Run it when tests/press/test_pdf.py
finds another font in the PDF. FOLDER holds Adobe's releases of Source Serif 4, Source Sans 3
and Source Code Pro with their TrueType files (npm: source-serif, source-sans, source-code-pro).

`figures` writes src/attnbook/fonts. Run it when tests/figures/test_canvas.py says that a character
is missing. FOLDER holds NotoSansCJK-Regular.ttc and NotoSansCJK-Bold.ttc (Debian: fonts-noto-cjk).
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from babel.messages.pofile import read_po
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTCollection, TTFont

from attnbook.figures.canvas import FAMILY
from attnbook.language import HAN
from manuscript.common import ROOT
from manuscript.edition import TRANSLATIONS
from manuscript.messages import is_label

NOTO = "/usr/share/fonts/opentype/noto"
PDF = {  # the license reserves the name Source for Adobe's own files
    "Book Serif Regular": "SourceSerif4-Regular",
    "Book Serif Italic": "SourceSerif4-It",
    "Book Serif Semibold": "SourceSerif4-Semibold",
    "Book Display Semibold": "SourceSerif4Display-Semibold",
    "Book Sans Regular": "SourceSans3-Regular",
    "Book Sans Italic": "SourceSans3-It",
    "Book Sans Semibold": "SourceSans3-Semibold",
    "Book Mono Regular": "SourceCodePro-Regular",
    "Book Mono Italic": "SourceCodePro-It",
}
BLOCKS = (  # Unicode blocks that the fonts of the PDF cover
    range(0x0020, 0x0180),  # Latin
    range(0x02B0, 0x0400),  # modifiers, accents, Greek
    range(0x1D2C, 0x1D6B),  # superscript and subscript letters
    range(0x2010, 0x2150),  # punctuation, superscripts and subscripts, letterlike symbols
    range(0x2190, 0x2300),  # arrows, operators
    range(0x2500, 0x27C0),  # box drawing, shapes, stars
)
LATIN = [*range(0x20, 0x7F), *range(0xA0, 0x100)]
SIGNS = "ΑΒΓΔΘΛΣΦΨΩαβγδεθλμπρστφψω–—‘’“”…·•×÷−√∞≈≠≤≥→←↑↓↔∈ℝ∑⋅⊤ᵀ★☆○●✓✗₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹"
CHINESE = re.compile(rf"[\u3000-\u303f{HAN}\uff00-\uffef]")  # and Chinese punctuation


def chinese_of_the_book() -> set[str]:
    """Every Chinese character in the pages, in the library and in figures of other editions."""
    files = [p for kind in ("*.ipynb", "*.md") for p in (ROOT / "book").rglob(kind)]
    files += (ROOT / "src").rglob("*.py")
    texts = [path.read_text(encoding="utf8") for path in files]
    for path in TRANSLATIONS.glob("*/attnbook.po"):
        with path.open("rb") as file:
            texts += (str(m.string) for m in read_po(file) if m.id and is_label(m))
    return {c for text in texts for c in CHINESE.findall(text)}


def cut(font: TTFont, characters: Iterable[int], path: Path, **options: object) -> None:
    """Write a font with only these characters and without hinting."""
    subsetter = Subsetter(Options(hinting=False, recalc_timestamp=False, **options))
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    font.save(path)
    kib = path.stat().st_size // 1024
    print(f"{path.relative_to(ROOT)}: {len(font.getBestCmap())} characters, {kib} KiB")


def cut_pdf(folder: Path) -> None:
    """Write the fonts of the PDF under the book's own names."""
    features = ["kern", "liga", "calt", "ccmp", "mark", "lnum", "tnum"]
    for name, source in PDF.items():
        font = TTFont(next(folder.rglob(f"{source}.ttf")), recalcTimestamp=False)
        family, _, style = name.rpartition(" ")
        for number, text in ((1, family), (2, style), (4, name), (6, name.replace(" ", ""))):
            font["name"].setName(text, number, 3, 1, 0x409)
        font.flavor = "woff2"
        path = ROOT / "press" / "pdf" / "fonts" / f"{name.lower().replace(' ', '-')}.woff2"
        wanted = [character for block in BLOCKS for character in block]
        cut(font, wanted, path, layout_features=features, name_IDs=[0, 1, 2, 4, 6, 13, 14])


def cut_figures(folder: Path) -> None:
    """Write the font of the figures, under a name that no system font has."""
    wanted = {*LATIN, *map(ord, SIGNS), *map(ord, chinese_of_the_book())}
    for style in ("Regular", "Bold"):
        fonts = TTCollection(folder / f"NotoSansCJK-{style}.ttc").fonts
        font = next(f for f in fonts if " SC" in (f["name"].getDebugName(4) or ""))
        path = ROOT / "src" / "attnbook" / "fonts" / f"NotoSansCJKsc-{style}.otf"
        for number, text in ((1, FAMILY), (4, f"{FAMILY} {style}")):
            font["name"].setName(text, number, 3, 1, 0x409)
        names = [0, 1, 2, 3, 4, 5, 6, 13, 14]
        cut(font, wanted, path, layout_features=["kern"], name_IDs=names, desubroutinize=True)


if __name__ == "__main__":
    which, folder = sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else NOTO)
    {"pdf": cut_pdf, "figures": cut_figures}[which](folder)
