"""Cut the figures' font down to the characters that the book uses.

    .venv/bin/python press/figure_font.py [FOLDER]

FOLDER holds NotoSansCJK-Regular.ttc and NotoSansCJK-Bold.ttc (Debian: package fonts-noto-cjk). Run
it when `tests/figures/test_canvas.py` says that a character is missing: it scans the pages and the
library, and writes the two files in src/attnbook/fonts/.
"""

import re
import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTCollection

from tools.common import ROOT

FONTS = ROOT / "src" / "attnbook" / "fonts"
CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
LATIN = [*range(0x20, 0x7F), *range(0xA0, 0x100)]
SIGNS = "ΑΒΓΔΘΛΣΦΨΩαβγδεθλμπρστφψω–—‘’“”…·•×÷−√∞≈≠≤≥→←↑↓↔∈ℝ∑⋅⊤ᵀ★☆○●✓✗₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹"


def chinese_of_the_book() -> set[str]:
    """Every Chinese character in the pages and in the library."""
    files = [p for kind in ("*.ipynb", "*.md") for p in (ROOT / "book").rglob(kind)]
    files += (ROOT / "src").rglob("*.py")
    return {c for path in files for c in CHINESE.findall(path.read_text(encoding="utf8"))}


def main(folder: Path) -> None:
    wanted = {*LATIN, *map(ord, SIGNS), *map(ord, chinese_of_the_book())}
    for style in ("Regular", "Bold"):
        collection = TTCollection(folder / f"NotoSansCJK-{style}.ttc")
        font = next(f for f in collection.fonts if " SC" in (f["name"].getDebugName(4) or ""))
        options = Options(
            name_IDs=[0, 1, 2, 3, 4, 5, 6, 13, 14], hinting=False, desubroutinize=True
        )
        options.layout_features = ["kern"]
        options.recalc_timestamp = False
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=wanted)
        subsetter.subset(font)
        path = FONTS / f"NotoSansCJKsc-{style}.otf"
        font.save(path)
        print(
            f"{path.relative_to(ROOT)}: {len(font.getBestCmap())} characters, "
            f"{path.stat().st_size // 1024} KiB"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/fonts/opentype/noto"))
