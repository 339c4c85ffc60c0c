"""Idioms, two clauses in one, and one sentence of any kind at random."""

from dataclasses import replace

from attnbook.grammar.acts import event, subject_of, verb
from attnbook.grammar.clauses import Act, Sentence, be, english, tell
from attnbook.grammar.doings import animal_event, call, give, go, have, like
from attnbook.grammar.lexicon import (
    Words,
    cities,
    colors,
    nouns,
)
from attnbook.grammar.phrases import (
    NOBODYS,
    PEOPLE,
    Draw,
    Phrase,
    describing,
    noun_phrase,
    of_kinds,
    someone,
    thing,
)
from attnbook.grammar.states import describe, identity, is_at, there_is

FIRE = verb("炒", "fire fires fired firing")
JOKE = verb("开", "joke jokes joked joking")
RAIN = verb("下", "rain rains rained raining")
SNOW = verb("下", "snow snows snowed snowing")


def idiom(draw: Draw) -> Sentence | None:
    """What no dictionary gives word by word: 下 雨, 炒 鱿鱼, 吃 醋, 开 玩笑."""
    kind = draw.one(("weather", "weather", "weather", "fire", "fire", "jealous", "joke"))
    form = draw.one(("tell", "tell", "deny", "yes_no"))
    if kind == "weather":
        what, falls = draw.one((("雨", RAIN), ("雪", SNOW)))
        city = draw.one((None, None, *cities))
        it = Phrase(city.zh if city else (), ("it",), "he", (), ())
        act = Act(falls, (what,), bare=True, behind=city.at if city else ())
        return tell(draw, form, draw.one(("past", "future", "now")), it, act)
    subject = subject_of(draw, form)
    if kind == "joke":
        return tell(
            draw, form, draw.one(("now", "habit")), subject, Act(JOKE, ("玩笑",), bare=True)
        )
    if kind == "jealous":
        said = be(form, subject, ("吃", "醋", "了"), ("jealous",))
        return replace(said, zh=(*subject.zh, "没", "吃", "醋")) if form == "deny" else said
    other = someone(draw, 0.7)
    owner = draw.one((subject, other))
    several_people = owner.agree == "they" and owner.zh not in (("你",), ("你们",), ("他们",))
    whose = "the" if several_people else draw.one(("the", "own"))
    boss = noun_phrase(of_kinds("boss")[0], whose, owner=owner)
    act = Act(FIRE, (*other.zh, "的", "鱿鱼"), other.as_object, combinations=other.combinations)
    return tell(draw, form, draw.one(("past", "past", "future")), boss, act)


def two_clauses(draw: Draw) -> Sentence | None:
    """Two clauses; the second speaks of the first's thing by a pronoun: 它, it."""
    subject = someone(draw, 0.8)
    noun = draw.one([noun for noun in nouns if describing(noun)])
    adjective = draw.one(describing(noun))
    so: Words = ("是", adjective.zh, "的") if adjective in colors else ("很", adjective.zh)
    made = subject.combinations | {(adjective.zh, noun.zh)}
    if draw.chance(0.5):
        if noun.kinds & {"kin", "opening"} or noun.zh in subject.zh:
            return None
        what = thing(draw, noun, draw.one(("this", "that", "these")), 0.0)
        thing_again = IT[what.again]
        does, likes = ("does", "likes") if subject.agree == "he" else ("do", "like")
        negative = draw.chance(0.4)
        second = english(
            subject.en, does, ("like", thing_again[1]), (likes, thing_again[1]), negative, None
        )
        first = be("tell", what, so, (adjective.en,))
        link: Words = ("，", "但是") if negative else ("，",)
        zh = (*first.zh, *link, *subject.zh, *(("不",) if negative else ()), "喜欢", what.again)
        return Sentence(zh, (*first.en, "but" if negative else "and", *second), made)
    if noun.kinds & (NOBODYS | PEOPLE):
        return None
    what = thing(draw, noun, draw.one(("one", "one", "number")), 0.0)
    it = Phrase((what.again,), (IT[what.again][0],), what.agree, (), ())
    second_clause = be("tell", it, so, (adjective.en,))
    has = "has" if subject.agree == "he" else "have"
    zh = (*subject.zh, "有", *what.zh, "，", *second_clause.zh)
    return Sentence(zh, (*subject.en, has, *what.en, "and", *second_clause.en), made)


# The pronouns that speak of a thing again, as a subject and behind a verb.
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


def sentence(draw: Draw) -> Sentence:
    """Draw a sentence of any kind; where a draw does not fit, draw again."""
    while True:
        made = draw.one(KINDS)(draw)
        if made is not None:
            return replace(made, en=smooth(made.en))


def smooth(en: Words) -> Words:
    """Write an before a vowel, and cannot as one word."""
    said = [
        "an" if word == "a" and following[0] in "aeiou" else word
        for word, following in zip(en, (*en[1:], "."), strict=True)
    ]
    return tuple(" ".join(said).replace("can not", "cannot").split())
