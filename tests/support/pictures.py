"""Measure a stored picture as a phone shows it."""

import math
import re

PHONE = 390  # pixels: the width of a phone's screen
READABLE = 9  # pixels: the minimum size of letters on a phone

_WIDTH = re.compile(r'<svg[^>]* width="([\d.]+)pt"')
_FONT = re.compile(r' font-size="([\d.]+)"')
_FORMULA = re.compile(r"scale\(([\d.]+) -[\d.]+\)")  # a hundredth of the font size of a formula


def smallest_letters(svg: str) -> float:
    """Return the font size of the smallest line of text in our SVG, in pixels on a phone.

    A picture wider than the page is scaled down to fit. A subscript counts with the size of its
    line.
    """
    (width,) = (float(points) * 96 / 72 for points in _WIDTH.findall(svg))
    sizes = [float(size) for size in _FONT.findall(svg)]
    sizes += [float(scale) * 100 for scale in _FORMULA.findall(svg)]
    return min(sizes, default=math.inf) * 96 / 72 * min(1, PHONE / width)
