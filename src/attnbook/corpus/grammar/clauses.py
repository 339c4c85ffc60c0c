"""Clauses: tense and word order in English, and the words that express them in Chinese."""

import functools
from dataclasses import dataclass

from attnbook.corpus.grammar.lexicon import Place, Time, Verb, Words, places, times
from attnbook.corpus.grammar.noun_phrases import (
    Combinations,
    Draw,
    NounPhrase,
    draw_close_person,
    goes_to,
    is_plural,
)


@dataclass(frozen=True)
class Sentence:
    """One sentence in both languages, and the combinations of words in it."""

    zh: Words
    en: Words
    combinations: Combinations = frozenset()


@dataclass(frozen=True)
class VerbPhrase:
    """A verb with its object, without a subject, a time or a place.

    `zh` and `en` hold the object. If the object is `bare`, with no determiner in Chinese, 了
    follows it; otherwise 了 follows the verb. `before` precedes the Chinese verb, `after` follows
    the English object, and `question_words` open the English question. `daily` requires a time,
    such as "every day", and `goal` is the place that the subject goes to.
    """

    verb: Verb
    zh: Words = ()
    en: Words = ()
    bare: bool = False
    before: Words = ()
    after: Words = ()
    question_words: Words = ()
    combinations: Combinations = frozenset()
    daily: bool = False
    goal: Place | None = None


BE = {"i": "am", "he": "is", "they": "are"}
WAS = {"i": "was", "he": "was", "they": "were"}
TO_BE = tuple((form,) for form in (*BE.values(), *WAS.values()))
# What precedes the Chinese verb in each tense: in an affirmative clause, and in a negative one.
TENSE_MARKERS: dict[str, tuple[Words, Words]] = {
    "habit": ((), ("不",)),
    "past": ((), ("没",)),
    "future": (("会",), ("不", "会")),
    "now": (("在",), ("没", "在")),
    "want": (("想",), ("不", "想")),
    "can": (("会",), ("不", "会")),
    "state": ((), ("不",)),  # like, know: no habits, and nothing in progress
    "have": ((), ("没",)),
}
SOCIAL = {"watch", "sport", "swim", "sing", "study", "listen", "cook", "go"}
# How often a clause names a time: always if nothing else in Chinese shows the tense. A habit
# without a time has 经常, because 不 吃 alone sounds like a refusal, and 吃 吗 like an offer.
TIME_PROBABILITY = {"past": 0.85, "future": 1.0, "want": 0.3, "now": 0.25, "habit": 0.5}


def english_clause(
    subject: Words,
    auxiliary: str,
    rest: Words,
    simple: Words,
    negative: bool,
    question_words: Words | None,
) -> Words:
    """Order the words of an English clause.

    `question_words` open a question. () makes a yes-no question, and None a statement. `rest`
    follows the auxiliary, and `simple` is the complete verb of an affirmative statement.
    """
    no: Words = ("not",) if negative else ()
    if question_words is not None:
        return (*question_words, auxiliary, *subject, *no, *rest)
    return (*subject, auxiliary, *no, *rest) if negative else (*subject, *simple)


def inflect(verb: Verb, tense: str, agreement: str) -> tuple[str, Words, Words]:
    """The auxiliary and what follows it in questions and negation; then the affirmative verb."""
    third_person = agreement == "he"
    does = "does" if third_person else "do"
    match tense:
        case "now":
            return BE[agreement], verb.ing, (BE[agreement], *verb.ing)
        case "future":
            return "will", verb.base, ("will", *verb.base)
        case "can":
            return "can", verb.base, ("can", *verb.base)
        case "past":
            return "did", verb.base, verb.past
        case "want":
            to = ("to", *verb.base)
            return does, ("want", *to), ("wants" if third_person else "want", *to)
    return does, verb.base, verb.third if third_person else verb.base


def copular_clause(
    form: str, subject: NounPhrase, zh: Words, en: Words, day: tuple[Words, Words] = ((), ())
) -> Sentence:
    """A statement, negation or question with *to be*; with a `day`, in the past tense."""
    auxiliary = (WAS if day[0] else BE)[subject.agreement]
    question_words: Words | None = {"yes_no": (), "where": ("where",), "who": ("who",)}.get(form)
    english = english_clause(
        subject.en, auxiliary, en, (auxiliary, *en), form == "negative", question_words
    )
    chinese = (*subject.zh, *day[0], *(("不",) if form == "negative" else ()), *zh)
    if question_words is None:
        return Sentence(chinese, (*english, *day[1]), subject.combinations)
    chinese = (*chinese, *(("吗",) if form == "yes_no" else ()), "？")
    return Sentence(chinese, (*english, *day[1], "?"), subject.combinations)


def verb_clause(
    draw: Draw, form: str, tense: str, subject: NounPhrase, verb_phrase: VerbPhrase
) -> Sentence:
    """A clause with any other verb, as a statement, a negation or a question.

    A place, a time and a companion are added at random where they fit.
    """
    negative, question = form in ("negative", "why"), form not in ("statement", "negative")
    draw.expect(subject.en, verb_phrase.en, verb_phrase.after, verb_phrase.question_words)
    place = draw_place(draw, form, tense, subject, verb_phrase)
    draw.expect(place.at if place else ())
    with_zh, with_en = draw_companion(draw, tense, subject, verb_phrase, place)
    draw.expect(with_en)
    time_zh, time_en = draw_time(draw, form, tense, verb_phrase, place)
    draw.expect(time_en)
    often = tense == "habit" and not time_zh
    markers = TENSE_MARKERS[tense][negative]
    if tense == "now" and place:
        markers = markers[:-1]  # one 在 is enough: 现在 在 家 睡觉
    verb, zh_object = verb_phrase.verb.zh, verb_phrase.zh
    predicate = (*verb, *zh_object)
    if tense == "past" and not negative:
        predicate = (*predicate, "了") if verb_phrase.bare else (*verb, "了", *zh_object)
    first, second = subject.zh, time_zh
    if form != "who" and tense != "habit" and draw.chance(0.25):
        first, second = second, first
    chinese = (
        *first,
        *second,
        *(("为什么",) if form == "why" else ()),
        *markers,
        *(("经常",) if often else ()),
        *with_zh,
        *(("在", *place.zh) if place else ()),
        *verb_phrase.before,
        *predicate,
        *(("吗",) if form == "yes_no" else ()),
        *(("？",) if question else ()),
    )
    auxiliary, rest, simple = inflect(verb_phrase.verb, tense, subject.agreement)
    if often:
        rest, simple = ("often", *rest), ("often", *simple)
    openings = {"yes_no": (), "why": ("why",), "statement": None, "negative": None, "who": None}
    question_words = openings.get(form, verb_phrase.question_words)
    english = (
        *english_clause(subject.en, auxiliary, rest, simple, negative, question_words),
        *verb_phrase.en,
        *verb_phrase.after,
        *with_en,
        *(place.at if place else ()),
        *time_en,
        *(("?",) if question else ()),
    )
    return Sentence(chinese, english, subject.combinations | verb_phrase.combinations)


def draw_place(
    draw: Draw, form: str, tense: str, subject: NounPhrase, verb_phrase: VerbPhrase
) -> Place | None:
    """A place for what the subject does, or None if no place fits or none was drawn."""
    if tense == "can" or form == "where" or (tense == "now" and form == "negative"):
        return None
    fitting = [place for place in places_for(verb_phrase.verb.activity) if goes_to(subject, place)]
    fitting = [place for place in fitting if place.strangers.isdisjoint(verb_phrase.zh)]
    if subject.noun and is_plural(subject):
        fitting = [place for place in fitting if place.zh != ("家",)]  # a group has no shared home
    return draw.choice(fitting) if fitting and draw.chance(0.5) else None


@functools.cache
def places_for(activity: str) -> list[Place]:
    """The places that fit an activity."""
    return [place for place in places if activity in place.activities]


def draw_time(
    draw: Draw, form: str, tense: str, verb_phrase: VerbPhrase, place: Place | None
) -> tuple[Words, Words]:
    """A time that fits the tense, the verb and the place, or two empty tuples.

    If nothing else shows the tense, there is always a time.
    """
    verb, place = verb_phrase.verb, place or verb_phrase.goal
    needed = (tense == "now" and place is not None) or (tense == "past" and verb_phrase.bare)
    needed = needed or form == "where" or verb_phrase.daily
    if tense == "habit" and (form == "negative" or "daily" not in verb.traits):
        return (), ()
    if not (draw.chance(TIME_PROBABILITY.get(tense, 0.0)) or needed):
        return (), ()
    fixed = not verb_phrase.bare or "ongoing" in verb.traits or form in ("negative", "why")
    if tense == "want" and fixed:
        return (), ()
    spans = {"day", *(verb.traits & {"week", "year"})}
    if "day" not in verb.traits and not (place and "day" in place.traits):
        spans.add("evening")
    if "night" not in verb.traits:
        spans.add("morning")
    wanted = "future" if tense == "want" else tense
    time = draw.choice(times_for(wanted, frozenset(spans)))
    return time.zh, time.en


@functools.cache
def times_for(tense: str, spans: frozenset[str]) -> list[Time]:
    """The times of a tense, such as a day or a morning if those are the spans."""
    return [time for time in times if time.tense == tense and time.span in spans]


def draw_companion(
    draw: Draw, tense: str, subject: NounPhrase, verb_phrase: VerbPhrase, place: Place | None
) -> tuple[Words, Words]:
    """A person who takes part (和 她 一起, with her), or two empty tuples."""
    verb = verb_phrase.verb
    social = verb.activity in SOCIAL and "给" not in verb_phrase.before
    if not social or tense in ("now", "can") or not draw.chance(0.3):
        return (), ()
    companion = draw_close_person(draw, subject)
    place = place or verb_phrase.goal
    if companion is None or (place is not None and not goes_to(companion, place)):
        return (), ()
    return ("和", *companion.zh, "一起"), ("with", *companion.object_form)
