"""The summary of chapter 9, tried with other corpora, sentences and models."""

import collections
import functools
from typing import Any

import pytest
import torch
from torch import nn

from attnbook import device
from attnbook.corpus import Corpus, make_batch, make_corpus, word_by_word
from attnbook.training.trained import load_translator
from tests.support.claims import claim
from tools.train.translators import TWO_STACKS, run_cells


@functools.cache
def corpus_of(seed: int) -> Corpus:
    return make_corpus(n_train=5000, n_test=300, seed=seed)


@claim(
    "In a word-by-word translation, about seven words in ten are right, but hardly any sentence"
    " is.",
    seed=(11, 12),
    kind=("train", "new_combinations"),
)
def test_a_dictionary_gets_most_words_and_hardly_any_sentence_right(seed, kind):
    right = sentences = total = 0
    pairs = getattr(corpus_of(seed), kind)[:300]
    for pair in pairs:
        said = collections.Counter(word_by_word(pair.chinese))
        right += (said & collections.Counter(pair.english)).total()
        total += said.total()
        sentences += word_by_word(pair.chinese) == pair.english
    assert 0.65 < right / total < 0.8
    assert sentences / len(pairs) < 0.05


@pytest.fixture(scope="module")
def chapter() -> dict[str, Any]:
    return run_cells(TWO_STACKS.chapter, TWO_STACKS.cells)


@pytest.fixture(scope="module")
def translators(chapter) -> dict[int, nn.Module]:
    words = chapter["chinese"], chapter["english"]
    return {seed: load_translator(*words, seed).to(device()) for seed in (1, 2)}


@claim(
    "Because the mask is causal, one pass predicts the next word at every position.",
    seed=(1, 2),
    sentence=(3, 30),
)
@torch.no_grad()
def test_one_pass_predicts_what_each_beginning_predicts(chapter, translators, seed, sentence):
    model, pair = translators[seed], chapter["corpus"].longer[sentence]
    b = make_batch([pair], chapter["chinese"], chapter["english"], device())
    at_once = model(b.source, b.target, b.source_mask)[0]
    for n in range(1, b.target.size(1) + 1):
        beginning = model(b.source, b.target[:, :n], b.source_mask)[0, -1]
        torch.testing.assert_close(beginning, at_once[n - 1], rtol=1e-3, atol=1e-3)


@claim(
    "The translators' rules fill in the kinds of sentences that they have seen.",
    seed=(1, 2),
    corpus=(11, 12),
)
def test_new_sentences_of_another_corpus_are_mostly_right(chapter, translators, seed, corpus):
    known = {pair.chinese for pair in chapter["corpus"].train}
    words = set(chapter["chinese"].words)
    new = [p for p in corpus_of(corpus).train if p.chinese not in known and words >= {*p.chinese}]
    pairs = new[:200]
    wrong = len(chapter["mistakes"](pairs, translators[seed]))
    assert wrong < 0.1 * len(pairs)


@claim(
    "A cross-attention map shows where a row attends, often to the word that it translates.",
    seed=(1, 2),
    kind=("new_combinations", "longer"),
)
@torch.no_grad()
def test_nouns_often_attend_most_to_their_chinese_words(chapter, translators, seed, kind):
    own = {"apple": "苹果", "tea": "茶", "dog": "狗", "cat": "猫", "book": "书", "student": "学生"}
    hits = []
    for pair in getattr(chapter["corpus"], kind)[:200]:
        for i, word in enumerate(pair.english):
            if own.get(word) in pair.chinese:
                b = make_batch([pair], chapter["chinese"], chapter["english"], device())
                z, _ = translators[seed].encode(b.source, b.source_mask)
                _, _, across = translators[seed].decode(b.target, z, b.source_mask)
                row = across[-1][0, :, i].mean(0)  # row i predicts word i
                hits.append(pair.chinese[row.argmax()] == own[word])
    assert len(hits) > 20
    assert sum(hits) / len(hits) > 0.6
