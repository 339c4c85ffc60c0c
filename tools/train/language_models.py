"""Train the language model of chapter 12 from several seeds, and store their parameters.

    .venv/bin/python -m tools.train.language_models

The chapter trains seed 0 itself and loads the others (`load_language_model`). Seed 0 is stored for
chapter 13 and for the figure in which readers generate text. Run the tool again after a change to
the grammar or to the training in section 12.6; `tests/notebooks/test_chapter_12.py` fails until you
do.
"""

from typing import Any

import torch

from attnbook.training.trained import LANGUAGE_MODELS, load_language_model
from manuscript.common import ROOT, UserError, run_tool
from tools.train.translators import FIRST, run_cells

CHAPTER = ROOT / "book" / "12_language_model.ipynb"
CELLS = ("imports", "grammar-draw", "grammar-batch", "loss-code", "train-code", "train-fit")
SEEDS = (0, 1, 2)
MOST_LOST = 0.001  # the most that rounding to float16 may change the loss, in nats per token


def main() -> int:
    """Train the models, store them in float16, and make sure that the loss hardly changes."""
    space = run_cells(CHAPTER, CELLS)
    trainings, found = dict[int, Any](), {}
    for seed in SEEDS:
        model = space["new_model"](seed)
        losses = space["fit"](model, seed)
        weights = {name: p.cpu().half() for name, p in model.state_dict().items()}
        weights["to_logits.weight"] = weights["embedding.weight"]  # tied: stored once
        first = {"steps": len(losses), "first_losses": losses[:FIRST]}
        trainings[seed] = {"weights": weights, **first}
        found[seed] = per_token(space, model)
        print(f"seed {seed}: {found[seed]:.4f} nats per token on fresh sentences", flush=True)
    words = space["english"].words
    torch.save({"words": words, "sizes": space["SIZES"], "trainings": trainings}, LANGUAGE_MODELS)
    for seed in SEEDS:
        lost = per_token(space, load_language_model(seed)[0]) - found[seed]
        if abs(lost) > MOST_LOST:
            raise UserError(f"float16 changes the loss of seed {seed} by {lost:.4f} nats per token")
    return 0


@torch.no_grad()
def per_token(space: dict[str, Any], model: torch.nn.Module) -> float:
    """The loss per token on the chapter's fresh sentences."""
    fresh = space["fresh"]
    loss: torch.Tensor = space["nats"](model, fresh).sum() / space["count_tokens"](fresh)
    return loss.item()


if __name__ == "__main__":
    run_tool(main)
