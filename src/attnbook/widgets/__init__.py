"""Interactive figures: one line in a chapter prints one, and it works on a page without a kernel.

A figure is a script, `scripts/attn-NAME.js`, and a function here. Each module's `__all__` names its
functions.
"""
# ruff: noqa: F403

from attnbook.widgets.arrivals import *
from attnbook.widgets.beams import *
from attnbook.widgets.library import *
from attnbook.widgets.looks import *
from attnbook.widgets.places import *
from attnbook.widgets.scores import *
from attnbook.widgets.steps import *
from attnbook.widgets.trainings import *
