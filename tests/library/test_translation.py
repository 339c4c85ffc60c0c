"""The corpus: agreement between languages, held-out sets, batches, and the reader's own pairs."""

import itertools
import re
from collections import Counter
from pathlib import Path

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
    characters,
    draw_pairs,
    english_words,
    held_out_combinations,
    load_pairs,
    make_batch,
    make_corpus,
    word_by_word,
)
from attnbook.corpus.grammar import lexicon, words
from attnbook.corpus.grammar.clauses import (
    TENSE_MARKERS,
    Sentence,
    VerbPhrase,
    inflect,
    verb_clause,
)
from attnbook.corpus.grammar.corpus import is_for_training
from attnbook.corpus.grammar.noun_phrases import Draw, noun_phrase, pronouns
from attnbook.corpus.grammar.sentences import draw_sentence
from attnbook.corpus.grammar.verb_phrases import make_verb
from attnbook.corpus.sentence import APPLE_IS_SWEET
from tests.support.corpus import corpus_made_once

MEASURES = {row[0] for row in lexicon.rows(words.MEASURES)}
NOUNS = {noun.zh: noun for noun in lexicon.nouns}
VERBS = [*lexicon.verbs, *lexicon.animal_verbs]
DETERMINERS = {"一", "两", "三", "四", "五", "这", "那", "几"}
HELPERS = {"do", "does", "did", "will", "can", "cannot", "am", "is", "are", "was", "were"}


@pytest.fixture(scope="module")
def drawn() -> list[Sentence]:
    """Many sentences of every kind and of any length."""
    draw = Draw(17)
    return [draw_sentence(draw) for _ in range(30_000)]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return corpus_made_once()


def said(zh: str, en: str) -> Sentence:
    return Sentence(tuple(zh.split()), tuple(en.split()))


# ---- the grammar


def test_no_chinese_sentence_has_two_translations(drawn: list[Sentence]) -> None:
    translations: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for made in drawn:
        translations.setdefault(made.zh, set()).add(made.en)
    assert not [zh for zh, all_en in translations.items() if len(all_en) > 1]


def test_there_are_far_more_than_100_000_pairs(drawn: list[Sentence]) -> None:
    """Two draws from N sentences are equal with a probability p of at least 1/N, so N >= 1/p."""
    long = Counter(made.zh for made in drawn if len(made.zh) >= 9)
    draws = long.total()
    alike = sum(count * (count - 1) // 2 for count in long.values())
    assert draws * (draws - 1) / 2 / max(alike, 1) > 150_000


def test_every_word_is_in_the_dictionary_with_its_pinyin(drawn: list[Sentence]) -> None:
    used = {word for made in drawn for word in made.zh}
    assert used == set(lexicon.dictionary), "the dictionary and the words in use differ"
    for word in used - {"，", "？"}:
        sound, _ = lexicon.dictionary[word]
        assert re.fullmatch("[BSHY]?['a-zāáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜü]+", sound)
        toned = re.search("[āáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜ]", sound)
        assert bool(toned) == (word not in set("的了吗们上里")), f"{word} {sound}"


def test_the_dictionary_uses_english_words_of_the_corpus(drawn: list[Sentence]) -> None:
    english = {word for made in drawn for word in made.en} | {"?"}
    glosses = {word for _, meaning in lexicon.dictionary.values() for word in meaning}
    # The corpus lacks these words: they are parts of idioms, or dictionary forms of phrases.
    assert glosses - english <= {
        *("hit", "telephone", "rain", "fry", "sit", "train", "plane", "taxi", "today", "together"),
        *(",", "return", "beijing", "joke", "snow", "take"),
    }


def test_the_english_is_spelled_correctly(drawn: list[Sentence]) -> None:
    for made in drawn:
        assert all(re.fullmatch(r"[a-z]+|'s|\?", word) for word in made.en), made
        for word, after in itertools.pairwise(made.en):
            assert word != "a" or after[0] not in "aeiou", made
            assert word != "an" or after[0] in "aeiou", made
            assert (word, after) != ("can", "not"), made


def test_the_verb_agrees_with_its_subject(drawn: list[Sentence]) -> None:
    third = {v.third[0] for v in VERBS} | {"is", "was", "does", "has", "wants"}
    plain = {v.base[0] for v in VERBS if v.base != v.past} | {"are", "were", "am", "do", "have"}
    for made in drawn:
        for word, after in itertools.pairwise(made.en if made.en[-1] != "?" else ()):
            if word in ("he", "she", "it"):
                assert after not in plain, made
            if word in ("i", "we", "they", "you") and (word, after) != ("i", "was"):
                assert after not in third, made


def test_a_helper_takes_the_base_form(drawn: list[Sentence]) -> None:
    bases = {v.base[0] for v in VERBS}
    inflected = {form[0] for v in VERBS for form in (v.third, v.past)} - bases
    for made in drawn:
        for word, after in itertools.pairwise(made.en):
            if word in ("will", "not", "cannot", "to"):
                assert after not in inflected, made


def test_questions_are_questions_in_both_languages(drawn: list[Sentence]) -> None:
    askers = {"吗", "什么", "谁", "哪里", "几", "为什么"}
    for made in drawn:
        assert (made.zh[-1] == "？") == (made.en[-1] == "?") == bool(askers & set(made.zh)), made
        if "吗" in made.zh:
            assert made.zh[-2] == "吗", made
            assert made.en[0] in HELPERS, made


def test_each_noun_has_its_own_measure_word(drawn: list[Sentence]) -> None:
    for made in drawn:
        for place, (word, after) in enumerate(itertools.pairwise(made.zh)):
            if word in DETERMINERS and after in MEASURES:
                noun = next(NOUNS[w] for w in made.zh[place + 2 :] if w in NOUNS)
                assert noun.measure == after, made
            elif word in DETERMINERS:  # as in 这 三 只 猫 or 这 是
                assert after in DETERMINERS | {"是", "不"}, made


def test_time_comes_early_in_chinese_and_last_in_english(drawn: list[Sentence]) -> None:
    for made in drawn:
        for time in lexicon.times:
            n = len(time.zh)
            if any(made.zh[i : i + n] == time.zh for i in range(len(made.zh))):
                longer = [t for t in lexicon.times if t.zh[:n] == time.zh and t.zh != time.zh]
                if any(" ".join(t.zh) in " ".join(made.zh) for t in longer):
                    continue
                last = made.en[:-1] if made.en[-1] == "?" else made.en
                assert last[-len(time.en) :] == time.en, made
                assert made.zh[-n:] != time.zh, made


def test_no_word_is_doubled(drawn: list[Sentence]) -> None:
    for made in drawn:
        assert all(word != after for word, after in itertools.pairwise(made.zh)), made
        assert all(word != after for word, after in itertools.pairwise(made.en)), made


def test_a_definite_thing_is_given_with_ba(drawn: list[Sentence]) -> None:
    """把 这 本 书 送给 他, to give this book to him; but 送给 他 一 本 书, to give him a book."""
    given = [made for made in drawn if "送给" in made.zh]
    assert len(given) > 100
    for made in given:
        text = " ".join(made.zh)
        definite = re.search("把 ((这|那) |.* 的 ).*送给", text)
        indefinite = re.search("送给 .*(一|两) ", text.split("把")[0])
        assert bool(definite) != bool(indefinite), made
        english = " ".join(made.en).replace("want to ", "").replace("wants to ", "")
        assert bool(definite) == (" to " in english), made


def test_relatives_need_no_de(drawn: list[Sentence]) -> None:
    """我 妈妈, 我 朋友, but 我们 的 朋友."""
    texts = "\n".join(" ".join(made.zh) for made in drawn)
    assert re.search("我 妈妈", texts)
    assert re.search("我们 的 朋友", texts)
    relatives = "|".join(noun.zh for noun in lexicon.nouns if noun.kinds & {"kin", "boss"})
    assert not re.search(f"(?m)(^| )[我你他她] 的 ({relatives})", texts)
    assert not re.search("们 (朋友|同学)", texts)


def test_but_joins_a_contrast(drawn: list[Sentence]) -> None:
    """Only a contrast has 但是: compare 很 贵 ， 但是 我 很 喜欢 with 很 漂亮 ， 我 很 喜欢."""
    traits = {adjective.zh: adjective.traits for adjective in lexicon.adjectives}
    contrasts = Counter[bool]()
    for made in drawn:
        if "，" not in made.zh or "有" in made.zh:
            continue
        first, second = (" ".join(made.zh) + " ").split("，")
        good = "good" in traits[first.split()[-1]]
        if "喜欢" in second or "想" in second:
            also_good = "不" not in second
        else:
            also_good = "good" in traits[second.split()[-1]]
        assert ("但是" in second) == ("but" in made.en) == (good != also_good), made
        contrasts[good != also_good] += 1
    assert min(contrasts[True], contrasts[False]) > 50


def test_combinations_are_those_that_the_tables_allow(drawn: list[Sentence]) -> None:
    """The tables allow every combination that occurs, and most combinations they allow do occur."""
    allowed = {(v.zh[0], n.zh) for v in VERBS for n in lexicon.nouns if n.kinds & v.kinds}
    allowed |= {
        (a.zh, n.zh) for a in lexicon.adjectives for n in lexicon.nouns if a.kinds & n.kinds
    }
    used = {pair for made in drawn for pair in made.combinations}
    assert used <= allowed
    assert len(used) > 0.9 * len(allowed), "too many combinations are never drawn"


@pytest.mark.parametrize(
    ("noun", "determiner", "number", "zh", "en"),
    [
        ("书", "one", None, "一 本 书", "a book"),
        ("猫", "number", ("三", "three"), "三 只 猫", "three cats"),
        ("茶", "number", ("两", "two"), "两 杯 茶", "two cups of tea"),
        ("水", "one", None, "一 杯 水", "a glass of water"),
        ("茶", "many", None, "很多 茶", "a lot of tea"),
        ("书", "many", None, "很多 书", "many books"),
        ("面条", "the", None, "面条", "the noodles"),
        ("鞋", "that", None, "那 双 鞋", "that pair of shoes"),
        ("孩子", "these", ("五", "five"), "这 五 个 孩子", "these five children"),
        ("妈妈", "own", None, "我 妈妈", "my mother"),
        ("苹果", "plural", None, "苹果", "apples"),
    ],
)
def test_noun_phrases(
    noun: str, determiner: str, number: tuple[str, str] | None, zh: str, en: str
) -> None:
    made = noun_phrase(NOUNS[noun], determiner, number=number)
    assert (" ".join(made.zh), " ".join(made.en)) == (zh, en)


class First(Draw):
    """A Draw that always chooses the first option; a chance comes true if `always` and p > 0.25."""

    def __init__(self, always: bool) -> None:
        self.always = always

    def choice(self, options):
        return options[0]

    def chance(self, probability: float) -> bool:
        return self.always and probability > 0.25


READ = next(v for v in lexicon.verbs if v.zh == ("看",))


@pytest.mark.parametrize(
    ("form", "tense", "who", "always", "zh", "en"),
    [
        ("statement", "past", "我", True, "我 昨天 在 家 看 了 它", "i read it at home yesterday"),
        ("statement", "past", "他", False, "他 看 了 它", "he read it"),
        ("negative", "past", "他", False, "他 没 看 它", "he did not read it"),
        ("yes_no", "past", "他", False, "他 看 了 它 吗 ？", "did he read it ?"),
        ("statement", "now", "她", False, "她 在 看 它", "she is reading it"),
        ("statement", "now", "我", True, "我 现在 在 家 看 它", "i am reading it at home now"),
        ("negative", "now", "我", False, "我 没 在 看 它", "i am not reading it"),
        (
            "statement",
            "future",
            "我",
            True,
            "我 明天 会 在 家 看 它",
            "i will read it at home tomorrow",
        ),
        ("statement", "want", "她", False, "她 想 看 它", "she wants to read it"),
        (
            "why",
            "want",
            "她",
            False,
            "她 为什么 不 想 看 它 ？",
            "why does she not want to read it ?",
        ),
        ("statement", "habit", "她", True, "她 每天 在 家 看 它", "she reads it at home every day"),
        ("statement", "habit", "他们", False, "他们 经常 看 它", "they often read it"),
    ],
)
def test_tenses(form: str, tense: str, who: str, always: bool, zh: str, en: str) -> None:
    made = verb_clause(
        First(always), form, tense, pronouns[who], VerbPhrase(READ, ("它",), ("it",))
    )
    assert (" ".join(made.zh), " ".join(made.en)) == (zh, en)


@pytest.mark.parametrize("tense", sorted(TENSE_MARKERS))
def test_a_third_person_differs_only_where_english_says_so(tense: str) -> None:
    swim = make_verb("游泳", "swim swims swam swimming")
    differs = inflect(swim, tense, "he") != inflect(swim, tense, "they")
    assert differs == (tense not in ("past", "future", "can"))


def test_the_sentence_of_the_book_is_one_of_the_grammar(drawn: list[Sentence]) -> None:
    assert (APPLE_IS_SWEET, ("the", "apple", "is", "sweet")) in {(s.zh, s.en) for s in drawn}


# ---- what training never sees


def test_training_and_tests_share_no_sentence(corpus: Corpus) -> None:
    for a, b in itertools.combinations(corpus, 2):
        assert not {pair.chinese for pair in a} & {pair.chinese for pair in b}
    for pairs in corpus:
        assert len({pair.chinese for pair in pairs}) == len(pairs)


def test_training_has_no_held_out_combination(corpus: Corpus) -> None:
    held_out = held_out_combinations()
    for first, second in held_out:
        assert not [pair for pair in corpus.train if {first, second} <= set(pair.chinese)]
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


def test_another_seed_gives_another_corpus() -> None:
    assert make_corpus(50, 5, 1) != make_corpus(50, 5, 2)


# ---- word by word


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


# ---- the reader's own pairs


def written(folder: Path, content: bytes) -> Path:
    path = folder / "pairs.tsv"
    path.write_bytes(content)
    return path


HI = Pair(("嗨", "。"), ("hi", "."))


@pytest.mark.parametrize(
    "line",
    [
        "Hi.\t嗨。",
        "嗨。\tHi.",
        "Hi.\t嗨。\tCC-BY 2.0 (France) Attribution: tatoeba.org #538123 (CM) & #891077 (Martha)",
        "嗨。\tHi.\tCC-BY 2.0 (France)",
        "538123\tHi.\t891077\t嗨。",
        " Hi. \t 嗨 。 ",
        "\ufeffHi.\t嗨。",
    ],
)
def test_both_orders_and_further_columns_are_read(tmp_path: Path, line: str) -> None:
    assert load_pairs(written(tmp_path, line.encode())) == ([HI], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "it is empty"),
        (b"  ", "it is empty"),
        ("Hi. 嗨。".encode(), "it has no tab"),
        ("\t嗨。".encode(), "a side is empty"),
        (b"Hi.\t", "a side is empty"),
        (b"Hi.\t...", "a side is empty"),
        (b"Hi.\tHello.", "no side has more Chinese characters than the other"),
        ("嗨。\t嗨。".encode(), "no side has more Chinese characters than the other"),
        (b"Hi.\t\xe5\x97", "it is not in UTF-8"),
        ("Hi.\t嗨。".encode("gb18030"), "it is not in UTF-8"),
        ("Hi.\t嗨。".encode("utf-16"), "it is not in UTF-8"),
        (b"Hi.\t" + "嗨".encode() * 10_000, "it is longer than 10000 characters"),
    ],
)
def test_a_bad_line_is_named_and_the_others_read(tmp_path: Path, line: bytes, reason: str) -> None:
    good = "Hi.\t嗨。".encode()
    loaded = load_pairs(written(tmp_path, b"\n".join((good, line, good))))
    assert loaded == ([HI, HI], [f"line 2: {reason}"])


def test_line_ends_may_be_mixed(tmp_path: Path) -> None:
    line = "Hi.\t嗨。".encode()
    content = line + b"\r" + line + b"\r\n" + line + b"\n" + b"no\r\r\n" + line
    loaded = load_pairs(written(tmp_path, content))
    assert loaded == ([HI] * 4, ["line 4: it has no tab", "line 5: it is empty"])


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert load_pairs(written(tmp_path, b"")) == ([], [])
    assert load_pairs(str(written(tmp_path, b"\xef\xbb\xbf"))) == ([], [])


def test_a_path_that_is_not_a_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.tsv"):
        with pytest.raises(ValueError, match="there is no file"):
            load_pairs(path)


@given(st.lists(st.binary(max_size=30) | st.just("Hi.\t嗨。".encode()), max_size=6))
def test_no_line_crashes_and_none_is_lost(tmp_path_factory, lines: list[bytes]) -> None:
    path = written(tmp_path_factory.mktemp("own"), b"\n".join(lines))
    count = len(re.split(b"\r\n|\r|\n", path.read_bytes().removeprefix(b"\xef\xbb\xbf")))
    loaded = load_pairs(path)
    named = [int(re.match(r"line (\d+): ", problem)[1]) for problem in loaded.problems]
    assert named == sorted(set(named))
    assert len(loaded.pairs) + len(named) in (count, count - 1)  # no line after a final newline


def test_another_tokenizer_may_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "I like apples.\t我 喜欢 苹果".encode())
    assert load_pairs(path).pairs[0].chinese == tuple("我喜欢苹果")
    assert load_pairs(path, cut=str.split).pairs[0].chinese == ("我", "喜欢", "苹果")


def test_words_and_punctuation_are_separated() -> None:
    assert english_words("Don't cry, Tom’s here!") == "don 't cry , tom 's here !".split()
    assert characters("我在Google工作2年。") == ["我", "在", "google", "工", "作", "2", "年", "。"]
