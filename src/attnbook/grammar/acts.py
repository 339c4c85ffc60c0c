"""What people do: a verb with its object, in a tense, asked or denied, at a place and a time."""

from dataclasses import dataclass, replace

from attnbook.grammar.phrases import (
    Combinations,
    Draw,
    Phrase,
    Place,
    Words,
    noun_phrase,
    of_kind,
    places,
    pronouns,
    someone,
    thing,
)
from attnbook.grammar.words import (
    CITIES,
    TIMES,
    VEHICLES,
    Noun,
    Verb,
    rows,
    split,
    verbs,
)


@dataclass(frozen=True)
class Sentence:
    """One sentence in both languages, and the combinations of words that it is made of."""

    zh: Words
    en: Words
    combinations: Combinations = frozenset()


@dataclass(frozen=True)
class Act:
    """A verb with all that belongs to it, before tense, time and place are known.

    `bare` says that the object has no determiner: then 了 stands behind it. `before` stands before
    the Chinese verb, `behind` behind the English object; `asked` is what opens a question.
    """

    verb: Verb
    zh: Words = ()
    en: Words = ()
    bare: bool = False
    before: Words = ()
    behind: Words = ()
    asked: Words | None = None
    combinations: Combinations = frozenset()


BE = {"i": "am", "he": "is", "they": "are"}
# What Chinese says for a tense, and for its negation.
MARKS: dict[str, tuple[Words, Words]] = {
    "habit": ((), ("不",)),
    "past": ((), ("没",)),
    "future": (("会",), ("不", "会")),
    "now": (("在",), ("没", "在")),
    "want": (("想",), ("不", "想")),
    "can": (("会",), ("不", "会")),
    "like": ((), ("不",)),
}
FORMS = ("tell",) * 9 + ("deny",) * 3 + ("yes_no",) * 3 + ("what", "what", "who", "count", "why")
SOCIAL = {"eat", "drink", "watch", "sport", "swim", "sing", "study", "listen", "cook"}
times = [(split(zh), split(en), when, *long) for zh, en, when, *long in rows(TIMES)]
cities = [Place(zh, split(at)) for zh, _, at in rows(CITIES)]
vehicles = [((ride, what), split(en)) for ride, what, en in rows(VEHICLES)]
unclear = {v.zh for v in verbs for w in verbs if v.zh == w.zh and v.base != w.base}
WHO = Phrase(("谁",), ("who",))
ASKED = ("你", "他", "她", "你们", "他们")  # nobody asks what he does himself


def finite(verb: Verb, tense: str, agree: str) -> tuple[str, Words, Words]:
    """The verb in a tense: helper and rest, for questions and negation, and its simple form."""
    he = agree == "he"
    if tense == "now":
        return BE[agree], verb.ing, (BE[agree], *verb.ing)
    if tense in ("future", "can"):
        helper = "will" if tense == "future" else "can"
        return helper, verb.base, (helper, *verb.base)
    if tense == "past":
        return "did", verb.base, verb.past
    if tense == "want":
        want = "wants" if he else "want"
        return "does" if he else "do", ("want", "to", *verb.base), (want, "to", *verb.base)
    return "does" if he else "do", verb.base, verb.third if he else verb.base


def english(
    subject: Words, helper: str, rest: Words, simple: Words, negative: bool, asked: Words | None
) -> Words:
    """Order an English clause; `asked` opens a question, () where the answer is yes or no."""
    no: Words = ("not",) if negative else ()
    if asked is not None:
        return (*asked, helper, *subject, *no, *rest)
    return (*subject, helper, *no, *rest) if negative else (*subject, *simple)


def tell(draw: Draw, form: str, tense: str, subject: Phrase, act: Act) -> Sentence:
    """Say that somebody does something: choose time and place, and order both languages."""
    negative = form in ("deny", "why")
    question = form not in ("tell", "deny")
    place = where(draw, form, tense, act)
    with_zh, with_en = company(draw, tense, subject, act)
    time = when(draw, form, tense, act, placed=bool(place))
    often = tense == "habit" and not time[0] and not negative and form != "where"
    often = often and (form in ("tell", "who", "what") or draw.chance(0.3))
    before = (*with_zh, *(("在", place.zh) if place else ()), *act.before)
    mark = MARKS[tense][negative]
    if tense == "now" and place and not negative:
        mark = ()  # one 在 is enough: 现在 在 家 睡觉
    verb = act.verb.zh
    if tense == "past" and not negative:
        verb = (*verb, *act.zh, "了") if act.bare else (*verb, "了", *act.zh)
    else:
        verb = (*verb, *act.zh)
    opening = [subject.zh, time[0]]
    if form != "who" and draw.chance(0.25):
        opening.reverse()
    zh = (
        *opening[0],
        *opening[1],
        *(("为什么",) if form == "why" else ()),
        *(("经常",) if often else ()),
        *mark,
        *before,
        *verb,
        *(("吗",) if form == "yes_no" else ()),
        *(("？",) if question else ()),
    )
    asked = {"yes_no": (), "why": ("why",)}.get(form, act.asked)
    helper, rest, simple = finite(act.verb, tense, subject.agree)
    if often:
        rest, simple = ("often", *rest), ("often", *simple)
    en = (
        *english(subject.en, helper, rest, simple, negative, asked),
        *act.en,
        *act.behind,
        *with_en,
        *(place.at if place else ()),
        *time[1],
        *(("?",) if question else ()),
    )
    return Sentence(zh, en, subject.combinations | act.combinations)


def where(draw: Draw, form: str, tense: str, act: Act) -> Place | None:
    """A place that fits, sometimes."""
    if tense == "can" or form == "where" or (tense == "habit" and form in ("deny", "why")):
        return None
    fit = [place for place in places if act.verb.activity in place.activities]
    return draw.one(fit) if fit and draw.chance(0.4) else None


def when(draw: Draw, form: str, tense: str, act: Act, placed: bool) -> tuple[Words, Words]:
    """A time that fits the tense, where one is needed, and often where it is not."""
    negative = form in ("deny", "why")
    chance = {"past": 0.75, "future": 1.0, "want": 0.25, "now": 1.0 if placed else 0.25}
    chance |= {"can": 0.0, "like": 0.0, "habit": 0.0 if negative or form == "where" else 0.5}
    if not draw.chance(chance[tense]):
        return (), ()
    wanted = "future" if tense == "want" else tense
    fit = [t for t in times if t[2] == wanted and (len(t) == 3 or "long" in act.verb.traits)]
    time = draw.one(fit)
    return time[0], time[1]


def company(draw: Draw, tense: str, subject: Phrase, act: Act) -> tuple[Words, Words]:
    """Who else is there: 和 她 一起, with her."""
    if tense in ("now", "can") or act.before or act.verb.activity not in SOCIAL:
        return (), ()
    other = somebody_else(draw, subject)
    if other is None or not draw.chance(0.15):
        return (), ()
    return ("和", *other.zh, "一起"), ("with", *other.object)


def somebody_else(draw: Draw, subject: Phrase) -> Phrase | None:
    """A person who is not the subject, or None if the draw gave the same."""
    other = someone(draw)
    same = other.zh[0] == subject.zh[0] or {other.en[-1], subject.en[-1]} <= {"i", "we"}
    same = same or {other.en[-1], subject.en[-1]} <= {"you"} or other.en[-1] == subject.en[-1]
    return None if same else other


def subject_of(draw: Draw, form: str) -> Phrase:
    """Who does it: in a question nobody who is asking."""
    if form == "who":
        return WHO
    subject = someone(draw)
    if form in ("tell", "deny"):
        return subject
    return pronouns[draw.one(ASKED)] if subject.en[0] in ("i", "we") else subject


def tenses_of(verb: Verb) -> list[str]:
    """The tenses in which people say this."""
    if "fact" in verb.traits:
        return ["past"]
    also = [
        t
        for t, trait in (("habit", "habit"), ("now", "now"), ("can", "skill"))
        if trait in verb.traits
    ]
    return ["past", "past", "future", "want", *also]


def determiners(verb: Verb, noun: Noun, tense: str, told: bool) -> list[str]:
    """How the object of a verb may be introduced, in this tense."""
    if noun.measure == "-":
        return [] if tense == "past" and told else ["a"]
    if tense == "can":
        return ["a"]
    own = ["own"] if "own" in verb.traits else []
    if tense == "habit":
        eaten = noun.kinds & {"fruit", "egg", "drink", "dish"}
        return ["plural", "plural", *(["one", "number"] if told and eaten else [])]
    if not told:
        return ["any" if tense == "past" else "a", "this", "that", *own]
    counted = (
        ["number", "number", "many", "some"] if "count" in verb.traits and tense != "now" else []
    )
    return [*(["a"] if tense != "past" else []), "one", "this", "that", *own, *counted]


def event(draw: Draw) -> Sentence | None:
    """Somebody does something to something, or None if the draw does not fit."""
    verb = draw.one(verbs)
    form, tense = draw.one(FORMS), draw.one(tenses_of(verb))
    subject = subject_of(draw, form)
    asking = form in ("what", "count")
    if form == "why" and tense not in ("past", "habit", "want"):
        return None
    if not verb.kinds:
        if asking and tense == "habit":
            return tell(
                draw, "where", tense, subject, Act(verb, before=("在", "哪里"), asked=("where",))
            )
        return None if asking else tell(draw, form, tense, subject, Act(verb, bare=True))
    noun = draw.one(of_kind(*sorted(verb.kinds)))
    pair = frozenset({("".join(verb.zh), noun.zh)})
    if noun.kinds & {"person", "kin"}:
        if form == "count":
            return None
        if form == "what":
            return tell(draw, form, tense, subject, Act(verb, ("谁",), asked=("who",)))
        other = somebody_else(draw, subject)
        if other is None or (tense == "habit" and other.zh[0] in ("这", "那")):
            return None
        return tell(
            draw,
            form,
            tense,
            subject,
            Act(verb, other.zh, other.object, combinations=other.combinations),
        )
    if form == "what":
        if verb.zh in unclear or tense == "can":
            return None
        return tell(draw, form, tense, subject, Act(verb, ("什么",), asked=("what",)))
    if form == "count":
        if tense not in ("past", "future") or "count" not in verb.traits:
            return None
        many = noun_phrase(noun, "number", number=("几", "how many"))
        asked = ("how", "many", *many.en[1:])
        return tell(draw, form, tense, subject, Act(verb, many.zh, asked=asked, combinations=pair))
    fit = determiners(verb, noun, tense, told=form in ("tell", "who"))
    if not fit:
        return None
    determiner = draw.one(fit)
    plain = determiner in ("a", "any", "plural")
    what = thing(draw, noun, determiner, 0.0 if plain else 0.35)
    act = Act(verb, what.zh, what.object, bare=plain, combinations=pair | what.combinations)
    return tell(draw, form, tense, subject, for_somebody(draw, subject, act))


def for_somebody(draw: Draw, subject: Phrase, act: Act) -> Act:
    """Now and then a letter is written to somebody, or a thing bought for somebody: 给 他."""
    link = {"写": "to", "买": "for"}.get(act.verb.zh[0])
    other = somebody_else(draw, subject)
    if link is None or other is None or not draw.chance(0.3):
        return act
    return replace(act, before=("给", *other.zh), behind=(link, *other.object))
