"""The grammar: its Chinese and English sentences agree, in words, tenses and meaning."""

import itertools
import re
from collections import Counter

import pytest

from attnbook.corpus.grammar import lexicon, words
from attnbook.corpus.grammar.clauses import (
    TENSE_MARKERS,
    Sentence,
    VerbPhrase,
    inflect,
    verb_clause,
)
from attnbook.corpus.grammar.noun_phrases import Draw, noun_phrase, pronouns
from attnbook.corpus.grammar.sentences import draw_sentence
from attnbook.corpus.grammar.verb_phrases import make_verb
from attnbook.corpus.sentence import APPLE_IS_SWEET

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
