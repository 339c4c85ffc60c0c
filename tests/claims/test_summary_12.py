"""The summary of chapter 12, tried with other seeds and sizes."""

import pytest
import torch
from torch.testing import assert_close

from attnbook import (
    Encoder,
    LanguageModel,
    Transformer,
    device,
    keep_top_k,
    keep_top_p,
    sample,
)
from attnbook.corpus import BEGIN, END, make_corpus
from attnbook.training.trained import load_language_model, load_one_sequence
from tests.support.claims import claim
from tools.train.translators import ONE_STACK, run_cells


@claim(
    "A decoder-only model is one stack with one causal mask.",
    "Encoder-only models, decoder-only models and models with both stacks differ in which tokens a"
    " token can attend to.",
    seed=(11, 12),
    layers=(1, 3),
)
@torch.no_grad()
def test_which_tokens_a_token_depends_on_in_three_kinds_of_models(seed, layers):
    torch.manual_seed(seed)
    one, several = torch.randint(1, 20, (2, 1, 5))
    later, x = one.clone(), torch.randn(1, 5, 16)
    later[0, 3] = one[0, 3] % 19 + 1
    changed = x.clone()
    changed[0, 3] = torch.randn(16)

    def moved(before: torch.Tensor, after: torch.Tensor) -> list[bool]:
        return (~torch.isclose(before, after, atol=1e-6).all(-1))[0].tolist()

    decoder_only = LanguageModel(20, 16, 4, 2, layers, 32).eval()
    assert moved(decoder_only(one), decoder_only(later)) == [False] * 3 + [True] * 2
    encoder_only = Encoder(16, 4, layers, 64).eval()
    assert moved(encoder_only(x)[0], encoder_only(changed)[0]) == [True] * 5
    both = Transformer(20, 20, 16, 4, layers, 32).eval()
    assert moved(both(one, several), both(later, several)) == [True] * 5  # all see the source
    assert moved(both(several, one), both(several, later)) == [False] * 3 + [True] * 2


@claim(
    "From the same beginning, greedy decoding always writes the same sentence, while sampling draws"
    " each word at random.",
    seed=(1, 2),
    beginning=("my mother", "the"),
)
@torch.no_grad()
def test_greedy_sentences_are_equal_and_sampled_words_are_as_frequent_as_probable(seed, beginning):
    model, words = load_language_model(seed)
    prompt = torch.tensor([[BEGIN, *words.encode(beginning.split())]])
    draws = torch.Generator().manual_seed(seed)
    ways = {"end": END, "max_length": 12, "generator": draws}
    greedy = sample(model, prompt.expand(20, -1), k=1, **ways)
    assert (greedy == greedy[0]).all()
    n = 1000
    drawn = sample(model, prompt.expand(n, -1), **ways | {"max_length": 1})[:, -1]
    p = model(prompt)[0, -1].softmax(-1)
    often = torch.bincount(drawn, minlength=len(p)) / n
    assert (often - p).abs().max() < 4 * (p.max() * (1 - p.max()) / n).sqrt().clamp(min=0.005)


@claim(
    "A lower temperature sharpens the distribution, top-k keeps the $k$ most probable words, and"
    " top-p keeps the most probable words up to a total probability of $p$.",
    seed=(11, 12),
    words=(10, 500),
)
def test_what_temperature_top_k_and_top_p_keep(seed, words):
    torch.manual_seed(seed)
    logits = 3 * torch.randn(words)
    p = logits.softmax(-1)
    sharpest = [(logits / temperature).softmax(-1).max().item() for temperature in (2, 1, 0.7, 0.3)]
    assert sharpest == sorted(sharpest)
    assert keep_top_k(logits, 4).isfinite().nonzero().flatten().tolist() == sorted(
        p.topk(4).indices.tolist()
    )
    for total in (0.5, 0.9):
        kept = p[keep_top_p(logits, total).isfinite()]
        assert_close(kept.sort().values, p.topk(len(kept)).values.sort().values)
        assert kept.sum() >= total > kept.sum() - kept.min()


@pytest.fixture(scope="module")
def chapter() -> dict:
    return run_cells(ONE_STACK.chapter, ONE_STACK.cells)


@claim(
    "A decoder-only model can translate if the source, a separator and the target form one sequence"
    " and only the target counts in the loss.",
    seed=(0, 1),
    farthest=(0, 8),
    corpus=(11,),
)
def test_models_of_one_sequence_translate_new_sentences(chapter, seed, farthest, corpus):
    known = {pair.chinese for pair in chapter["corpus"].train}
    words = set(chapter["joint"].words)
    drawn = make_corpus(n_train=2000, n_test=50, seed=corpus).train
    new = [p for p in drawn if p.chinese not in known and words >= {*p.chinese, *p.english}][:100]
    assert len(new) == 100
    model = load_one_sequence(chapter["joint"], seed, farthest).to(device())
    said = chapter["translate"](model, new)
    assert sum(s == pair.english for s, pair in zip(said, new, strict=True)) > 90
