"""Colors: all in one file, readable on light and dark pages, and with a separate hue per role."""

import ast
import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

from matplotlib.colors import is_color_like, to_rgb

from attnbook.colors import BOXES, CODE, CURVES, PAGE, ROLES, STATES, variables
from manuscript.common import ROOT
from tests.support.contrast import contrast, linear

CSS = "".join(path.read_text("utf8") for path in (ROOT / "press" / "static").rglob("*.css"))
LIGHT, DARK = PAGE["page"]
GROUNDS = list(zip(PAGE["page"], PAGE["surface"], strict=True))
FILTER = re.search(r"invert\((.*?)\) hue-rotate\(180deg\) saturate\((.*?)\)", CSS)
INVERT, SATURATE = map(float, FILTER.groups())
HUE_180 = [[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]]  # Filter Effects 1
GRAY = [0.213, 0.715, 0.072]
TO_LMS = [[0.41222, 0.53633, 0.05145], [0.2119, 0.6807, 0.1074], [0.0883, 0.28172, 0.62998]]
TO_LAB = [[0.21045, 0.79362, -0.00407], [1.978, -2.42859, 0.45059], [0.0259, 0.78277, -0.80868]]
SIGHTS = {  # Machado, Oliveira and Fernandes 2009
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no green": [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
}


# Only colors.py may contain these colors. (Notebook outputs contain them, too, but nobody typed
# those.)
PAIRS = [*STATES.values(), *BOXES.values(), *PAGE.values(), *CODE.values()]
NAMED = {color.lower() for color in itertools.chain(*ROLES.values(), *PAIRS)}
SEARCHED = "README.md ARCHITECTURE.md CONTRIBUTING.md book manuscript press src tests tools".split()
TEXTS = {".py", ".md", ".css", ".js", ".html", ".svg", ".ipynb", ".json", ".yml", ".toml"}
HEX = r"#(?:[0-9A-Fa-f]{3}){1,2}\b"


def times(matrix, color):
    return [sum(a * b for a, b in zip(row, color, strict=True)) for row in matrix]


def oklab(color, sight="all cones"):
    seen = [max(c, 0.0) for c in times(SIGHTS[sight], linear(color))]
    return times(TO_LAB, [c ** (1 / 3) for c in times(TO_LMS, seen)])


def turned(color):
    """A figure's color on a dark page, after the style sheet's filter."""
    inverted = [INVERT + (1 - 2 * INVERT) * c for c in to_rgb(color)]
    rotated = [min(max(c, 0), 1) for c in times(HUE_180, inverted)]
    gray = sum(a * b for a, b in zip(GRAY, rotated, strict=True))
    return [min(max(gray + SATURATE * (c - gray), 0), 1) for c in rotated]


def test_colors_are_seen_on_both_pages():
    roles = ((role.light, role.dark) for role in ROLES.values())
    for light, dark in (*roles, *STATES.values(), *BOXES.values()):
        for color, grounds in zip((light, dark), GROUNDS, strict=True):
            assert min(contrast(color, ground) for ground in grounds) >= 4.5, color
    for color in CURVES:
        assert min(contrast(color, LIGHT), contrast(turned(color), DARK)) >= 3, color


def test_curves_can_be_told_apart_with_any_color_vision_and_boxes_with_most():
    pages = zip(*BOXES.values(), strict=True)
    palettes = [(CURVES, sight) for sight in SIGHTS] + [(page, "all cones") for page in pages]
    for palette, sight in palettes:
        for one, other in itertools.combinations(palette, 2):
            assert math.dist(oklab(one, sight), oklab(other, sight)) > 0.07, (one, other)


def test_no_neutral_color_has_the_hue_of_a_role():
    hues = [math.atan2(b, a) for role in ROLES.values() for _, a, b in map(oklab, role)]
    pairs = [*STATES.values(), *BOXES.values()]
    for color in [*CURVES, *itertools.chain(*pairs)]:
        _, a, b = oklab(color)
        turns = [abs(math.remainder(math.atan2(b, a) - hue, 2 * math.pi)) for hue in hues]
        assert math.hypot(a, b) < 0.03 or min(turns) > math.radians(20), color


def written(path: Path) -> str:
    """The text of a file as its author wrote it; for a notebook, the sources of its cells."""
    text = path.read_text("utf8")
    if path.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])


def repeated(root: Path) -> Iterator[str]:
    """List the colors of colors.py that another file repeats, one per line."""
    for top in SEARCHED:
        for path in sorted(root.glob(f"{top}/**/*" if (root / top).is_dir() else top)):
            if path.suffix in TEXTS and path.name != "colors.py":
                found = {color.lower() for color in re.findall(HEX, written(path))}
                yield from (f"{path.relative_to(root)}: {color}" for color in sorted(found & NAMED))


def test_no_other_file_repeats_a_color() -> None:
    assert list(repeated(ROOT)) == []


def test_a_repeated_color_is_found(tmp_path: Path) -> None:
    role = ROLES["query"]
    formula = {"source": [f"$\\textcolor{{{role.light}}}{{Q}}$\n"]}
    figure = {"source": ["plot()"], "outputs": [role.fill]}
    for name, text in {
        "book/1.ipynb": json.dumps({"cells": [figure, formula]}),
        "book/2.ipynb": json.dumps({"cells": [figure]}),
        "book/images/a.svg": f'<svg fill="{role.fill.lower()}"/>',
        "src/attnbook/colors.py": role.light,
        "src/a.js": f"color: {STATES['failed'][1]};",
        "README.md": "#000000",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [line.partition(":")[0] for line in repeated(tmp_path)] == [
        "book/1.ipynb",
        "book/images/a.svg",
        "src/a.js",
    ]


def test_style_sheets_and_scripts_use_variables() -> None:
    defined = set(re.findall(r"(--[\w-]+):", variables()))
    groups = "|".join({name.split("-")[2] for name in defined})
    files = [
        path for folder in ("static", "pdf") for path in (ROOT / "press" / folder / "css").iterdir()
    ]
    files += sorted((ROOT / "src" / "attnbook" / "widgets" / "scripts").glob("*.js"))
    own = set(re.findall(r"(--[\w-]+):", "".join(path.read_text("utf8") for path in files)))
    for path in files:
        text = path.read_text("utf8")
        assert set(re.findall(rf"(?<![\w%]){HEX}", text)) <= {"#000", "#fff"}, path
        used = set(re.findall(rf"--(?:{groups})-[\w-]*\w\b(?!-\$)", text))
        assert used - defined - own == set(), path


def test_the_library_names_no_color_outside_of_colors() -> None:
    package = ROOT / "src" / "attnbook"
    for path in package.rglob("*.py"):
        if path != package / "colors.py":
            assert not re.findall(HEX, path.read_text("utf8")), path
    for path in (package / "figures").glob("*.py"):
        texts = [node.value for node in ast.walk(ast.parse(path.read_text("utf8")))
                 if isinstance(node, ast.Constant) and isinstance(node.value, str)]  # fmt: skip
        named = [
            t
            for t in texts
            if len(t) > 1 and t != "none" and is_color_like(t) and not re.match(r"[-+.\d]", t)
        ]
        assert not named, path
