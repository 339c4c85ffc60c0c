"""Idioms, sentences of two clauses, and a random sentence of any kind."""

from dataclasses import replace

from attnbook.corpus.grammar.clauses import (
    BE,
    Sentence,
    VerbPhrase,
    copular_clause,
    english_clause,
    verb_clause,
)
from attnbook.corpus.grammar.copular_clauses import describe, identity, is_at, there_is
from attnbook.corpus.grammar.lexicon import (
    Adjective,
    Noun,
    Words,
    adjectives,
    cities,
)
from attnbook.corpus.grammar.noun_phrases import (
    PEOPLE,
    Draw,
    NounPhrase,
    adjectives_for,
    draw_noun_phrase,
    draw_person,
    is_plural,
    noun_phrase,
    nouns_for,
    nouns_of_kind,
    people,
    relatives,
    suits,
)
from attnbook.corpus.grammar.special_verbs import animal_event, call, give, go, have, like
from attnbook.corpus.grammar.verb_phrases import can_be_subject, event, make_verb

FIRE = make_verb("炒", "fire fires fired firing", traits="week year day")
JOKE = make_verb("开", "joke jokes joked joking")
RAIN = make_verb("下", "rain rains rained raining")
SNOW = make_verb("下", "snow snows snowed snowing")


def idiom(draw: Draw) -> Sentence | None:
    """An idiom that cannot be translated word by word: 下 雨, 炒 鱿鱼, 吃 醋, 开 玩笑."""
    kind = draw.choice((*("weather",) * 3, FIRE, FIRE, "jealous", JOKE))
    form = draw.choice(("statement", "statement", "negative", "yes_no"))
    draw.expect(("jealous",) if kind == "jealous" else ())
    if kind == "weather":
        noun, verb = draw.choice((("雨", RAIN), ("雪", SNOW)))
        draw.expect_one(*verb.forms)
        city = draw.choice((None, None, *cities))
        it = NounPhrase(city.zh if city else (), ("it",), "he", (), ())
        verb_phrase = VerbPhrase(verb, (noun,), bare=True, after=city.at if city else ())
        return verb_clause(draw, form, draw.choice(("past", "future", "now")), it, verb_phrase)
    subject = draw.until(draw_person, can_be_subject, form, seen=kind is not FIRE)
    if subject.noun and is_plural(subject):
        return None
    if kind is JOKE:
        return verb_clause(
            draw,
            form,
            draw.choice(("now", "habit")),
            subject,
            VerbPhrase(JOKE, ("玩笑",), bare=True),
        )
    if kind == "jealous":
        jealous = copular_clause(form, subject, ("吃", "醋", "了"), ("jealous",))
        return (
            replace(jealous, zh=(*subject.zh, "没", "吃", "醋")) if form == "negative" else jealous
        )
    fired, employee = draw_person(draw, 0.7), draw_person(draw, 1.0)
    draw.expect(fired.object_form)
    if fired.noun in ("孩子", "学生", "同学", "奶奶"):
        return None
    boss = noun_phrase(nouns_of_kind("boss")[0], draw.choice(("the", "own")), owner=employee)
    draw.expect(boss.en)
    verb_phrase = VerbPhrase(
        FIRE, (*fired.zh, "的", "鱿鱼"), fired.object_form, combinations=fired.combinations
    )
    return verb_clause(draw, form, draw.choice(("past", "past", "future")), boss, verb_phrase)


def two_clauses(draw: Draw) -> Sentence | None:
    """Two clauses, joined by 但是 only if they contrast: 很 贵 ， 但是 我 很 喜欢.

    Chinese leaves out the object or the subject of the second clause where English says *it*, and
    uses 它 or 他 only for animals and people.
    """
    draw.expect_one(("and",), ("but",))
    adjective = draw.choice(adjectives)
    noun = draw.choice(nouns_for(adjective))
    if noun.kinds & {"kin", "opening"}:
        return None
    subject = draw_person(draw, 0.8)
    if subject.zh in (("你",), ("你们",)) or noun.zh == subject.noun:
        return None  # people are rarely told what they like or have
    if subject.noun not in ("", *relatives):
        return None
    return draw.choice((opinion, opinion, two_qualities, owner_of))(draw, subject, noun, adjective)


def opinion(draw: Draw, subject: NounPhrase, noun: Noun, adjective: Adjective) -> Sentence | None:
    """An opinion because of a quality, or despite it: 很 贵 ， 但是 我 很 喜欢."""
    good, bad = "good" in adjective.traits, "bad" in adjective.traits
    if not (good or bad):
        return None
    described = draw_noun_phrase(draw, noun, draw.choice(("this", "that", "these")), 0.0)
    verb = draw.choice(("like", "like", "buy")) if adjective.zh in ("贵", "便宜") else "like"
    if verb == "buy" and noun.kinds & {"personal", "ticket"} and is_plural(subject):
        return None
    dear = adjective.zh == "贵"
    negative = bad and draw.chance(0.5) if verb == "buy" else not dear and draw.chance(0.4)
    contrast = negative == good
    it = IT[described.pronoun][1]
    third = subject.agreement == "he"
    does = "does" if third else "do"
    if verb == "like":
        zh: Words = ("不", "喜欢") if negative else ("很", "喜欢")
        simple: Words = ("likes" if third else "like", it, "very", "much")
        rest: Words = ("like", it)
    else:
        zh = ("不", "想", "买") if negative else ("想", "买")
        simple = ("wants" if third else "want", "to", "buy", it)
        rest = ("want", "to", "buy", it)
    if noun.kinds & (PEOPLE | {"animal"}):
        zh = (*zh, described.pronoun)
    first = predicate(described, adjective)
    second = english_clause(subject.en, does, rest, simple, negative, None)
    combinations = subject.combinations | {(adjective.zh, noun.zh)}
    link: Words = ("，", "但是") if contrast else ("，",)
    en = (*first.en, "but" if contrast else "and", *second)
    return Sentence((*first.zh, *link, *subject.zh, *zh), en, combinations)


def two_qualities(draw: Draw, _: NounPhrase, noun: Noun, adjective: Adjective) -> Sentence | None:
    """A good and a bad quality of one thing: 很 漂亮 ， 但是 很 贵."""
    others = [other for other in adjectives_for(noun) if opposed(adjective, other)]
    if not others:
        return None
    other = draw.choice(others)
    described = draw_noun_phrase(draw, noun, draw.choice(("this", "that", "these")), 0.0)
    first = predicate(described, adjective)
    en = (*first.en, "but", IT[described.pronoun][0], BE[described.agreement], other.en)
    combinations = frozenset({(adjective.zh, noun.zh), (other.zh, noun.zh)})
    return Sentence((*first.zh, "，", "但是", "很", other.zh), en, combinations)


def opposed(one: Adjective, other: Adjective) -> bool:
    """Whether one quality is good and the other bad, on different scales."""
    sides = [("good" in a.traits) - ("bad" in a.traits) for a in (one, other)]
    return sides[0] * sides[1] < 0 and {one.zh, other.zh} != {"贵", "便宜"}


def owner_of(draw: Draw, subject: NounPhrase, noun: Noun, adjective: Adjective) -> Sentence | None:
    """Somebody has something, and it has a quality: 他 有 一 本 书 ， 很 有趣."""
    animal = "animal" in noun.kinds
    kept = noun.kinds & {"pet", "clothes", "vehicle", "gadget", "book", "photo"}
    if not kept or not suits(noun, subject):
        return None
    owned = draw_noun_phrase(draw, noun, draw.choice(("one", "number")) if animal else "one", 0.0)
    name: Words = (owned.pronoun,) if animal else ()
    it = NounPhrase(name, (IT[owned.pronoun][0],), owned.agreement, (), ())
    second = predicate(it, adjective)
    has = "has" if subject.agreement == "he" else "have"
    combinations = subject.combinations | {(adjective.zh, noun.zh)}
    zh = (*subject.zh, "有", *owned.zh, "，", *second.zh)
    return Sentence(zh, (*subject.en, has, *owned.en, "and", *second.en), combinations)


def predicate(subject: NounPhrase, adjective: Adjective) -> Sentence:
    """The subject with the adjective: 很 贵, 是 红 的."""
    zh: Words = ("是", adjective.zh, "的") if adjective.color else ("很", adjective.zh)
    return copular_clause("statement", subject, zh, (adjective.en,))


# The English of each Chinese pronoun, as a subject and as an object.
IT = {
    "它": ("it", "it"),
    "它们": ("they", "them"),
    "他": ("he", "him"),
    "她": ("she", "her"),
    "他们": ("they", "them"),
}
KINDS = (
    *[event] * 16,
    *[describe] * 8,
    *[there_is, is_at, identity, have, like, go] * 2,
    *[call, give, idiom, idiom, animal_event, two_clauses, two_clauses],
    like,
)


def draw_sentence(draw: Draw) -> Sentence:
    """Draw a sentence of any kind; draw again until its parts fit together."""
    while True:
        sentence = finish(draw.choice(KINDS)(draw))
        if sentence is not None:
            return sentence


def finish(sentence: Sentence | None) -> Sentence | None:
    """Return the sentence with its spelling adjusted, or None if its parts did not fit together.

    No sentence names two mothers or two drivers, because they would seem to be the same person.
    """
    named = [word for word in sentence.zh if word in people] if sentence else []
    if sentence is None or len(named) > len(set(named)):
        return None
    return Sentence(sentence.zh, adjust_spelling(sentence.en), sentence.combinations)


def adjust_spelling(en: Words) -> Words:
    """Write *an* before a vowel, and *cannot* as one word."""
    if "a" not in en and "can" not in en:
        return en
    spelled = [
        "an" if word == "a" and following[0] in "aeiou" else word
        for word, following in zip(en, (*en[1:], "."), strict=True)
    ]
    return tuple(" ".join(spelled).replace("can not", "cannot").split())
