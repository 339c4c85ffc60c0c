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


def blind_at_two_places(layer):
    """Look only at whether rows move with themselves, and the last with the first."""
    found = diagnosis(layer)
    if found != "blind":
        return found
    x, each = torch.randn(1, 12, 8), torch.eye(12)[:, :, None]
    moves = torch.stack([(layer(x + one) != layer(x))[0].any(-1) for one in each], dim=1)
    return "healthy" if moves.diagonal().all() and moves[-1, 0] else "blind"


SINGLE = "patient 4: a single row moves with a single later one."
WRONG = {
    except_for("word 2 sees word 9", "healthy"): SINGLE,
    except_for("word 2 sees word 9", "order"): SINGLE,
    rows_in_blocks: SINGLE,
    except_for("word 9 does not see word 4", "healthy"): "patient 7: a single row does not move "
    "with a single earlier one.",
    blind_at_two_places: "patient 7: a single row does not move with a single earlier one.",
    except_for("dropout", "sentences"): "something that comes before `sentences` in the list",
    except_for("as it should be", "padding"): "(differences below 1e-9 are rounding)",
    except_for("mask along the queries", "healthy"): "patient 10: do you try padding? With a "
    "causal mask, padding on the right is never seen",
}
