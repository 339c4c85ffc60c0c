"""Every color of the book: figures, formulas, diagrams, feedback and pages take theirs from here.

A role has one color, and nothing without that role wears it: curves, states and boxes have hues
that lie between those of the roles. Colors of text have a contrast of at least 4.5 against the
page, light or dark (WCAG 2.2, 1.4.3), curves one of 3 (1.4.11). A label always stands beside a
color.

Source:  the roles' fills are Okabe and Ito 2008, "Color Universal Design", which color-blind
         readers can tell apart
"""

from typing import NamedTuple


class Role(NamedTuple):
    """The three colors of a role: `fill` for areas, `light` and `dark` for text on such a page."""

    fill: str
    light: str
    dark: str


ROLES: dict[str, Role] = {
    "query": Role(fill="#0072B2", light="#0072B2", dark="#56B4E9"),
    "key": Role(fill="#D55E00", light="#B34F00", dark="#FF8C42"),
    "value": Role(fill="#009E73", light="#007A59", dark="#2CC295"),
    "weights": Role(fill="#CC79A7", light="#A3467B", dark="#E39BC4"),
}

# What the reader's answer came to, and the boxes of a page: text on a (light, dark) page.
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

# Figures are drawn for a light page; the style sheet turns them for a dark one.
CURVES = ("#222222", "#8A6D00", "#7048B8", "#7C7C7C", "#9B3A3A")
INK, SOFT = "#222222", "#5A5A5A"  # words and hands, then shapes and ticks
RULE, GRID = "#C8C8C8", "#DDDDDD"  # lines that divide, then lines that measure
PAPER, SHADE = "#FFFFFF", "#EFEFEF"
PLAIN, MARKED = "#B8B8B8", "#8E9CAB"  # areas without a role, then cells that say yes
WEIGHTS = (PAPER, ROLES["weights"].fill, "#5E1F45")  # from 0 to 1
SIGNED = ("#8C510A", "#D8B365", PAPER, "#7FB5B5", "#01665E")  # from below zero to above
