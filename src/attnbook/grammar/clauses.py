"""Clauses: tense and order in English, and what Chinese says in their place."""

from dataclasses import dataclass

from attnbook.grammar.lexicon import Place, Verb, Words, places, times
from attnbook.grammar.phrases import Combinations, Draw, Phrase, somebody_else


@dataclass(frozen=True)
class Sentence:
    """One sentence in both languages, and the combinations of words in it."""

    zh: Words
    en: Words
    combinations: Combinations = frozenset()


@dataclass(frozen=True)
class Act:
    """A verb with its object, before anybody does it at some time and place.

    `zh` and `en` are the object. If it is `bare`, without a determiner, 了 stands behind it.
    `before` stands before the Chinese verb, `behind` behind the English object, and `asked` opens
    the English question.
    """

    verb: Verb
    zh: Words = ()
    en: Words = ()
    bare: bool = False
    before: Words = ()
    behind: Words = ()
    asked: Words = ()
    combinations: Combinations = frozenset()


BE = {"i": "am", "he": "is", "they": "are"}
WAS = {"i": "was", "he": "was", "they": "were"}
# What stands before the Chinese verb in each tense: when it is so, and when it is not.
SIGNS: dict[str, tuple[Words, Words]] = {
    "habit": ((), ("不",)),
    "past": ((), ("没",)),
    "future": (("会",), ("不", "会")),
    "now": (("在",), ("没", "在")),
    "want": (("想",), ("不", "想")),
    "can": (("会",), ("不", "会")),
    "state": ((), ("不",)),  # like, know: neither done every day nor being done
    "have": ((), ("没",)),
}
SOCIAL = {"eat", "drink", "watch", "sport", "swim", "sing", "study", "listen", "cook", "go"}
# How likely a time is told; where it must be, Chinese has no other sign of the tense.
TIMED = {"past": 0.75, "future": 1.0, "want": 0.25, "now": 0.25, "habit": 0.5}


def english(
    subject: Words, helper: str, rest: Words, simple: Words, negative: bool, asked: Words | None
) -> Words:
    """Order an English clause; `asked` opens a question, and () asks for yes or no."""
    no: Words = ("not",) if negative else ()
    if asked is not None:
        return (*asked, helper, *subject, *no, *rest)
    return (*subject, helper, *no, *rest) if negative else (*subject, *simple)


def inflect(verb: Verb, tense: str, agree: str) -> tuple[str, Words, Words]:
    """The verb's helper and rest, for questions and negation, and its simple form."""
    he = agree == "he"
    does = "does" if he else "do"
    match tense:
        case "now":
            return BE[agree], verb.ing, (BE[agree], *verb.ing)
        case "future":
            return "will", verb.base, ("will", *verb.base)
        case "can":
            return "can", verb.base, ("can", *verb.base)
        case "past":
            return "did", verb.base, verb.past
        case "want":
            to = ("to", *verb.base)
            return does, ("want", *to), ("wants" if he else "want", *to)
    return does, verb.base, verb.third if he else verb.base


def be(
    form: str, subject: Phrase, zh: Words, en: Words, day: tuple[Words, Words] = ((), ())
) -> Sentence:
    """Say, deny or ask that somebody or something is so; a day makes it past."""
    helper = (WAS if day[0] else BE)[subject.agree]
    asked: Words | None = {"yes_no": (), "where": ("where",), "who": ("who",)}.get(form)
    said = english(subject.en, helper, en, (helper, *en), form == "deny", asked)
    chinese = (*subject.zh, *day[0], *(("不",) if form == "deny" else ()), *zh)
    if asked is None:
        return Sentence(chinese, (*said, *day[1]), subject.combinations)
    chinese = (*chinese, *(("吗",) if form == "yes_no" else ()), "？")
    return Sentence(chinese, (*said, *day[1], "?"), subject.combinations)


def tell(draw: Draw, form: str, tense: str, subject: Phrase, act: Act) -> Sentence:
    """Say, deny or ask that somebody does something, now and then with place, time and company."""
    negative, question = form in ("deny", "why"), form not in ("tell", "deny")
    place = a_place(draw, form, tense, act)
    with_zh, with_en = company(draw, tense, subject, act)
    time_zh, time_en = a_time(draw, form, tense, act, bool(place))
    often = tense == "habit" and not (time_zh or negative or form == "where")
    often = often and (form != "yes_no" or place is not None or draw.chance(0.3))
    sign = SIGNS[tense][negative]
    if tense == "now" and place:
        sign = sign[:-1]  # one 在 is enough: 现在 在 家 睡觉
    if tense == "past" and not negative:
        verb = (*act.verb.zh, *act.zh, "了") if act.bare else (*act.verb.zh, "了", *act.zh)
    else:
        verb = (*act.verb.zh, *act.zh)
    first, second = subject.zh, time_zh
    if form != "who" and draw.chance(0.25):
        first, second = second, first
    chinese = (
        *first,
        *second,
        *(("为什么",) if form == "why" else ()),
        *(("经常",) if often else ()),
        *sign,
        *with_zh,
        *(("在", *place.zh) if place else ()),
        *act.before,
        *verb,
        *(("吗",) if form == "yes_no" else ()),
        *(("？",) if question else ()),
    )
    helper, rest, simple = inflect(act.verb, tense, subject.agree)
    if often:
        rest, simple = ("often", *rest), ("often", *simple)
    asked = {"yes_no": (), "why": ("why",), "tell": None, "deny": None, "who": None}
    said = (
        *english(subject.en, helper, rest, simple, negative, asked.get(form, act.asked)),
        *act.en,
        *act.behind,
        *with_en,
        *(place.at if place else ()),
        *time_en,
        *(("?",) if question else ()),
    )
    return Sentence(chinese, said, subject.combinations | act.combinations)


def a_place(draw: Draw, form: str, tense: str, act: Act) -> Place | None:
    """A place that fits, sometimes."""
    if tense == "can" or form == "where" or (tense == "habit" and form in ("deny", "why")):
        return None
    fit = [place for place in places if act.verb.activity in place.activities]
    return draw.one(fit) if fit and draw.chance(0.4) else None


def a_time(draw: Draw, form: str, tense: str, act: Act, placed: bool) -> tuple[Words, Words]:
    """A time that fits the tense: always where nothing else would show it, else sometimes."""
    needed = (tense == "now" and placed) or (tense == "past" and act.bare)
    free = form == "where" or (tense == "habit" and form in ("deny", "why"))
    if free or not (draw.chance(TIMED.get(tense, 0.0)) or needed):
        return (), ()
    wanted = "future" if tense == "want" else tense
    fit = [t for t in times if t.tense == wanted and t.span in ("day", *act.verb.traits)]
    time = draw.one(fit)
    return time.zh, time.en


def company(draw: Draw, tense: str, subject: Phrase, act: Act) -> tuple[Words, Words]:
    """Who else takes part, now and then: 和 她 一起, with her."""
    alone = tense in ("now", "can") or "给" in act.before or act.verb.activity not in SOCIAL
    if alone or not draw.chance(0.15):
        return (), ()
    other = somebody_else(draw, subject)
    return ((), ()) if other is None else (("和", *other.zh, "一起"), ("with", *other.as_object))
