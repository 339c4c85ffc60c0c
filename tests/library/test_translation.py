"""The corpus: held-out sets, word-by-word translation, vocabularies, and batches."""

import itertools
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.corpus import (
    BEGIN,
    END,
    LONGEST,
    PAD,
    UNKNOWN,
    Corpus,
    Pair,
    Vocabulary,
    draw_pairs,
    held_out_combinations,
    make_batch,
    make_corpus,
    word_by_word,
)
from attnbook.corpus.grammar import lexicon
from attnbook.corpus.grammar.clauses import Sentence
from attnbook.corpus.grammar.corpus import is_for_training
from attnbook.corpus.sentence import APPLE_IS_SWEET
from tests.support.claims import claim


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_corpus()


# ---- what training never sees


def test_training_and_tests_share_no_sentence(corpus: Corpus) -> None:
    for a, b in itertools.combinations(corpus, 2):
        assert not {pair.chinese for pair in a} & {pair.chinese for pair in b}
    for pairs in corpus:
        assert len({pair.chinese for pair in pairs}) == len(pairs)


def test_training_has_no_held_out_combination(corpus: Corpus) -> None:
    held_out = held_out_combinations()
    sentences = [frozenset(pair.chinese) for pair in corpus.train]
    for first, second in held_out:
        assert not [words for words in sentences if first in words and second in words]
    assert all(pair.combinations & held_out for pair in corpus.new_combinations)
    assert not [pair for pair in corpus.longer if pair.combinations & held_out]


def test_a_sentence_is_either_for_training_or_for_a_test_set(corpus: Corpus) -> None:
    for name, pairs in corpus._asdict().items():
        sentences = [Sentence(p.chinese, p.english, p.combinations) for p in pairs[:500]]
        assert all(is_for_training(one) == (name == "train") for one in sentences)


def test_held_out_words_are_learned_in_other_combinations(corpus: Corpus) -> None:
    """In training, both words of each held-out combination occur often in other combinations."""
    adjectives = {adjective.zh for adjective in lexicon.adjectives}
    learned = Counter(pair for made in corpus.train for pair in made.combinations)
    for first, second in held_out_combinations():
        alike = {pair for pair in learned if (pair[0] in adjectives) == (first in adjectives)}
        of_first = [pair for pair in alike if pair[0] == first]
        of_second = [pair for pair in alike if pair[1] == second]
        assert len(of_first) >= 3
        assert len(of_second) >= 2
        assert min(sum(learned[p] for p in pairs) for pairs in (of_first, of_second)) >= 20
    assert ("甜", "苹果") in held_out_combinations()


def test_no_held_out_combination_dominates_the_test_set(corpus: Corpus) -> None:
    held_out = held_out_combinations()
    found = Counter(p for made in corpus.new_combinations for p in made.combinations & held_out)
    assert found.keys() == held_out
    assert max(found.values()) <= len(corpus.new_combinations) / 10


def test_every_tested_word_is_in_training(corpus: Corpus) -> None:
    zh = {word for pair in corpus.train for word in pair.chinese}
    en = {word for pair in corpus.train for word in pair.english}
    for pair in corpus.new_combinations + corpus.longer:
        assert zh.issuperset(pair.chinese)
        assert en.issuperset(pair.english)


def test_longer_sentences_are_longer_in_both_languages(corpus: Corpus) -> None:
    for side in ("chinese", "english"):
        train, new, longer = ([len(getattr(p, side)) for p in pairs] for pairs in corpus)
        assert max(train) == LONGEST >= max(new)
        assert min(longer) > LONGEST


def test_the_corpus_has_the_requested_sizes() -> None:
    made = make_corpus(3000, 7)
    assert [len(pairs) for pairs in made] == [3000, 7, 7]
    with pytest.raises(ValueError, match="n_test=0"):
        make_corpus(30, 0)


def test_a_corpus_that_is_changed_is_whole_again_when_it_is_made_again() -> None:
    make_corpus(50, 5).train.clear()
    assert len(make_corpus(50, 5).train) == 50


def test_another_seed_gives_another_corpus() -> None:
    assert make_corpus(50, 5, 1) != make_corpus(50, 5, 2)


# ---- word by word


@claim("A dictionary has no word order, no grammar and no idioms.", tried="five sentences")
def test_a_dictionary_keeps_the_chinese_order_and_misses_idioms() -> None:
    def by_words(text: str) -> str:
        return " ".join(word_by_word(text.split()))

    assert by_words("我 昨天 在 图书馆 看 了 一 本 书") == "i yesterday in library read a book"
    assert by_words("老板 炒 了 他 的 鱿鱼") == "boss fry he 's squid"
    assert by_words("苹果 很 甜") == "apple very sweet"
    assert by_words("北京 在 下 雨") == "beijing in under rain"
    assert by_words("nonsense") == "nonsense"


def test_pinyin() -> None:
    assert Pair(APPLE_IS_SWEET, ()).pinyin == "píngguǒ hěn tián"
    assert Pair(("汤姆", "很", "高"), ()).pinyin == "汤姆 hěn gāo"


# ---- vocabulary and batches

PAIRS = [
    Pair(tuple("苹果 很 甜".split()), tuple("the apple is sweet".split())),
    Pair(tuple("我 昨天 在 家 睡觉 了".split()), tuple("i slept at home yesterday".split())),
    Pair(tuple("下 雪".split()), tuple("it snows".split())),
]
CHINESE = Vocabulary(pair.chinese for pair in PAIRS)
ENGLISH = Vocabulary(pair.english for pair in PAIRS)

sentences = st.lists(st.sampled_from(ENGLISH.words[4:]), max_size=9)


@given(sentences)
def test_encoded_words_can_be_decoded(words: list[str]) -> None:
    assert ENGLISH.decode(ENGLISH.encode(words)) == tuple(words)
    assert ENGLISH.decode([BEGIN, *ENGLISH.encode(words), END, *ENGLISH.encode(words), PAD]) == (
        *words,
    )


def test_a_vocabulary_numbers_each_word_once() -> None:
    assert ENGLISH.words[:4] == ["PAD", "BEGIN", "END", "UNKNOWN"]
    assert ENGLISH.words[4:] == sorted(set(ENGLISH.words[4:]))
    assert len(ENGLISH) == 4 + 11
    assert "sweet" in ENGLISH
    assert "bitter" not in ENGLISH
    assert ENGLISH.encode(["bitter", "apple"]) == [UNKNOWN, ENGLISH.words.index("apple")]
    assert ENGLISH.decode(torch.tensor(ENGLISH.encode(["bitter"]))) == ("UNKNOWN",)
    assert len(Vocabulary([["PAD", "END"]])) == 4


def test_a_vocabulary_names_words_and_ids_that_it_cannot_read() -> None:
    with pytest.raises(TypeError, match="'i slept' is one string"):
        ENGLISH.encode("i slept")
    for i in (-1, len(ENGLISH)):
        with pytest.raises(ValueError, match=f"id {i}: .* 0 to {len(ENGLISH) - 1}"):
            ENGLISH.decode([i])


@claim(
    "In training, the decoder reads BEGIN and the translation, and has to produce the translation"
    " and END.",
    tried="three pairs",
)
def test_a_batch_is_padded_and_shifted() -> None:
    batch = make_batch(PAIRS, CHINESE, ENGLISH)
    assert batch.source.shape == (3, 6)
    assert batch.source_mask.shape == (3, 1, 6)
    assert batch.target.shape == batch.labels.shape == (3, 6)
    assert batch.source_mask.sum(-1).flatten().tolist() == [3, 6, 2]
    assert torch.equal(batch.source_mask[:, 0], batch.source != PAD)
    for row, pair in enumerate(PAIRS):
        n = len(pair.english)
        words = ENGLISH.encode(pair.english)
        assert batch.target[row].tolist() == [BEGIN, *words] + [PAD] * (5 - n)
        assert batch.labels[row].tolist() == [*words, END] + [PAD] * (5 - n)
        assert batch.source[row, : len(pair.chinese)].tolist() == CHINESE.encode(pair.chinese)
    with pytest.raises(ValueError, match="0 pairs"):
        make_batch([], CHINESE, ENGLISH)


def test_pairs_are_drawn_from_all_and_repeat_with_a_seed() -> None:
    def drawn(seed: int) -> list[Pair]:
        return draw_pairs(PAIRS, 50, torch.Generator().manual_seed(seed))

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(drawn(1)) == 50
    assert set(drawn(1)) == set(PAIRS)
