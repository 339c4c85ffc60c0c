"""Wrong answers to 15.patients, each with words of what the reader is told."""

import torch

from attnbook.exercises.chapters.ch15.patients import PATIENTS, diagnosis


def except_for(name, wrong):
    return lambda layer: wrong if layer is PATIENTS[name] else diagnosis(layer)


def rows_in_blocks(layer):
    """Change all later rows at once, in a text that is too short for the pair."""
    x = torch.randn(1, 8, 8, dtype=torch.float64)
    found = diagnosis(layer)
    if found != "leak":
        return found
    changed = torch.cat((x[:, :4], x[:, 4:] + 1), dim=1)
    return "leak" if (layer(changed) - layer(x))[:, :4].abs().max() > 1e-9 else "healthy"


SINGLE = "patient 4: a single row moves with a single later one."
WRONG = {
    except_for("word 2 sees word 9", "healthy"): SINGLE,
    except_for("word 2 sees word 9", "order"): SINGLE,
    rows_in_blocks: SINGLE,
    except_for("a window of 8", "healthy"): "patient 7: it sees only the last few words.",
    except_for("mask along the queries", "healthy"): "patient 10: with a causal mask, padding on "
    "the right is never seen.",
}
