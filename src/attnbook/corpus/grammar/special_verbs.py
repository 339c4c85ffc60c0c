"""Verbs with rules of their own: have, like, know, go, call, give; and the verbs of animals."""

from dataclasses import replace

from attnbook.corpus.grammar.clauses import Sentence, VerbPhrase, verb_clause
from attnbook.corpus.grammar.lexicon import (
    animal_verbs,
    cities,
    nouns,
    places,
    vehicles,
    verbs,
)
from attnbook.corpus.grammar.noun_phrases import (
    HOW_MANY,
    NOT_OWNED,
    TWO,
    Draw,
    draw_noun_phrase,
    draw_other_person,
    goes_to,
    is_plural,
    noun_phrase,
    nouns_of_kind,
    suits,
)
from attnbook.corpus.grammar.verb_phrases import (
    FORMS,
    draw_subject,
    make_verb,
    set_phrase,
)

GO = make_verb("去", "go goes went going", "go")
GO_FAR = replace(GO, traits=frozenset({"week", "year"}))
GO_HOME = replace(GO, zh=("回",))
HAVE = make_verb("有", "have has had having")
LIKE = make_verb("喜欢", "like likes liked liking")
KNOW = make_verb("认识", "know knows knew knowing")
CALL = make_verb("打", "call calls called calling", traits="daily")
GIVE = make_verb("送给", "give gives gave giving")
# What people ask about ("do you have a dictionary?"), and what they say they have.
HAD: dict[str, tuple[str, ...]]
HAD = dict.fromkeys(("negative", "yes_no", "who"), ("belonging", "pet", "hat"))
HAD |= {"count": ("clothes", "book", "pet"), "statement": ("belonging", "pet", "clothes", "book")}
LIKED_KINDS = (  # "likes apples"
    *("fruit", "egg", "dish", "soup", "drink", "sauce", "fish", "book", "paper", "film"),
    *("clothes", "car", "flower", "tree", "animal", "language"),
)
LIKED_ONES = (
    "dish",
    "soup",
    "drink",
    "book",
    "paper",
    "film",
    "song",
    "clothes",
    "vehicle",
    "furniture",
    "gadget",
    "flower",
    "tree",
    "animal",
    "photo",
    "gift",
)  # "this song"


def animal_event(draw: Draw) -> Sentence | None:
    """An animal does something: a statement, a negation or a yes-no question."""
    verb = draw.choice(animal_verbs)
    form = draw.choice(("statement", "statement", "negative", "yes_no"))
    tense = draw.choice(("past", "now")) if verb.kinds else "now"
    animal = draw.choice(nouns_of_kind(*sorted(verb.traits)))
    determiner = draw.choice(("the", "this", "that", "those", "own"))
    subject = draw_noun_phrase(draw, animal, determiner, 0.0 if determiner == "the" else 0.2)
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
    draw.expect_one(*HAVE.forms)
    form = draw.choice(
        ("statement", "statement", "statement", "negative", "yes_no", "count", "who")
    )
    subject = draw_subject(draw, form)
    relatives = [noun for noun in nouns if noun.zh in ("哥哥", "姐姐", "朋友", "孩子")]
    is_relative = draw.chance(0.3)
    noun = draw.choice(relatives if is_relative else nouns_of_kind(*HAD[form]))
    if noun.zh == subject.noun or (is_plural(subject) and subject.noun):
        return None  # each of several teachers has a book of their own
    if noun.zh == "孩子" and subject.noun in ("学生", "同学", "奶奶", "爸爸", "妈妈"):
        return None
    if "car" in noun.kinds and subject.noun in ("孩子", "学生"):
        return None
    if form == "count":
        object_phrase = noun_phrase(noun, "number", number=HOW_MANY)
        verb_phrase = VerbPhrase(HAVE, object_phrase.zh, question_words=("how", *object_phrase.en))
        return verb_clause(draw, form, "have", subject, verb_phrase)
    if form == "statement":
        numbers = ["number", "many"] if noun.kinds & {"clothes", "book", "paper", "photo"} else []
        shared = suits(noun, subject)
        if ("skirt" in noun.kinds and not shared) or not (shared or numbers):
            return None
        choices = [*numbers, *(["one"] if shared else [])]
        if is_relative or "pet" in noun.kinds:
            choices = ["one", "one", "number"]
        determiner = draw.choice(choices)
        plain = determiner != "one" or "clothes" not in noun.kinds
        object_phrase = draw_noun_phrase(draw, noun, determiner, 0.3 if plain else 1.0)
    else:
        takes_any = noun.zh in ("孩子", "朋友")
        object_phrase = noun_phrase(
            noun, ("plural" if form == "who" else "any") if takes_any else "a"
        )
    verb_phrase = VerbPhrase(
        HAVE, object_phrase.zh, object_phrase.en, combinations=object_phrase.combinations
    )
    return verb_clause(draw, form, "have", subject, verb_phrase)


def like(draw: Draw) -> Sentence | None:
    """Somebody knows a person, or likes a person, a thing or an activity."""
    draw.expect_one(*LIKE.forms, *KNOW.forms)
    form = draw.choice(
        ("statement",) * 4 + ("negative", "negative", "yes_no", "yes_no", "what", "who", "why")
    )
    subject = draw_subject(draw, form)
    kind = draw.choice(("person", "know", "things", "things", "this", "doing", "doing"))
    if kind in ("person", "know"):
        person = draw_other_person(draw, subject)
        draw.expect(person.object_form if person and form != "what" else ())
        generic = person is not None and person.en[0] == "the"
        if person is not None and kind == "know" and person.zh[0] == subject.zh[0]:
            return None  # everybody knows their own mother
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
        pointed_at = kind == "this"
        noun = draw.choice(
            nouns_of_kind(*LIKED_ONES) if pointed_at else nouns_of_kind(*LIKED_KINDS)
        )
        determiner = "plural"
        if pointed_at:
            determiner = draw.choice(("this", "that", "these", "those", "own"))
        if determiner == "own" and noun.kinds & NOT_OWNED:
            return None
        object_phrase = draw_noun_phrase(draw, noun, determiner, 0.4)
        verb_phrase = VerbPhrase(
            LIKE, object_phrase.zh, object_phrase.en, combinations=object_phrase.combinations
        )
    return verb_clause(draw, form, "state", subject, verb_phrase)


def draw_infinitive(draw: Draw) -> VerbPhrase:
    """*Like* with an infinitive: 喜欢 看 书, likes to read books."""
    verb = draw.choice([v for v in verbs if "fun" in v.traits])
    verb_phrase = VerbPhrase(LIKE, verb.zh, ("to", *verb.base))
    if not verb.kinds:
        return verb_phrase
    noun = draw.choice(nouns_of_kind(*sorted(verb.kinds)))
    object_phrase = noun_phrase(noun, "plural")
    phrase = set_phrase(VerbPhrase(verb, object_phrase.zh, object_phrase.en))
    pair = frozenset({(verb.zh[0], noun.zh)})
    return replace(
        verb_phrase,
        zh=(*verb_phrase.zh, *phrase.zh),
        en=(*verb_phrase.en, *phrase.en),
        combinations=pair,
    )


def go(draw: Draw) -> Sentence | None:
    """Somebody goes somewhere, perhaps by vehicle: 坐 火车 去 北京, to beijing by train."""
    draw.expect_one(*GO.forms)
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
    if not goes_to(subject, place):
        return None
    verb = GO_FAR if far else GO_HOME if place.zh == ("家",) else GO
    fitting = [vehicle for vehicle in vehicles if vehicle[2] == ("city" if far else "near")]
    ride, by, _ = draw.choice(fitting) if draw.chance(0.35) else ((), (), "")
    verb_phrase = VerbPhrase(verb, place.zh, place.to, verb is GO_HOME, ride, by, goal=place)
    return verb_clause(draw, form, tense, subject, verb_phrase)


def call(draw: Draw) -> Sentence | None:
    """Somebody calls somebody: 给 他 打 电话, word for word "give him hit telephone"."""
    draw.expect_one(*CALL.forms)
    form = draw.choice([form for form in FORMS if form not in ("what", "count")])
    tense = draw.choice(("past", "past", "future", "want", "now", "habit", "habit"))
    subject = draw_subject(draw, form)
    person = draw_other_person(draw, subject)
    draw.expect(person.object_form if person else ())
    if person is None or (tense == "habit" and person.zh[0] in ("这", "那")):
        return None
    if form == "why" and tense in ("now", "future", "habit"):
        return None
    verb_phrase = VerbPhrase(CALL, ("电话",), person.object_form, before=("给", *person.zh))
    return verb_clause(
        draw, form, tense, subject, replace(verb_phrase, combinations=person.combinations)
    )


def give(draw: Draw) -> Sentence | None:
    """Somebody gives something: 送给 他 一 本 书.

    A definite thing precedes the verb, after 把: 把 这 本 书 送给 他, to give this book to him.
    """
    draw.expect_one(*GIVE.forms)
    form = draw.choice(("statement", "statement", "statement", "negative", "who", "yes_no"))
    subject = draw_subject(draw, form)
    recipient = draw_other_person(draw, subject)
    draw.expect(recipient.object_form if recipient else ())
    noun = draw.choice(
        nouns_of_kind("gift", "flower", "book", "clothes", "ticket", "pet", "photo", "tool")
    )
    if recipient is None or not suits(noun, recipient) or (subject.noun and is_plural(subject)):
        return None
    if is_plural(recipient) and not noun.kinds & {"gift"}:
        return None
    definite = form in ("negative", "yes_no") or draw.chance(0.4)
    fitting = ("this", "that", "own") if definite else ("one", "one", "number")
    determiner = draw.choice([d for d in fitting if d != "own" or not noun.kinds & NOT_OWNED])
    own = determiner == "own"
    if own and (subject.zh == ("谁",) or not suits(noun, subject) or subject.noun):
        return None
    number = TWO if determiner == "number" else None
    thing = noun_phrase(noun, determiner, number=number, owner=subject if own else recipient)
    given = VerbPhrase(
        GIVE,
        (*recipient.zh, *thing.zh),
        (*recipient.object_form, *thing.en),
        combinations=recipient.combinations,
    )
    if definite:
        to = ("to", *recipient.object_form)
        given = replace(given, zh=recipient.zh, en=(*thing.en, *to), before=("把", *thing.zh))
    tense = draw.choice(("past", "past", "future", "want"))
    return verb_clause(draw, form, tense, subject, given)
