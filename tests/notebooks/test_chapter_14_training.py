"""Chapter 14: what its text says of its trained models."""

import re

import torch

from tests.support.chapters import Chapter

chapter = Chapter("14_todays_attention.ipynb")


def rows(name: str, pattern: str) -> list[list[float]]:
    """Return the numbers that match the pattern, in each line that a cell prints."""
    lines = "".join(chapter.cells[name]["outputs"][0]["text"]).splitlines()
    return [[float(number) for number in re.findall(pattern, line)] for line in lines]


# --- the delta rule ------------------------------------------------------------------------------


def test_a_random_choice_of_two_answers_is_right_in_56_percent():
    assert round(100 * (0.5 + 0.5 / 8)) == 56
    assert "56% of the cases" in chapter.source("delta-seen")


def test_a_softmax_with_positions_can_keep_the_newer_answer():
    *_, delta, _, gentle = rows("delta-run", r"(\d+)%")
    assert min(gentle) >= min(delta)
    assert "(With positions, a softmax can, too" in chapter.source("delta-seen")
    assert chapter.source("delta-hybrid-ask").startswith("Without positions, a softmax")


def test_the_keys_of_the_delta_rule_recall_more_if_they_are_added_up():
    *_, delta, added = rows("delta-width", r"(\d+)%")
    assert min(added) > max(delta[4:]) + 5


def test_the_hybrid_gives_the_newer_answer_and_recalls_more_than_the_delta_rule():
    softmax, delta, hybrid, alibi = rows("delta-hybrid", r"(\d+)%")
    assert min(alibi) > max(hybrid[:2])  # positions alone give both
    assert alibi[2] >= hybrid[2]
    assert "softmax with a small ALiBi slope solves both tasks" in chapter.source(
        "delta-hybrid-seen"
    )
    assert hybrid[0] > 2 * delta[1]
    assert hybrid[2] >= delta[2] - 1 > softmax[3] + 20
    assert hybrid[1] < softmax[0]


# --- norms, sinks and gates ----------------------------------------------------------------------


def test_with_the_norm_a_score_is_bounded_by_the_scales():
    one_head = chapter.run("norms-model", "norms-forward")
    model = one_head["OneHead"](24, norm=True)
    with torch.no_grad():
        model.w_q *= 1000
        model.w_k *= 1000
        x = torch.randn(5, 2, 16, 32).double()
        bounded = one_head["scores_of"](model, x).abs().max()
        model.norm = False
        assert one_head["scores_of"](model, x).abs().max() > 1e6 > 1000 * bounded
    assert bounded <= 32**0.5 + 1e-9
    assert r"at most $\sqrt{32}$ times" in chapter.source("norms-seen")


def test_a_gate_removes_the_harm_and_a_sink_some_of_the_weight():
    lines = rows("sinks-two-print", r"\d\.\d+")
    neither, sink, gate = ((line[:5], line[5:]) for line in lines)
    assert all(a < b for a, b in zip(sink[0], neither[0], strict=True))
    assert min(neither[1] + sink[1]) > 0.03
    assert max(gate[1]) < 0.03
    assert (min(gate[0]), max(gate[0])) == (0.5, 0.8)
    assert "the weight on < is 0.5 to 0.8" in chapter.source("sinks-two-seen")


def test_the_text_says_what_the_claims_try():
    assert "recalls about half of them" in chapter.source("delta-fade-seen")
    assert "If only $W_V$ and $W_O$ do, none learns it" in chapter.source("norms-seen")
    assert "learned sink that starts at 3 prevents both" in chapter.source("sinks-two-seen")
