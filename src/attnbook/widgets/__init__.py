"""Interactive figures: one line in a chapter prints a figure, which works without a kernel.

A figure consists of a script, `scripts/attn-NAME.js`, and a function here. Each module's `__all__`
names its functions.
"""
# ruff: noqa: F403

from attnbook.widgets.attention_map import *
from attnbook.widgets.attention_steps import *
from attnbook.widgets.beam_search import *
from attnbook.widgets.depth import *
from attnbook.widgets.encoder_heads import *
from attnbook.widgets.induction import *
from attnbook.widgets.kv_cache import *
from attnbook.widgets.library import *
from attnbook.widgets.live_translator import *
from attnbook.widgets.model_config import *
from attnbook.widgets.moves import *
from attnbook.widgets.online_softmax import *
from attnbook.widgets.position_clocks import *
from attnbook.widgets.sampling import *
from attnbook.widgets.scores import *
from attnbook.widgets.training_progress import *
