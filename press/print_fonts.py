"""Cut the fonts of the PDF down to the signs that a book like this one can need.

    python press/print_fonts.py FOLDER

FOLDER holds Adobe's releases of Source Serif 4, Source Sans 3 and Source Code Pro with their
TrueType files (npm: source-serif, source-sans, source-code-pro). Writes press/print/fonts/. Needs
the package brotli besides the book's own. Run it when tests/press/test_pdf.py names a font that is
not among these: a sign is then missing in them.
"""

import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FONTS = Path(__file__).parent / "print" / "fonts"
CUTS = {  # the licence reserves the name Source for Adobe's own files
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
BLOCKS = (  # first and last sign of Unicode's blocks
    (0x0020, 0x017F),  # Latin
    (0x02B0, 0x03FF),  # modifiers, accents, Greek
    (0x1D2C, 0x1D6A),  # raised and lowered letters
    (0x2010, 0x214F),  # punctuation, raised and lowered numbers, letter-like signs
    (0x2190, 0x22FF),  # arrows, operators
    (0x2500, 0x27BF),  # frames, shapes, stars
)
FEATURES = ["kern", "liga", "calt", "ccmp", "mark", "lnum", "tnum"]


def main(folder: Path) -> None:
    for name, source in CUTS.items():
        font = TTFont(next(folder.rglob(f"{source}.ttf")), recalcTimestamp=False)
        options = Options(hinting=False, layout_features=FEATURES, name_IDs=[0, 1, 2, 4, 6, 13, 14])
        options.recalc_timestamp = False
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=[c for low, high in BLOCKS for c in range(low, high + 1)])
        subsetter.subset(font)
        family, _, style = name.rpartition(" ")
        for number, text in ((1, family), (2, style), (4, name), (6, name.replace(" ", ""))):
            font["name"].setName(text, number, 3, 1, 0x409)
        font.flavor = "woff2"
        path = FONTS / f"{name.lower().replace(' ', '-')}.woff2"
        font.save(path)
        print(f"{path.name}: {len(font.getBestCmap())} signs, {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
