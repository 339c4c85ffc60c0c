"""The summary of chapter 12, tried with other seeds and sizes."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnbook import Encoder, LanguageModel, Transformer, device, sample
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

    def moved(before: Tensor, after: Tensor) -> list[bool]:
        return (~torch.isclose(before, after, atol=1e-6).all(-1))[0].tolist()

    decoder_only = LanguageModel(20, 16, 4, 2, layers, 32).eval()
    assert moved(decoder_only(one), decoder_only(later)) == [False] * 3 + [True] * 2
    encoder_only = Encoder(16, 4, layers, 64).eval()
    assert moved(encoder_only(x)[0], encoder_only(changed)[0]) == [True] * 5
    both = Transformer(20, 20, 16, 4, layers, 32).eval()
    assert moved(both(one, several), both(later, several)) == [True] * 5  # all see the source
    assert moved(both(several, one), both(several, later)) == [False] * 3 + [True] * 2


def drawn(model: nn.Module, prompt: Tensor, n: int = 2000, **options: Any) -> Tensor:
    """Draw the next two words of a text, n times: (n, 2)."""
    draws = torch.Generator().manual_seed(7)
    return sample(model, prompt.expand(n, -1), end=END, max_length=2, generator=draws, **options)


def as_frequent_as_probable(words: Tensor, logits: Tensor) -> bool:
    """Whether each word is about as frequent as the logits say, and excluded words don't occur."""
    p, n = logits.softmax(-1), len(words)
    often = torch.bincount(words, minlength=len(p)) / n
    spread = 5 * (p * (1 - p) / n).sqrt() + 2 / n * (p > 0)
    return bool(((often - p).abs() <= spread).all())


@claim(
    "From the same beginning, greedy decoding always writes the same sentence, while sampling draws"
    " each word with the probability that the model gives it.",
    seed=(1, 2),
    beginning=("my mother", "the"),
)
@torch.no_grad()
def test_greedy_sentences_are_equal_and_sampled_words_are_as_frequent_as_probable(seed, beginning):
    model, words = load_language_model(seed)
    prompt = torch.tensor([[BEGIN, *words.encode(beginning.split())]])
    greedy = {
        tuple(sample(model, prompt, end=END, max_length=12, generator=draws, k=1)[0].tolist())
        for draws in map(torch.Generator().manual_seed, range(5))
    }
    assert len(greedy) == 1
    first, second = drawn(model, prompt, 4000).T
    assert as_frequent_as_probable(first, model(prompt)[0, -1])
    usual = first.mode().values
    longer = torch.cat([prompt, usual[None, None]], 1)
    assert as_frequent_as_probable(second[first == usual], model(longer)[0, -1])


@claim(
    "A lower temperature sharpens the distribution, top-k keeps the $k$ most probable words, and"
    " top-p keeps the most probable words until their probabilities sum to at least $p$.",
    seed=(1, 2),
    beginning=("my mother", "the"),
)
@torch.no_grad()
def test_what_is_drawn_with_a_temperature_with_top_k_and_with_top_p(seed, beginning):
    model, words = load_language_model(seed)
    prompt = torch.tensor([[BEGIN, *words.encode(beginning.split())]])
    logits = model(prompt)[0, -1]
    p, order = logits.softmax(-1).sort(descending=True)

    def only(n: int) -> Tensor:
        """The logits of the n most probable words; -inf for the others."""
        return torch.full_like(logits, -torch.inf).index_copy(0, order[:n], logits[order[:n]])

    sharpest = []
    for temperature in (2.0, 1.0, 0.7, 0.3):
        found = drawn(model, prompt, temperature=temperature)[:, 0]
        assert as_frequent_as_probable(found, logits / temperature)
        sharpest.append((found == order[0]).double().mean().item())
    assert sharpest == sorted(set(sharpest))
    for k in (1, 4):
        assert as_frequent_as_probable(drawn(model, prompt, k=k)[:, 0], only(k))
    for total in (0.5, 0.9):
        fewest = next(n for n in range(1, len(p) + 1) if p[:n].sum() >= total)
        assert as_frequent_as_probable(drawn(model, prompt, p=total)[:, 0], only(fewest))


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
