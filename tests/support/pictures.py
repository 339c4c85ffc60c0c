"""Measure a stored picture as a phone shows it."""

import math
import re

PHONE = 390  # pixels, the width of a phone's page
READABLE = 9  # pixels, the minimum size of letters on a phone

_WIDTH = re.compile(r'<svg[^>]* width="([\d.]+)pt"')
_FONT = re.compile(r"scale\(([\d.]+) -[\d.]+\)")  # a hundredth of the font size of a line of text


def smallest_letters(svg: str) -> float:
    """The font size of the smallest line of text in our SVG, in pixels on a phone.

    Wide pictures are shown as wide as the page. A subscript counts as having the size of its line.
    """
    (width,) = (float(points) * 96 / 72 for points in _WIDTH.findall(svg))
    sizes = [float(scale) * 100 * 96 / 72 for scale in _FONT.findall(svg)]
    return min(sizes, default=math.inf) * min(1, PHONE / width)
