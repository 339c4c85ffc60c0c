"""Chapter 5: what its text claims beyond what its cells print."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.support.chapters import Chapter

chapter = Chapter("05_cross_attention.ipynb")


def test_both_scores_multiply_equally_often():
    """What 5.8 says: the additive score stores more, but it does not multiply more."""
    query, key, v = torch.randn(6, 24), torch.randn(8, 24), torch.randn(24)
    counts = []
    for score in lambda: query @ key.mT, lambda: (query[:, None] + key).tanh() @ v[:, None]:
        with FlopCounterMode(display=False) as counter:
            score()
        counts.append(counter.get_total_flops() // 2)
    assert counts == [6 * 8 * 24] * 2
    assert "not in multiplications" in chapter.source("additive-seen")


def test_the_text_says_what_the_claims_try():
    assert "lucky" in chapter.source("red-seen")
    assert "happens to be the model's default" in chapter.source("summary")
