"""SVG whose words are text, so that they can be searched, selected and translated.

Every text states how long it is in the font of the figures. A program without that font stretches
or squeezes its own to the same length, so that no text leaves the room that was made for it. Only
formulas are outlines, because their parts need exact places, and no translation.
"""

import codecs
import io
from math import cos, radians, sin
from typing import Any

from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}  # how far along a line its fixed point is
SIDES = {"left": "start", "bottom": "start", "center": "middle", "right": "end", "top": "end"}


def render(figure: Figure) -> str:
    """Return the figure as SVG, without a date."""
    for text in figure.findobj(Text):
        text.set_gid(_anchor(text))
    file = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    _Canvas(figure).print_figure(file, format="svg", metadata=nothing)
    return file.getvalue().decode()


def _anchor(text: Text) -> str:
    """The end of a text's lines, or their middle, that stays where it is if the words change."""
    upright = text.get_rotation() % 180 == 90 and text.get_rotation_mode() != "anchor"
    side = text.get_verticalalignment() if upright else text.get_horizontalalignment()
    return SIDES.get(side, "start")


class _Canvas(FigureCanvasSVG):
    def print_svg(self, filename: Any, *, metadata: Any = None, **_: Any) -> None:
        """Draw with our renderer instead of Matplotlib's."""
        self.figure.dpi = 72
        width, height = 72 * self.figure.get_size_inches()
        text = codecs.getwriter("utf-8")(filename)
        renderer = _Renderer(width, height, text, metadata=metadata)
        self.figure.draw(renderer)
        renderer.finalize()


class _Renderer(RendererSVG):
    anchor = "start"

    def open_group(self, s: str, gid: str | None = None) -> None:
        """Learn the anchor of the text that follows, which Matplotlib gives line by line."""
        if s == "text":
            self.anchor, gid = gid or "start", None
        super().open_group(s, gid)

    def draw_text(
        self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float, ismath: Any = False,
        mtext: Text | None = None,
    ) -> None:  # fmt: skip
        """Write one line that starts at (x, y); a formula at its end becomes outlines."""
        anchor = self.anchor
        if ismath:
            s, _, formula = s.partition("$")
            formula, anchor = f"${formula}", "end"  # translated words still end at the formula
            along = self._length(s + formula, prop, ismath) - self._length(formula, prop, ismath)
            super().draw_text(gc, *_moved(x, y, along, angle), formula, prop, angle, ismath)
        if not (words := s.strip(" ")):
            return
        length = self._length(words, prop)
        along = self._length(s[: s.index(words)], prop) + ANCHORS[anchor] * length
        x, y = _moved(x, y, along, angle)
        place = {"x": f"{x:.3f}", "y": f"{y:.3f}"}
        if angle:
            place = {"transform": f"translate({x:.3f} {y:.3f}) rotate({-angle:g})"}
        look = {"fill": to_hex(gc.get_rgb()), "font-size": f"{prop.get_size():g}"}
        if prop.get_weight() == "bold":
            look["font-weight"] = "bold"
        if anchor != "start":
            look["text-anchor"] = anchor
        if len(words) > 1:
            look |= {"textLength": f"{length:.3f}", "lengthAdjust": "spacingAndGlyphs"}
        self.writer.element("text", words, attrib=place | look)

    def _length(self, words: str, prop: Any, ismath: Any = False) -> float:
        return self.get_text_width_height_descent(words, prop, ismath)[0] if words else 0.0


def _moved(x: float, y: float, along: float, angle: float) -> tuple[float, float]:
    """A point moved along a line of text that rises at an angle."""
    return x + along * cos(radians(angle)), y - along * sin(radians(angle))
