"""Idioms, sentences of two clauses, and a random sentence of any kind."""

from dataclasses import replace

from attnbook.grammar.clauses import (
    Sentence,
    VerbPhrase,
    copular_clause,
    english_clause,
    verb_clause,
)
from attnbook.grammar.copular_clauses import describe, identity, is_at, there_is
from attnbook.grammar.lexicon import (
    Words,
    cities,
    colors,
    nouns,
)
from attnbook.grammar.noun_phrases import (
    NOT_OWNED,
    PEOPLE,
    Draw,
    NounPhrase,
    adjectives_for,
    draw_noun_phrase,
    draw_person,
    noun_phrase,
    nouns_of_kind,
)
from attnbook.grammar.special_verbs import animal_event, call, give, go, have, like
from attnbook.grammar.verb_phrases import draw_subject, event, make_verb

FIRE = make_verb("炒", "fire fires fired firing")
JOKE = make_verb("开", "joke jokes joked joking")
RAIN = make_verb("下", "rain rains rained raining")
SNOW = make_verb("下", "snow snows snowed snowing")


def idiom(draw: Draw) -> Sentence | None:
    """An idiom, where word by word would be wrong: 下 雨, 炒 鱿鱼, 吃 醋, 开 玩笑."""
    kind = draw.choice(("weather", "weather", "weather", "fire", "fire", "jealous", "joke"))
    form = draw.choice(("statement", "statement", "negative", "yes_no"))
    if kind == "weather":
        noun, verb = draw.choice((("雨", RAIN), ("雪", SNOW)))
        city = draw.choice((None, None, *cities))
        it = NounPhrase(city.zh if city else (), ("it",), "he", (), ())
        verb_phrase = VerbPhrase(verb, (noun,), bare=True, after=city.at if city else ())
        return verb_clause(draw, form, draw.choice(("past", "future", "now")), it, verb_phrase)
    subject = draw_subject(draw, form)
    if kind == "joke":
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
    fired = draw_person(draw, 0.7)
    owner = draw.choice((subject, fired))
    several_people = owner.agreement == "they" and owner.zh not in (("你",), ("你们",), ("他们",))
    whose = "the" if several_people else draw.choice(("the", "own"))
    boss = noun_phrase(nouns_of_kind("boss")[0], whose, owner=owner)
    verb_phrase = VerbPhrase(
        FIRE, (*fired.zh, "的", "鱿鱼"), fired.object_form, combinations=fired.combinations
    )
    return verb_clause(draw, form, draw.choice(("past", "past", "future")), boss, verb_phrase)


def two_clauses(draw: Draw) -> Sentence | None:
    """Two clauses; a pronoun in the second refers to a thing of the first: 它, it."""
    subject = draw_person(draw, 0.8)
    noun = draw.choice([noun for noun in nouns if adjectives_for(noun)])
    adjective = draw.choice(adjectives_for(noun))
    predicate: Words = ("是", adjective.zh, "的") if adjective in colors else ("很", adjective.zh)
    combinations = subject.combinations | {(adjective.zh, noun.zh)}
    if draw.chance(0.5):
        if noun.kinds & {"kin", "opening"} or noun.zh in subject.zh:
            return None
        described = draw_noun_phrase(draw, noun, draw.choice(("this", "that", "these")), 0.0)
        pronoun = IT[described.pronoun]
        does, likes = ("does", "likes") if subject.agreement == "he" else ("do", "like")
        negative = draw.chance(0.4)
        second = english_clause(
            subject.en, does, ("like", pronoun[1]), (likes, pronoun[1]), negative, None
        )
        first = copular_clause("statement", described, predicate, (adjective.en,))
        link: Words = ("，", "但是") if negative else ("，",)
        zh = (
            *first.zh,
            *link,
            *subject.zh,
            *(("不",) if negative else ()),
            "喜欢",
            described.pronoun,
        )
        return Sentence(zh, (*first.en, "but" if negative else "and", *second), combinations)
    if noun.kinds & (NOT_OWNED | PEOPLE):
        return None
    owned = draw_noun_phrase(draw, noun, draw.choice(("one", "one", "number")), 0.0)
    it = NounPhrase((owned.pronoun,), (IT[owned.pronoun][0],), owned.agreement, (), ())
    second_clause = copular_clause("statement", it, predicate, (adjective.en,))
    has = "has" if subject.agreement == "he" else "have"
    zh = (*subject.zh, "有", *owned.zh, "，", *second_clause.zh)
    return Sentence(zh, (*subject.en, has, *owned.en, "and", *second_clause.en), combinations)


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
    *[describe] * 6,
    *[there_is, is_at, identity, have, like, go] * 2,
    *[call, give, idiom, idiom, animal_event, two_clauses],
    like,
)


def draw_sentence(draw: Draw) -> Sentence:
    """Draw a sentence of any kind; where the draws do not fit together, draw again."""
    while True:
        sentence = draw.choice(KINDS)(draw)
        if sentence is not None:
            return replace(sentence, en=adjust_spelling(sentence.en))


def adjust_spelling(en: Words) -> Words:
    """Write *an* before a vowel, and *cannot* as one word."""
    spelled = [
        "an" if word == "a" and following[0] in "aeiou" else word
        for word, following in zip(en, (*en[1:], "."), strict=True)
    ]
    return tuple(" ".join(spelled).replace("can not", "cannot").split())
