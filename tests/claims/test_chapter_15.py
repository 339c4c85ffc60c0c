"""Chapter 15: what its text claims beyond what its cells print, tried in other experiments."""

import math

import pytest
import torch

from tests.support.chapters import Chapter

chapter = Chapter("15_debugging.ipynb")
SMALL = ("loss-model", "loss-forward", "loss-learn", "loss-train")


@pytest.mark.parametrize("seed", [3, 4])
def test_neither_loss_tells_with_other_seeds(seed):
    space = chapter.run(*SMALL)
    learn, loss, mirror, again = (
        space[name] for name in ("learn", "held_out_loss", "mirror", "again")
    )
    assert loss(learn(mirror, seed, 60, merge=space["no_transpose"]), mirror) < 0.1
    floor = 5 / 11 * math.log(16)
    assert loss(learn(again, seed, 120, causal=True), again) > floor - 0.02
    leaking = learn(again, seed, 120, causal=True, axis=1)
    assert loss(leaking, again) < 0.6 * floor
    ids, wanted = again(256, torch.Generator().manual_seed(1))
    at_once = (leaking(ids).argmax(-1) == wanted)[:, :5].double().mean()
    alone = (leaking(ids[:, :3])[:, -1].argmax(-1) == wanted[:, 2]).double().mean()
    assert at_once > 0.5
    assert alone < 0.15
