"""Sampling, checked against its definition, the transformers package, and observed frequencies."""

import itertools
import math

import pytest
import torch
from torch.testing import assert_close
from transformers import TopKLogitsWarper, TopPLogitsWarper

from attnbook import LanguageModel, keep_top_k, keep_top_p, sample
from attnbook.models.sampling import draw_token

V, B, END, LONGEST = 11, 5, 2, 6
HALF = [torch.bfloat16, torch.float16]


def random_logits() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return 2 * torch.randn(B, V, generator=generator, dtype=torch.float64)


def model(**options) -> LanguageModel:
    generator = torch.Generator().manual_seed(0)
    made = LanguageModel(V, 12, 6, 2, 2, 20, **options).double().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1.5 * noise / parameter.size(-1) ** 0.5)
    return made


def prompt() -> torch.Tensor:
    return torch.randint(V, (B, 3), generator=torch.Generator().manual_seed(1))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("k", [1, 4, V])
def test_top_k_keeps_the_k_largest_as_transformers_does(k):
    kept = keep_top_k(random_logits(), k)
    assert kept.isfinite().sum(-1).tolist() == [k] * B
    assert_close(kept, TopKLogitsWarper(k)(None, random_logits()))


@pytest.mark.on_cpu  # on a GPU, transformers sums in no fixed order
@pytest.mark.parametrize("p", [0.01, 0.3, 0.8, 0.97, 1.0])
def test_top_p_keeps_the_smallest_set_that_reaches_p_as_transformers_does(p):
    kept = keep_top_p(random_logits(), p)
    for row, found in zip(random_logits(), kept, strict=True):
        probabilities = row.softmax(-1)
        sizes = [
            n
            for n in range(1, V + 1)
            if any(sum(c) >= p - 1e-12 for c in itertools.combinations(probabilities.tolist(), n))
        ]
        assert found.isfinite().sum() == sizes[0]
        assert probabilities[found.isfinite()].min() >= probabilities.topk(sizes[0]).values[-1]
    if p < 1:  # at p = 1, rounding may decide what is kept
        assert_close(kept, TopPLogitsWarper(p)(None, random_logits()))


def test_the_word_that_crosses_p_is_kept():
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    for p, n in ((0.4, 1), (0.51, 2), (0.79, 2), (0.81, 3), (1.0, 4)):
        assert keep_top_p(logits, p).isfinite().tolist() == [True] * n + [False] * (4 - n)


def test_tokens_before_which_the_sum_is_exactly_p_are_left_out():
    for p, n in ((0.25, 1), (0.5, 2), (0.75, 3)):
        assert keep_top_p(torch.zeros(4), p).isfinite().sum() == n


@pytest.mark.parametrize("dtype", HALF)
def test_top_p_keeps_the_same_tokens_in_half_precision(dtype):
    logits = torch.randn(3, 4_000, generator=seeded()).to(dtype)
    kept = keep_top_p(logits, 0.9)
    assert kept.dtype == dtype
    assert kept.isfinite().equal(keep_top_p(logits.double(), 0.9).isfinite())


def test_logits_are_not_written_to():
    logits = random_logits()
    keep_top_k(logits, 2), keep_top_p(logits, 0.5)
    assert_close(logits, random_logits(), rtol=0, atol=0)


def test_tokens_are_drawn_as_often_as_their_probabilities_say():
    logits = torch.tensor([0.1, 0.0, 0.6, 0.3, 0.0]).log()
    drawn = draw_token(logits.expand(20_000, 5), seeded())
    shares = torch.bincount(drawn, minlength=5) / 20_000
    assert shares[[1, 4]].eq(0).all()
    assert_close(shares, logits.exp(), rtol=0, atol=0.015)  # more than four standard errors


@pytest.mark.parametrize("dtype", HALF)
def test_each_token_can_be_drawn_and_no_other(dtype):
    few = draw_token(torch.zeros(40_000, 16, dtype=dtype), seeded())
    assert few.unique().tolist() == list(range(16))
    many = draw_token(torch.zeros(10_000, 1_000, dtype=dtype), seeded())
    assert len(many.unique()) > 995  # chance leaves out a thousand times e^-10 of them


@pytest.mark.parametrize("dtype", HALF)
def test_draws_in_half_precision_have_the_probabilities_of_the_softmax(dtype):
    logits = torch.randn(1_000, generator=seeded()).to(dtype)
    drawn = draw_token(logits.expand(10_000, -1), seeded(1))
    shares = torch.bincount(drawn, minlength=1_000).double() / 10_000
    assert (shares - logits.double().softmax(-1)).abs().sum() / 2 < 0.13  # 0.11 by chance


def test_the_largest_random_point_is_in_the_last_segment(monkeypatch):
    """The sums of many probabilities end a little above or below 1."""
    logits = torch.randn(50, 3_000, generator=seeded(), dtype=torch.float64)
    largest = torch.full((50, 1), 1 - 2**-53, dtype=torch.float64)
    with monkeypatch.context() as patched:
        patched.setattr(torch, "rand", lambda *size, **options: largest.cpu())
        assert draw_token(logits, seeded()).eq(2_999).all()
        logits[:, 2_500:] = -torch.inf
        assert draw_token(logits, seeded()).eq(2_499).all()


@pytest.mark.parametrize("dtype", HALF)
def test_a_model_in_half_precision_can_be_sampled_from(dtype, monkeypatch):
    """Rounded to half precision, the largest random point would be 1, beyond every token."""
    made, begin = LanguageModel(16, 8, 2, 1, 1, 16).to(dtype).eval(), torch.zeros(100, 1).long()
    written = sample(made, begin, end=0, max_length=20, generator=seeded(), p=0.95)
    assert written.max() < 16
    largest = torch.full((100, 1), 1 - 2**-53, dtype=torch.float64)
    with monkeypatch.context() as patched:
        patched.setattr(torch, "rand", lambda *size, **options: largest.cpu())
        written = sample(made, begin, end=0, max_length=3, generator=seeded())
    assert written.eq(15).all()


@torch.no_grad()
def test_with_k_1_sampling_takes_the_most_probable_token_each_time():
    made, so_far = model(), prompt()
    tokens = sample(made, prompt(), end=END, max_length=LONGEST, generator=seeded(), k=1)
    ended = torch.zeros(B, dtype=torch.bool)
    for t in range(tokens.size(1)):
        best = made(so_far)[:, -1].argmax(-1).masked_fill(ended, END)
        assert tokens[:, t].tolist() == best.tolist()
        ended |= best == END
        so_far = torch.cat((so_far, best[:, None]), dim=1)


@torch.no_grad()
@pytest.mark.parametrize("temperature", [1e-40, 5e-324])
def test_the_smallest_temperatures_take_the_most_probable_token(temperature):
    """No division makes a logit infinite, in single precision either."""
    made, options = model().float(), {"end": END, "max_length": LONGEST}
    greedy, cold = (
        sample(made, prompt(), generator=seeded(), **options, **way)
        for way in ({"k": 1}, {"temperature": temperature})
    )
    assert cold.tolist() == greedy.tolist()


@torch.no_grad()
@pytest.mark.parametrize("ways", [{}, {"temperature": 0.5}, {"k": 3}, {"p": 0.6}])
def test_the_first_tokens_have_the_probabilities_of_the_cut_logits(ways):
    made, n = model(), 8_000
    many = prompt()[:1].expand(n, 3)
    first = sample(made, many, end=END, max_length=1, generator=seeded(), **ways)[:, 0]
    logits = made(prompt()[:1])[0, -1] / ways.get("temperature", 1.0)
    logits = keep_top_p(keep_top_k(logits, ways.get("k", V)), ways.get("p", 1.0))
    assert_close(
        (torch.bincount(first, minlength=V) / n).double(), logits.softmax(-1), rtol=0, atol=0.025
    )


def test_an_ended_text_is_filled_with_end_and_a_seed_gives_the_same():
    first, again, other = (
        sample(model(), prompt(), end=END, max_length=40, generator=seeded(s)) for s in (0, 0, 1)
    )
    assert first.tolist() == again.tolist() != other.tolist()
    for row in first.tolist():
        if END in row:
            assert set(row[row.index(END) :]) == {END}
    assert any(END in row for row in first.tolist())


def alone(made: LanguageModel, row: list[int]) -> list[int]:
    """What a single text continues with, up to END."""
    options = {"end": END, "max_length": LONGEST, "generator": seeded(), "k": 1}
    tokens = sample(made, torch.tensor([row]), **options)[0].tolist()
    return tokens[: tokens.index(END) + 1] if END in tokens else tokens


@pytest.mark.parametrize("pad", [0, 7])
@pytest.mark.parametrize("untied", [{}, {"tied": False, "rotary": None}])
def test_prompts_padded_on_the_left_are_continued_as_if_each_were_alone(pad, untied):
    made, texts = model(**untied), [[3, 5, 9, 1, 4], [8, 0, 6], [7], [1, 7, 7, 8], [5, 5, 10, 0, 3]]
    texts[2:3] = [[10 - pad]]
    padded = torch.tensor([[pad] * (5 - len(text)) + text for text in texts])
    options = {"end": END, "max_length": LONGEST, "k": 1}
    written = sample(made, padded, pad=pad, generator=seeded(), **options)
    expected = [alone(made, text) for text in texts]
    for row, right in zip(written.tolist(), expected, strict=True):
        assert row == right + [END] * (written.size(1) - len(right))
    as_words = sample(made, padded, generator=seeded(), **options)
    assert as_words.tolist() != written.tolist()
    assert len({tuple(each) for each in expected}) > 2


def ways(**options) -> dict:
    return {"end": END, "max_length": 2, "generator": seeded()} | options


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: keep_top_k(random_logits(), 12), "k=12: a row has only 11 logits"),
        (lambda: keep_top_k(random_logits(), 0), "k=0: it must be at least 1"),
        (lambda: keep_top_p(random_logits(), 0.0), "p=0.0: it must be above 0 and at most 1"),
        (lambda: keep_top_p(random_logits(), 1.5), "p=1.5: it must be above 0 and at most 1"),
        (lambda: keep_top_p(random_logits(), math.nan), "p=nan: it must be above 0"),
        (lambda: keep_top_p(prompt(), 0.5), "logits has dtype torch.int64: it must be floating"),
        (lambda: draw_token(prompt(), seeded()), "logits has dtype torch.int64"),
        (lambda: sample(model(), prompt(), **ways(temperature=0.0)), "temperature=0.0: it must be"),
        (
            lambda: sample(model(), prompt(), **ways(end=11)),
            "end=11: the vocabulary has ids from 0",
        ),
        (lambda: sample(model(), prompt(), **ways(pad=11)), "pad=11: the vocabulary has ids from"),
        (lambda: sample(model(), prompt(), **ways(pad=-1)), "pad=-1: it must be at least 0"),
        (
            lambda: sample(model(), torch.tensor([[3, 1], [0, 3], [3, 0]]), **ways(pad=0)),
            "row 2 of the prompt ends with pad=0: put padding on the left",
        ),
        (
            lambda: sample(model().train(), prompt(), **ways()),
            r"the model is in training mode, .*: call model.eval\(\) first",
        ),
        (lambda: sample(model(), prompt()[:, :0], **ways()), "the prompt has 0 tokens"),
        (lambda: sample(model(), prompt()[0], **ways()), r"prompt has shape \(3,\)"),
        (lambda: sample(model(), prompt(), **ways(max_length=0)), "max_length=0"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
