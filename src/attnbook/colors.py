"""Every color of the book: figures, formulas, scripts, style sheets and feedback use these.

To change a color, change its line here; then `make run` redraws the figures and `make book`
rebuilds the pages. Formulas name a role (`\\textcolor{query}{Q}`), style sheets and scripts name a
variable (`var(--role-query)`), and `variables()` below defines all of these variables.

Each role has its own color; curves, states and boxes have hues between those of the roles. Text
colors have a contrast of at least 4.5 against the page, light or dark (WCAG 2.2, 1.4.3), and curves
have at least 3 (1.4.11). There is always a label next to a color, so that color is never the only
cue.

Source:  the roles' fills are from Okabe and Ito 2008, "Color Universal Design": color-blind
         readers can tell them apart
"""

from typing import NamedTuple


class Role(NamedTuple):
    """A role's colors: `fill` for areas, `light` and `dark` for text on light and dark pages."""

    fill: str
    light: str
    dark: str


ROLES: dict[str, Role] = {
    "query": Role(fill="#0072B2", light="#0072B2", dark="#56B4E9"),
    "key": Role(fill="#D55E00", light="#B34F00", dark="#FF8C42"),
    "value": Role(fill="#009E73", light="#007A59", dark="#2CC295"),
    "weights": Role(fill="#CC79A7", light="#A3467B", dark="#E39BC4"),
}

# Right and wrong answers, boxes, the page itself and the code on it each have two colors, one for
# light pages and one for dark pages.
STATES: dict[str, tuple[str, str]] = {
    "passed": ("#4A7A16", "#9CC76A"),
    "failed": ("#B0203C", "#FF8B93"),
    "info": ("#55606B", "#AEB8C2"),
}
BOXES: dict[str, tuple[str, str]] = {
    "note": ("#5A5F66", "#B4BAC1"),
    "warning": ("#7D6000", "#DDB94F"),
    "exercise": ("#00707F", "#5FC3D3"),
    "predict": ("#6D4BB0", "#BBA6F0"),
}
PAGE: dict[str, tuple[str, str]] = {
    "page": ("#FDFCFA", "#15181D"),
    "surface": ("#F5F3EE", "#1D2128"),  # behind code, boxes and interactive figures
    "text": ("#23262D", "#DCDFE5"),
    "muted": ("#595E69", "#A0A7B4"),
    "line": ("#E2DED5", "#333944"),
    "edge": ("#8F8B82", "#6F7785"),  # outlines of buttons and fields
    "accent": ("#3D4C9C", "#A9B6F7"),  # links, buttons, keywords
    "code": ("#2B3038", "#D5D9E0"),
}
CODE: dict[str, tuple[str, str]] = {
    "string": ("#476A1F", "#B5CF86"),
    "number": ("#8A4B08", "#E6B673"),
    "comment": ("#62676F", "#979FAC"),
    "definition": ("#7A3E8F", "#D7A8E8"),
    "builtin": ("#1F6069", "#86CBD6"),
}

# Figures are drawn for a light page; the style sheet inverts them on a dark one.
CURVES = ("#222222", "#8A6D00", "#7048B8", "#7C7C7C", "#9B3A3A")
INK, SOFT = "#222222", "#5A5A5A"  # INK: words and clock hands; SOFT: shapes and ticks
RULE, GRID = "#C8C8C8", "#DDDDDD"  # RULE: dividing lines; GRID: grid lines
PAPER, SHADE = "#FFFFFF", "#EFEFEF"
PLAIN, MARKED = "#B8B8B8", "#8E9CAB"  # PLAIN: areas without a role; MARKED: True cells
WEIGHTS = (PAPER, ROLES["weights"].fill, "#5E1F45")  # from 0 to 1
SIGNED = ("#8C510A", "#D8B365", PAPER, "#7FB5B5", "#01665E")  # from negative to positive


def variables() -> str:
    """CSS that gives each color a name: --role-query, --state-failed, --box-note, --book-page, ...

    Each variable holds the color for the page's theme, light or dark. In addition,
    --role-query-fill is a role's color for areas; --signed-below and --signed-above are the colors
    of signed numbers.
    """
    pairs = {f"role-{name}": (role.light, role.dark) for name, role in ROLES.items()}
    groups = {"state": STATES, "box": BOXES, "book": PAGE, "code": CODE}
    for group, colors in groups.items():
        pairs |= {f"{group}-{name}": pair for name, pair in colors.items()}
    values = {name: f"light-dark({light},{dark})" for name, (light, dark) in pairs.items()}
    values |= {f"role-{name}-fill": role.fill for name, role in ROLES.items()}
    values |= {"signed-below": SIGNED[0], "signed-above": SIGNED[-1]}
    return f":root{{{''.join(f'--{name}:{value};' for name, value in values.items())}}}"
