"""What people have, like, and do in ways that have rules of their own; what animals do."""

from dataclasses import replace

from attnbook.grammar.acts import FORMS, any_or_a, bare_form, subject_of, verb
from attnbook.grammar.clauses import Act, Sentence, tell
from attnbook.grammar.lexicon import (
    animal_verbs,
    cities,
    nouns,
    places,
    vehicles,
    verbs,
)
from attnbook.grammar.phrases import (
    HOW_MANY,
    NOBODYS,
    PEOPLE,
    Draw,
    noun_phrase,
    of_kinds,
    somebody_else,
    thing,
)

GO = verb("去", "go goes went going", "go")
GO_FAR = replace(GO, traits=frozenset({"week", "year"}))
GO_HOME = replace(GO, zh=("回",))
HAVE = verb("有", "have has had having")
LIKE = verb("喜欢", "like likes liked liking")
KNOW = verb("认识", "know knows knew knowing")
CALL = verb("打", "call calls called calling")
GIVE = verb("送给", "give gives gave giving")
NOT_HAD = (NOBODYS - {"sauce"}) | PEOPLE


def animal_event(draw: Draw) -> Sentence | None:
    """What animals do."""
    verb = draw.one(animal_verbs)
    form, tense = draw.one(("tell", "tell", "deny", "yes_no")), draw.one(("past", "now"))
    animal = draw.one(of_kinds(*sorted(verb.traits)))
    subject = thing(draw, animal, draw.one(("the", "this", "that", "those", "own")), 0.2)
    if not verb.kinds:
        return tell(draw, form, tense, subject, Act(verb, bare=True))
    noun = draw.one(of_kinds(*sorted(verb.kinds)))
    told = form == "tell" and tense == "past"
    determiner = (
        ("one" if noun.countable else "some") if told else "any" if tense == "past" else "plural"
    )
    what = noun_phrase(noun, determiner)
    pair = frozenset({(verb.zh[0], noun.zh)})
    act = Act(verb, what.zh, what.en, bare=not told, combinations=pair)
    return tell(draw, form, tense, subject, act)


def have(draw: Draw) -> Sentence | None:
    """What somebody has: 他 没 有 哥哥."""
    form = draw.one(("tell", "tell", "tell", "deny", "yes_no", "count", "who"))
    subject = subject_of(draw, form)
    relatives = [noun for noun in nouns if noun.zh in ("哥哥", "姐姐", "朋友", "孩子")]
    owned = [n for n in nouns if not n.kinds & (NOT_HAD)]
    owned = [n for n in owned if n.countable or (form != "count" and draw.chance(0.15))]
    noun = draw.one(relatives) if draw.chance(0.3) else draw.one(owned)
    if noun.zh in subject.zh:
        return None
    if form == "count":
        what = noun_phrase(noun, "number", number=HOW_MANY)
        act = Act(HAVE, what.zh, asked=("how", *what.en))
        return tell(draw, form, "have", subject, act)
    if form == "tell":
        few = noun in relatives
        what = thing(draw, noun, draw.one(("one", "one", "number", "number" if few else "many")))
    else:
        some = noun.zh in ("孩子", "朋友") or (form != "who" and any_or_a(noun) == "any")
        what = noun_phrase(noun, ("plural" if form == "who" else "any") if some else "a")
    return tell(
        draw, form, "have", subject, Act(HAVE, what.zh, what.en, combinations=what.combinations)
    )


def like(draw: Draw) -> Sentence | None:
    """Whom somebody knows or likes, and what."""
    form = draw.one(("tell",) * 4 + ("deny", "deny", "yes_no", "yes_no", "what", "who", "why"))
    subject = subject_of(draw, form)
    kind = draw.one(("person", "know", "things", "things", "this", "doing", "doing"))
    if kind in ("person", "know"):
        other = somebody_else(draw, subject)
        generic = other is not None and other.en[0] == "the"
        if other is None or generic or (kind == "know" and form in ("why", "what")):
            return None
        act = Act(LIKE if kind == "person" else KNOW, other.zh, other.as_object)
        if form == "what":
            act = Act(LIKE, ("谁",), asked=("who",))
        else:
            act = replace(act, combinations=other.combinations)
    elif form == "what":
        act = Act(LIKE, ("什么",), asked=("what",))
    elif kind == "doing":
        act = doing(draw)
    else:
        noun = draw.one(
            [n for n in nouns if not n.kinds & {*PEOPLE, "opening", "letter", "ticket"}]
        )
        determiner = draw.one(("this", "that", "these", "those", "own"))
        if (
            kind == "things"
            or noun.measure == "-"
            or (determiner == "own" and noun.kinds & NOBODYS)
        ):
            determiner = "plural"
        what = thing(draw, noun, determiner, 0.4)
        act = Act(LIKE, what.zh, what.en, combinations=what.combinations)
    return tell(draw, form, "state", subject, act)


def doing(draw: Draw) -> Act:
    """Something that somebody likes to do: 喜欢 看 书, likes to read books."""
    verb = draw.one([v for v in verbs if "habit" in v.traits and v.zh[0] != "帮助"])
    act = Act(LIKE, verb.zh, ("to", *verb.base))
    if not verb.kinds:
        return act
    noun = draw.one(of_kinds(*sorted(verb.kinds)))
    what = noun_phrase(noun, bare_form(verb))
    pair = frozenset({(verb.zh[0], noun.zh)})
    return replace(act, zh=(*act.zh, *what.zh), en=(*act.en, *what.en), combinations=pair)


def go(draw: Draw) -> Sentence | None:
    """Who goes where, and how: 坐 火车 去 北京, to beijing by train."""
    form = draw.one(FORMS)
    tense = draw.one(("past", "past", "future", "want"))
    if form == "count" or (form == "why" and tense == "future"):
        return None
    subject = subject_of(draw, form)
    if form == "what":
        return tell(draw, form, tense, subject, Act(GO, ("哪里",), asked=("where",)))
    far = draw.chance(0.4)
    place = draw.one(
        cities if far else [p for p in places if p.zh[0] not in ("厨房", "花园", "教室")]
    )
    verb = GO_FAR if far else GO_HOME if place.zh == ("家",) else GO
    fit = [vehicle for vehicle in vehicles if vehicle[2] == ("city" if far else "near")]
    ride, by, _ = draw.one(fit) if draw.chance(0.35) else ((), (), "")
    return tell(draw, form, tense, subject, Act(verb, place.zh, place.to, before=ride, behind=by))


def call(draw: Draw) -> Sentence | None:
    """给 他 打 电话: word by word "give him hit telephone", which is to call him."""
    form = draw.one([form for form in FORMS if form not in ("what", "count")])
    tense = draw.one(("past", "past", "future", "want", "now", "habit", "habit"))
    subject = subject_of(draw, form)
    other = somebody_else(draw, subject)
    if other is None or (form == "why" and tense in ("now", "future")):
        return None
    act = Act(CALL, ("电话",), other.as_object, before=("给", *other.zh))
    return tell(draw, form, tense, subject, replace(act, combinations=other.combinations))


def give(draw: Draw) -> Sentence | None:
    """Who gives whom what: 送给 他 一 本 书."""
    form = draw.one(("tell", "tell", "tell", "who", "yes_no"))
    subject = subject_of(draw, form)
    other = somebody_else(draw, subject)
    if other is None:
        return None
    noun = draw.one(of_kinds("gift", "flower", "book", "clothes", "hat", "ticket", "pet", "photo"))
    determiner = draw.one(
        ("this", "that") if form == "yes_no" else ("one", "one", "number", "this")
    )
    what = noun_phrase(noun, determiner, number=("两", "two") if determiner == "number" else None)
    act = Act(GIVE, (*other.zh, *what.zh), (*other.as_object, *what.en))
    act = replace(act, combinations=other.combinations)
    return tell(draw, form, draw.one(("past", "past", "future", "want")), subject, act)
