"""Verbs with rules of their own: have, like, know, go, call, give; and the verbs of animals."""

from dataclasses import replace

from attnbook.grammar.clauses import Sentence, VerbPhrase, verb_clause
from attnbook.grammar.lexicon import (
    animal_verbs,
    cities,
    nouns,
    places,
    vehicles,
    verbs,
)
from attnbook.grammar.noun_phrases import (
    HOW_MANY,
    NOT_OWNED,
    PEOPLE,
    Draw,
    draw_noun_phrase,
    draw_other_person,
    noun_phrase,
    nouns_of_kind,
)
from attnbook.grammar.verb_phrases import FORMS, any_or_a, bare_determiner, draw_subject, make_verb

GO = make_verb("去", "go goes went going", "go")
GO_FAR = replace(GO, traits=frozenset({"week", "year"}))
GO_HOME = replace(GO, zh=("回",))
HAVE = make_verb("有", "have has had having")
LIKE = make_verb("喜欢", "like likes liked liking")
KNOW = make_verb("认识", "know knows knew knowing")
CALL = make_verb("打", "call calls called calling")
GIVE = make_verb("送给", "give gives gave giving")
NEVER_HAD = (NOT_OWNED - {"sauce"}) | PEOPLE


def animal_event(draw: Draw) -> Sentence | None:
    """An animal does something, as a statement, a negation or a yes-no question."""
    verb = draw.choice(animal_verbs)
    form = draw.choice(("statement", "statement", "negative", "yes_no"))
    tense = draw.choice(("past", "now"))
    animal = draw.choice(nouns_of_kind(*sorted(verb.traits)))
    subject = draw_noun_phrase(
        draw, animal, draw.choice(("the", "this", "that", "those", "own")), 0.2
    )
    if not verb.kinds:
        return verb_clause(draw, form, tense, subject, VerbPhrase(verb, bare=True))
    noun = draw.choice(nouns_of_kind(*sorted(verb.kinds)))
    affirmative_past = form == "statement" and tense == "past"
    if affirmative_past:
        determiner = "one" if noun.countable else "some"
    else:
        determiner = "any" if tense == "past" else "plural"
    object_phrase = noun_phrase(noun, determiner)
    pair = frozenset({(verb.zh[0], noun.zh)})
    verb_phrase = VerbPhrase(
        verb, object_phrase.zh, object_phrase.en, bare=not affirmative_past, combinations=pair
    )
    return verb_clause(draw, form, tense, subject, verb_phrase)


def have(draw: Draw) -> Sentence | None:
    """Somebody has something: 他 没 有 哥哥."""
    form = draw.choice(
        ("statement", "statement", "statement", "negative", "yes_no", "count", "who")
    )
    subject = draw_subject(draw, form)
    relatives = [noun for noun in nouns if noun.zh in ("哥哥", "姐姐", "朋友", "孩子")]
    owned = [n for n in nouns if not n.kinds & NEVER_HAD]
    owned = [n for n in owned if n.countable or (form != "count" and draw.chance(0.15))]
    noun = draw.choice(relatives) if draw.chance(0.3) else draw.choice(owned)
    if noun.zh in subject.zh:
        return None
    if form == "count":
        object_phrase = noun_phrase(noun, "number", number=HOW_MANY)
        verb_phrase = VerbPhrase(HAVE, object_phrase.zh, question_words=("how", *object_phrase.en))
        return verb_clause(draw, form, "have", subject, verb_phrase)
    if form == "statement":
        is_relative = noun in relatives
        object_phrase = draw_noun_phrase(
            draw, noun, draw.choice(("one", "one", "number", "number" if is_relative else "many"))
        )
    else:
        takes_any = noun.zh in ("孩子", "朋友") or (form != "who" and any_or_a(noun) == "any")
        object_phrase = noun_phrase(
            noun, ("plural" if form == "who" else "any") if takes_any else "a"
        )
    verb_phrase = VerbPhrase(
        HAVE, object_phrase.zh, object_phrase.en, combinations=object_phrase.combinations
    )
    return verb_clause(draw, form, "have", subject, verb_phrase)


def like(draw: Draw) -> Sentence | None:
    """Somebody knows a person, or likes a person, a thing or doing something."""
    form = draw.choice(
        ("statement",) * 4 + ("negative", "negative", "yes_no", "yes_no", "what", "who", "why")
    )
    subject = draw_subject(draw, form)
    kind = draw.choice(("person", "know", "things", "things", "this", "doing", "doing"))
    if kind in ("person", "know"):
        person = draw_other_person(draw, subject)
        generic = person is not None and person.en[0] == "the"
        if person is None or generic or (kind == "know" and form in ("why", "what")):
            return None
        verb_phrase = VerbPhrase(LIKE if kind == "person" else KNOW, person.zh, person.object_form)
        if form == "what":
            verb_phrase = VerbPhrase(LIKE, ("谁",), question_words=("who",))
        else:
            verb_phrase = replace(verb_phrase, combinations=person.combinations)
    elif form == "what":
        verb_phrase = VerbPhrase(LIKE, ("什么",), question_words=("what",))
    elif kind == "doing":
        verb_phrase = draw_infinitive(draw)
    else:
        noun = draw.choice(
            [n for n in nouns if not n.kinds & {*PEOPLE, "opening", "letter", "ticket"}]
        )
        determiner = draw.choice(("this", "that", "these", "those", "own"))
        if (
            kind == "things"
            or noun.measure == "-"
            or (determiner == "own" and noun.kinds & NOT_OWNED)
        ):
            determiner = "plural"
        object_phrase = draw_noun_phrase(draw, noun, determiner, 0.4)
        verb_phrase = VerbPhrase(
            LIKE, object_phrase.zh, object_phrase.en, combinations=object_phrase.combinations
        )
    return verb_clause(draw, form, "state", subject, verb_phrase)


def draw_infinitive(draw: Draw) -> VerbPhrase:
    """*Like* with an infinitive: 喜欢 看 书, likes to read books."""
    verb = draw.choice([v for v in verbs if "habit" in v.traits and v.zh[0] != "帮助"])
    verb_phrase = VerbPhrase(LIKE, verb.zh, ("to", *verb.base))
    if not verb.kinds:
        return verb_phrase
    noun = draw.choice(nouns_of_kind(*sorted(verb.kinds)))
    object_phrase = noun_phrase(noun, bare_determiner(verb))
    pair = frozenset({(verb.zh[0], noun.zh)})
    return replace(
        verb_phrase,
        zh=(*verb_phrase.zh, *object_phrase.zh),
        en=(*verb_phrase.en, *object_phrase.en),
        combinations=pair,
    )


def go(draw: Draw) -> Sentence | None:
    """Somebody goes somewhere, sometimes by a vehicle: 坐 火车 去 北京, to beijing by train."""
    form = draw.choice(FORMS)
    tense = draw.choice(("past", "past", "future", "want"))
    if form == "count" or (form == "why" and tense == "future"):
        return None
    subject = draw_subject(draw, form)
    if form == "what":
        return verb_clause(
            draw, form, tense, subject, VerbPhrase(GO, ("哪里",), question_words=("where",))
        )
    far = draw.chance(0.4)
    place = draw.choice(
        cities if far else [p for p in places if p.zh[0] not in ("厨房", "花园", "教室")]
    )
    verb = GO_FAR if far else GO_HOME if place.zh == ("家",) else GO
    fitting = [vehicle for vehicle in vehicles if vehicle[2] == ("city" if far else "near")]
    ride, by, _ = draw.choice(fitting) if draw.chance(0.35) else ((), (), "")
    return verb_clause(
        draw, form, tense, subject, VerbPhrase(verb, place.zh, place.to, before=ride, after=by)
    )


def call(draw: Draw) -> Sentence | None:
    """Somebody calls somebody: 给 他 打 电话, word by word "give him hit telephone"."""
    form = draw.choice([form for form in FORMS if form not in ("what", "count")])
    tense = draw.choice(("past", "past", "future", "want", "now", "habit", "habit"))
    subject = draw_subject(draw, form)
    person = draw_other_person(draw, subject)
    if person is None or (form == "why" and tense in ("now", "future")):
        return None
    verb_phrase = VerbPhrase(CALL, ("电话",), person.object_form, before=("给", *person.zh))
    return verb_clause(
        draw, form, tense, subject, replace(verb_phrase, combinations=person.combinations)
    )


def give(draw: Draw) -> Sentence | None:
    """Somebody gives somebody something: 送给 他 一 本 书."""
    form = draw.choice(("statement", "statement", "statement", "who", "yes_no"))
    subject = draw_subject(draw, form)
    recipient = draw_other_person(draw, subject)
    if recipient is None:
        return None
    noun = draw.choice(
        nouns_of_kind("gift", "flower", "book", "clothes", "hat", "ticket", "pet", "photo")
    )
    determiner = draw.choice(
        ("this", "that") if form == "yes_no" else ("one", "one", "number", "this")
    )
    object_phrase = noun_phrase(
        noun, determiner, number=("两", "two") if determiner == "number" else None
    )
    verb_phrase = VerbPhrase(
        GIVE, (*recipient.zh, *object_phrase.zh), (*recipient.object_form, *object_phrase.en)
    )
    verb_phrase = replace(verb_phrase, combinations=recipient.combinations)
    return verb_clause(
        draw, form, draw.choice(("past", "past", "future", "want")), subject, verb_phrase
    )
