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
