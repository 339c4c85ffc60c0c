"""One colour per role, everywhere: figures, formulas, diagrams and the pages of the book.

The fills are from the Okabe-Ito palette, which colour-blind readers can tell apart. They are too
pale for text, so each role has a text colour for light and one for dark pages, both with a
contrast of at least 4.5 against the page (WCAG 2.2, 1.4.3). A label always stands beside a colour.

Source:  Okabe and Ito 2008, "Color Universal Design"
"""

from typing import NamedTuple


class Role(NamedTuple):
    """The three colours of a role: `fill` for areas, `light` and `dark` for text on such a page."""

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
    "tip": ("#4A7A16", "#9CC76A"),
    "exercise": ("#00707F", "#5FC3D3"),
    "predict": ("#6D4BB0", "#BBA6F0"),
}
