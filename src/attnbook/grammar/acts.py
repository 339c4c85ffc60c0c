"""Somebody does something to something: any verb of the table, in any tense, told or asked."""

from dataclasses import replace

from attnbook.grammar.clauses import Act, Sentence, tell
from attnbook.grammar.lexicon import (
    Noun,
    Verb,
    split,
    verbs,
)
from attnbook.grammar.phrases import (
    HOW_MANY,
    NOBODYS,
    PEOPLE,
    Draw,
    Phrase,
    noun_phrase,
    of_kinds,
    people,
    several,
    somebody_else,
    someone,
    thing,
)

FORMS = ("tell",) * 9 + ("deny",) * 3 + ("yes_no",) * 3 + ("what", "what", "who", "count", "why")
EATEN = {"fruit", "egg", "drink", "dish"}
MANY = {*EATEN, "fish", "sauce", "song", "letter", "film", "flower", "book"}  # did he buy any?
unclear = {v.zh for v in verbs for w in verbs if v.zh == w.zh and v.base != w.base}


def verb(zh: str, forms: str, activity: str = "-", traits: str = "") -> Verb:
    """A verb that has a rule of its own."""
    base, third, past, ing = (split(form) for form in forms.split())
    return Verb(split(zh), base, third, past, ing, frozenset(), activity, frozenset(traits.split()))


def subject_of(draw: Draw, form: str) -> Phrase:
    """Who does it; nobody asks about himself or what is his."""
    if form == "who":
        return Phrase(("谁",), ("who",), "he", (), ())
    while True:
        subject = someone(draw)
        if form in ("tell", "deny") or subject.zh[0] not in ("我", "我们"):
            return subject


def tenses_of(verb: Verb) -> list[str]:
    """The tenses in which people say this."""
    if "fact" in verb.traits:
        return ["past"]
    special = (("habit", "habit"),) * 3 + (("now", "now"), ("skill", "can"))
    also = [tense for trait, tense in special if trait in verb.traits]
    return ["past", "past", "future", "want", *also]


def determiners(verb: Verb, noun: Noun, tense: str, told: bool) -> list[str]:
    """How the object of a verb may be introduced: told, or asked and denied."""
    if noun.measure == "-":
        return [] if tense == "past" and told else ["a"]
    if "opening" in noun.kinds:
        return (
            ["the"] if tense in ("habit", "can") or not told else ["this", "that", "one", "number"]
        )
    bare = bare_form(verb) if tense == "habit" or noun.kinds & {"song", "fish"} else "a"
    if tense in ("habit", "can"):
        eaten = told and tense == "habit" and noun.kinds & EATEN
        return [bare, bare, "one", "number"] if eaten else [bare]
    own = ["own"] if "own" in verb.traits and not noun.kinds & NOBODYS else []
    if not told:
        return [any_or_a(noun) if tense == "past" else bare, "this", "that", *own]
    count = "count" in verb.traits and tense != "now"
    counted = ["number", "number", "many", "some"] if count else []
    return [*([] if tense == "past" else [bare]), "one", "this", "that", *own, *counted]


def bare_form(verb: Verb) -> str:
    """How English has a bare object where no single time is meant: reads books, rides a horse."""
    return "a" if "single" in verb.traits else "plural"


def any_or_a(noun: Noun) -> str:
    """What English puts before a bare noun that is asked for or denied."""
    return "any" if noun.kinds & MANY and "tool" not in noun.kinds else "a"


def event(draw: Draw) -> Sentence | None:
    """Somebody does something, or None where the draw does not fit."""
    verb, form = draw.one(verbs), draw.one(FORMS)
    tense, subject = draw.one(tenses_of(verb)), subject_of(draw, form)
    if form == "why" and tense not in ("past", "habit", "want"):
        return None
    act = act_of(draw, verb, form, tense, subject)
    if act is not None and act.asked == ("where",):
        form = "where"
    return None if act is None else tell(draw, form, tense, subject, act)


def act_of(draw: Draw, verb: Verb, form: str, tense: str, subject: Phrase) -> Act | None:
    """The verb with an object that fits, or None."""
    if not verb.kinds:
        if form == "what" and tense == "habit":
            return Act(verb, before=("在", "哪里"), asked=("where",))
        return None if form in ("what", "count") else Act(verb, bare=True)
    noun = draw.one(of_kinds(*sorted(verb.kinds)))
    pair = frozenset({(verb.zh[0], noun.zh)})
    if form == "count":
        if tense not in ("past", "future") or "count" not in verb.traits or noun.kinds & PEOPLE:
            return None
        many = noun_phrase(noun, "number", number=HOW_MANY)
        return Act(verb, many.zh, asked=("how", *many.en), combinations=pair)
    if form == "what" and (verb.zh in unclear or "unasked" in verb.traits or tense == "can"):
        return None
    if noun.kinds & PEOPLE:
        if form == "what":
            return Act(verb, ("谁",), asked=("who",))
        other = somebody_else(draw, subject)
        if other is None or (tense == "habit" and other.zh[0] in ("这", "那")):
            return None
        whom = frozenset((verb.zh[0], word) for word in other.zh if word in people)
        return Act(verb, other.zh, other.as_object, combinations=whom | other.combinations)
    if form == "what":
        return Act(verb, ("什么",), asked=("what",))
    fit = determiners(verb, noun, tense, form in ("tell", "who"))
    if not fit:
        return None
    determiner = draw.one(fit)
    if determiner == "a" and noun.kinds & {"worn", "hat", "ticket"} and several(subject):
        determiner = "plural"
    bare = determiner in ("a", "any", "plural", "the")
    what = thing(draw, noun, determiner, 0.0 if bare else 0.4)
    act = Act(verb, what.zh, what.en, bare, combinations=pair | what.combinations)
    return for_somebody(draw, subject, act)


def for_somebody(draw: Draw, subject: Phrase, act: Act) -> Act:
    """Now and then a letter is written to somebody, or a thing bought for somebody: 给 他."""
    link = {"写": "to", "买": "for"}.get(act.verb.zh[0])
    other = somebody_else(draw, subject)
    if link is None or other is None or not draw.chance(0.3):
        return act
    made = act.combinations | other.combinations
    return replace(
        act, before=("给", *other.zh), behind=(link, *other.as_object), combinations=made
    )
