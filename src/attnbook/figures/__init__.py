"""The book's figures: one line in a chapter draws a figure, in the colors of the roles.

Each module lists its figures in `__all__`; a new figure needs no line here.
"""
# ruff: noqa: F403

from attnbook.figures.bars import *
from attnbook.figures.blocks import *
from attnbook.figures.clocks import *
from attnbook.figures.curves import *
from attnbook.figures.grids import *
from attnbook.figures.heatmaps import *
from attnbook.figures.kernel_regression import *
from attnbook.figures.lookups import *
from attnbook.figures.paths import *
from attnbook.figures.points import *
from attnbook.figures.wiring import *
