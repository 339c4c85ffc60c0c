"""Decoding: greedy and beam search compared with full recomputation and exhaustive search."""

import itertools
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook import Transformer, beam_search, greedy_decode, padding_mask
from tests.support.claims import claim
from tests.support.largest import Largest

B, LS, SOURCE, TARGET, BEGIN, END, LONGEST = 4, 6, 11, 5, 3, 1, 4
LENGTHS = (6, 2, 5, 1)
FEW = 3  # the maximum length of a sentence in exhaustive search
YES = torch.ones(1, dtype=torch.bool)
WAYS = {"begin": BEGIN, "end": END, "max_length": LONGEST}


def model(seed: int = 0) -> Transformer:
    """A model whose choices differ between sentences, and which sometimes ends a sentence early."""
    generator = torch.Generator().manual_seed(seed)
    made = Transformer(SOURCE, TARGET, 12, 3, 2, 20, norm_first=True).double().eval()
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 2:
                parameter.copy_(2 * noise / parameter.size(1) ** 0.5)
            else:  # the scale of a norm, or a bias
                parameter.copy_(0.3 * noise + ("norm" in name and name.endswith("weight")))
    return made


def source(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(SOURCE, (B, LS), generator=generator), padding_mask(LENGTHS, LS)


def equal(ours: Tensor, theirs: Tensor) -> None:
    assert_close(ours, theirs, rtol=0, atol=1e-10)


def log_prob(made: Transformer, words: Tensor, mask: Tensor, sentence: list[int]) -> float:
    """Log-probability of a sentence up to its END, computed in one pass with teacher forcing."""
    if END in sentence:
        sentence = sentence[: sentence.index(END) + 1]
    given = torch.tensor([[BEGIN, *sentence[:-1]]])
    chances = made(words[None], given, mask[None]).log_softmax(-1)[0]
    return sum(chances[t, word].item() for t, word in enumerate(sentence))


def everything(made: Transformer, words: Tensor, mask: Tensor, penalty: float) -> dict:
    """The score of every sentence that ends within FEW words, or has FEW words without an END."""
    others = [word for word in range(TARGET) if word != END]
    starts = [s for n in range(FEW) for s in itertools.product(others, repeat=n)]
    over = [(*start, END) for start in starts]
    cut = list(itertools.product(others, repeat=FEW))
    return {
        s: log_prob(made, words, mask, list(s)) / ((5 + len(s)) / 6) ** penalty for s in over + cut
    }


def sentence(tokens: Tensor) -> tuple[int, ...]:
    """The tokens of a row up to its END."""
    row = tokens.tolist()
    return tuple(row[: row.index(END) + 1] if END in row else row)


# --- greedy ------------------------------------------------------------------------------------


@claim(
    "At inference, the decoder reads its own words. Greedy decoding takes the most probable word at"
    " each step;"
)
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_greedy_decoding_takes_the_most_probable_word_at_each_step(seed, cached):
    made, (words, mask) = model(seed), source(seed)
    tokens, log_probs = greedy_decode(made, words, mask, cached=cached, **WAYS)
    for b in range(B):
        expected = []
        while len(expected) < LONGEST and END not in expected:
            given = torch.tensor([[BEGIN, *expected]])
            logits = made(words[b : b + 1], given, mask[b : b + 1])
            expected.append(logits[0, -1].argmax().item())
        assert sentence(tokens[b]) == tuple(expected)
        assert log_probs[b].item() == pytest.approx(
            log_prob(made, words[b], mask[b], expected), abs=1e-10
        )


def test_these_models_end_sentences_early_late_and_never():
    lengths = {
        len(sentence(row)) - (END not in row.tolist()) / 2
        for seed in range(8)
        for row in greedy_decode(model(seed), *source(seed), **WAYS)[0]
    }
    assert len(lengths) >= 3
    assert LONGEST - 0.5 in lengths


def test_a_batch_gives_the_same_results_as_its_sentences_one_by_one():
    made, (words, mask) = model(), source()
    tokens, log_probs = greedy_decode(made, words, mask, **WAYS)
    beams = beam_search(made, words, mask, width=3, **WAYS)
    for b, length in enumerate(LENGTHS):
        alone, alone_log_probs = greedy_decode(made, words[b : b + 1, :length], **WAYS)
        assert sentence(alone[0]) == sentence(tokens[b])
        equal(alone_log_probs[0], log_probs[b])
        own = beam_search(made, words[b : b + 1, :length], width=3, **WAYS)
        assert [sentence(row) for row in own.tokens[0]] == [sentence(r) for r in beams.tokens[b]]
        equal(own.scores[0], beams.scores[b])


@pytest.mark.parametrize("leading", [(), (1,), (B,), (1, 1), (B, 1), (1, 3), (B, 3)])
def test_one_mask_for_all_sentences_and_heads_may_have_fewer_axes(leading):
    made, (words, _) = model(), source()
    row = torch.arange(LS) < 4
    shared, full = row.expand(*leading, 1, LS), row.expand(B, 1, LS)
    for decode in (greedy_decode, partial(beam_search, width=3)):
        found, expected = (decode(made, words, mask, **WAYS) for mask in (shared, full))
        assert found[0].equal(expected[0])
        equal(found[1], expected[1])
    assert not greedy_decode(made, words, **WAYS)[1].equal(expected[1][:, 0])


def test_it_stops_when_every_sentence_has_ended():
    made, (words, mask) = model(), source()
    with torch.no_grad():
        made.to_logits.bias[END] = 100.0
    tokens, log_probs = greedy_decode(made, words, mask, **WAYS)
    assert tokens.equal(torch.full((B, 1), END))
    equal(log_probs, torch.zeros(B).double())
    beams = beam_search(made, words, mask, width=1, **WAYS)
    assert beams.tokens.equal(torch.full((B, 1, 1), END))


# --- beam --------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_of_width_one_is_greedy(seed, penalty):
    made, (words, mask) = model(seed), source(seed)
    tokens, log_probs = greedy_decode(made, words, mask, **WAYS)
    beams = beam_search(made, words, mask, width=1, length_penalty=penalty, **WAYS)
    assert beams.tokens[:, 0].equal(tokens)
    equal(beams.log_probs[:, 0], log_probs)


@claim("beam search keeps several beginnings.")
@pytest.mark.parametrize("penalty", [0.0, 3.0])
def test_a_beam_of_full_width_equals_exhaustive_search(penalty):
    made, (words, mask) = model(), source()
    width = (TARGET - 1) ** FEW + sum((TARGET - 1) ** n for n in range(FEW))
    ways = WAYS | {"max_length": FEW}
    beams = beam_search(made, words, mask, width=width, length_penalty=penalty, **ways)
    for b in range(B):
        all_scores = everything(made, words[b], mask[b], penalty)
        assert len(all_scores) == width
        best = sorted(all_scores, key=all_scores.get, reverse=True)
        assert [sentence(row) for row in beams.tokens[b]] == best
        scores = torch.tensor([all_scores[s] for s in best], dtype=torch.float64)
        equal(beams.scores[b], scores)


def test_scores_are_those_of_the_sentences():
    made, (words, mask), width = model(), source(), 7
    beams = beam_search(made, words, mask, width=width, length_penalty=0.6, **WAYS)
    assert (beams.scores.diff(dim=1) <= 0).all()
    for b in range(B):
        found = [sentence(row) for row in beams.tokens[b]]
        assert len(set(found)) == width
        for w, one in enumerate(found):
            expected = log_prob(made, words[b], mask[b], list(one))
            assert beams.log_probs[b, w].item() == pytest.approx(expected, abs=1e-10)
            score = expected / ((5 + len(one)) / 6) ** 0.6
            assert beams.scores[b, w].item() == pytest.approx(score, abs=1e-10)


def test_an_empty_batch_has_no_translations():
    none = torch.empty(0, LS).long()
    assert greedy_decode(model(), none, **WAYS)[0].shape == (0, 0)
    assert beam_search(model(), none, width=2, **WAYS).tokens.shape == (0, 2, 0)


def test_a_beam_wider_than_the_number_of_sentences_gets_scores_of_minus_infinity():
    made, (words, mask) = model(), source()
    ways = WAYS | {"max_length": 1}
    beams = beam_search(made, words, mask, width=TARGET + 2, **ways)
    assert beams.scores.isneginf().sum(-1).eq(2).all()
    assert beams.scores[:, :TARGET].isfinite().all()


def test_the_steps_show_how_each_sentence_was_built():
    made, (words, mask) = model(), source()
    beams = beam_search(made, words, mask, width=3, length_penalty=0.6, **WAYS)
    for b, place in itertools.product(range(B), range(3)):
        back, at = [], place
        for parents, tokens, _ in reversed(beams.steps):
            back.append(tokens[b, at].item())
            at = parents[b, at].item()
        assert back[::-1] == beams.tokens[b, place].tolist()
    equal(beams.steps[-1][2], beams.scores)


def test_bad_sizes_are_named():
    given, none = (model(), *source()), WAYS | {"max_length": 0}
    with pytest.raises(ValueError, match="width=0: it must be at least 1"):
        beam_search(*given, width=0, **WAYS)
    with pytest.raises(ValueError, match="max_length=0: it must be at least 1"):
        beam_search(*given, width=2, **none)
    with pytest.raises(ValueError, match="max_length=0: it must be at least 1"):
        greedy_decode(*given, **none)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source": torch.ones(LS).long()}, r"source has shape \(6,\): it must be \(B, L\)"),
        ({"source": torch.ones(B, LS)}, "source has dtype torch.float32: ids are whole numbers"),
        ({"source": torch.full((B, LS), SOURCE)}, "source has ids from 11 to 11: the vocabulary"),
        ({"begin": TARGET}, "begin=5: the target's vocabulary has ids from 0 to 4"),
        ({"end": -1}, "end=-1: it must be at least 0"),
        (
            {"source_mask": YES.expand(LS)},
            r"\(6,\): it must be \(B, 1, Ls\) = \(4, 1, 6\), or",
        ),
        ({"source_mask": YES.expand(LS, LS)}, r"source_mask has shape \(6, 6\): it must be"),
        ({"source_mask": YES.expand(B, LS, LS)}, r"source_mask has shape \(4, 6, 6\): it must be"),
        ({"source_mask": YES.expand(2, 1, LS)}, r"source_mask has shape \(2, 1, 6\): it must be"),
        ({"source_mask": YES.expand(B, 1, 7)}, r"source_mask has shape \(4, 1, 7\): it must be"),
        ({"source_mask": torch.ones(B, 1, LS)}, "source_mask has dtype torch.float32: it must be"),
    ],
)
def test_bad_input_is_named(changed, message):
    arguments = {"source": source()[0]} | WAYS | changed
    with pytest.raises(ValueError, match=message):
        greedy_decode(model(), **arguments)
    with pytest.raises(ValueError, match=message):
        beam_search(model(), width=2, **arguments)


def test_a_model_in_training_mode_is_refused():
    made, words = model().train(), source()[0]
    for decode in (greedy_decode, partial(beam_search, width=2)):
        with pytest.raises(ValueError, match=r"in training mode, .*: call model.eval\(\) first"):
            decode(made, words, **WAYS)


def test_a_step_with_a_cache_makes_no_square_mask():
    made, (words, mask) = model(), source()
    z, _ = made.encode(words, mask)
    cache, tokens = made.new_cache(), torch.zeros(B, 300).long()
    made.decode(tokens, z, mask, cache)
    with Largest() as largest:
        made.decode(tokens[:, :1], z, mask, cache)
    assert largest.elements < 301 * 301 / 4
