"""Verb phrases from the verb table: the object, its determiner, and the tenses of each verb."""

from dataclasses import replace

from attnbook.grammar.clauses import Sentence, VerbPhrase, verb_clause
from attnbook.grammar.lexicon import (
    Noun,
    Verb,
    split,
    verbs,
)
from attnbook.grammar.noun_phrases import (
    HOW_MANY,
    NOT_OWNED,
    PEOPLE,
    Draw,
    NounPhrase,
    draw_noun_phrase,
    draw_other_person,
    draw_person,
    is_plural,
    noun_phrase,
    nouns_of_kind,
    people,
)

FORMS = (
    ("statement",) * 9
    + ("negative",) * 3
    + ("yes_no",) * 3
    + ("what", "what", "who", "count", "why")
)
FOOD = {"fruit", "egg", "drink", "dish"}
WITH_ANY = {*FOOD, "fish", "sauce", "song", "letter", "film", "flower", "book"}  # did he buy any?
ambiguous = {v.zh for v in verbs for w in verbs if v.zh == w.zh and v.base != w.base}


def make_verb(zh: str, forms: str, activity: str = "-", traits: str = "") -> Verb:
    """A verb outside the table, from its Chinese and its four English forms."""
    base, third, past, ing = (split(form) for form in forms.split())
    return Verb(split(zh), base, third, past, ing, frozenset(), activity, frozenset(traits.split()))


def draw_subject(draw: Draw, form: str) -> NounPhrase:
    """The subject. In a question it is never 我 or 我们, or what belongs to them."""
    if form == "who":
        return NounPhrase(("谁",), ("who",), "he", (), ())
    while True:
        subject = draw_person(draw)
        if form in ("statement", "negative") or subject.zh[0] not in ("我", "我们"):
            return subject


def tenses_of(verb: Verb) -> list[str]:
    """The tenses that fit a verb; one that occurs more than once is likelier."""
    if "fact" in verb.traits:
        return ["past"]
    special = (("habit", "habit"),) * 3 + (("now", "now"), ("skill", "can"))
    further = [tense for trait, tense in special if trait in verb.traits]
    return ["past", "past", "future", "want", *further]


def determiners(verb: Verb, noun: Noun, tense: str, affirmative: bool) -> list[str]:
    """The determiners that fit the object; questions and negations allow others than statements.

    One that occurs more than once is likelier.
    """
    if noun.measure == "-":
        return [] if tense == "past" and affirmative else ["a"]
    if "opening" in noun.kinds:
        if tense in ("habit", "can") or not affirmative:
            return ["the"]
        return ["this", "that", "one", "number"]
    bare = bare_determiner(verb) if tense == "habit" or noun.kinds & {"song", "fish"} else "a"
    if tense in ("habit", "can"):
        food = affirmative and tense == "habit" and noun.kinds & FOOD
        return [bare, bare, "one", "number"] if food else [bare]
    own = ["own"] if "own" in verb.traits and not noun.kinds & NOT_OWNED else []
    if not affirmative:
        return [any_or_a(noun) if tense == "past" else bare, "this", "that", *own]
    count = "count" in verb.traits and tense != "now"
    counted = ["number", "number", "many", "some"] if count else []
    return [*([] if tense == "past" else [bare]), "one", "this", "that", *own, *counted]


def bare_determiner(verb: Verb) -> str:
    """The determiner of an object without one in Chinese: reads books, but rides a horse."""
    return "a" if "single" in verb.traits else "plural"


def any_or_a(noun: Noun) -> str:
    """The determiner of such an object in an English question or negation."""
    return "any" if noun.kinds & WITH_ANY and "tool" not in noun.kinds else "a"


def event(draw: Draw) -> Sentence | None:
    """A sentence with a verb of the table, or None if the draws do not fit together."""
    verb, form = draw.choice(verbs), draw.choice(FORMS)
    tense, subject = draw.choice(tenses_of(verb)), draw_subject(draw, form)
    if form == "why" and tense not in ("past", "habit", "want"):
        return None
    verb_phrase = draw_verb_phrase(draw, verb, form, tense, subject)
    if verb_phrase is not None and verb_phrase.question_words == ("where",):
        form = "where"
    return None if verb_phrase is None else verb_clause(draw, form, tense, subject, verb_phrase)


def draw_verb_phrase(
    draw: Draw, verb: Verb, form: str, tense: str, subject: NounPhrase
) -> VerbPhrase | None:
    """The verb with an object that fits, or None if the draws do not fit together."""
    if not verb.kinds:
        if form == "what" and tense == "habit":
            return VerbPhrase(verb, before=("在", "哪里"), question_words=("where",))
        return None if form in ("what", "count") else VerbPhrase(verb, bare=True)
    noun = draw.choice(nouns_of_kind(*sorted(verb.kinds)))
    pair = frozenset({(verb.zh[0], noun.zh)})
    if form == "count":
        if tense not in ("past", "future") or "count" not in verb.traits or noun.kinds & PEOPLE:
            return None
        how_many = noun_phrase(noun, "number", number=HOW_MANY)
        return VerbPhrase(
            verb, how_many.zh, question_words=("how", *how_many.en), combinations=pair
        )
    if form == "what" and (verb.zh in ambiguous or "unasked" in verb.traits or tense == "can"):
        return None
    if noun.kinds & PEOPLE:
        if form == "what":
            return VerbPhrase(verb, ("谁",), question_words=("who",))
        person = draw_other_person(draw, subject)
        if person is None or (tense == "habit" and person.zh[0] in ("这", "那")):
            return None
        person_pairs = frozenset((verb.zh[0], word) for word in person.zh if word in people)
        return VerbPhrase(
            verb, person.zh, person.object_form, combinations=person_pairs | person.combinations
        )
    if form == "what":
        return VerbPhrase(verb, ("什么",), question_words=("what",))
    fitting = determiners(verb, noun, tense, form in ("statement", "who"))
    if not fitting:
        return None
    determiner = draw.choice(fitting)
    if determiner == "a" and noun.kinds & {"worn", "hat", "ticket"} and is_plural(subject):
        determiner = "plural"
    bare = determiner in ("a", "any", "plural", "the")
    object_phrase = draw_noun_phrase(draw, noun, determiner, 0.0 if bare else 0.4)
    verb_phrase = VerbPhrase(
        verb,
        object_phrase.zh,
        object_phrase.en,
        bare,
        combinations=pair | object_phrase.combinations,
    )
    return add_recipient(draw, subject, verb_phrase)


def add_recipient(draw: Draw, subject: NounPhrase, verb_phrase: VerbPhrase) -> VerbPhrase:
    """Sometimes add the recipient of a letter or a purchase: 给 他, to him or for him."""
    preposition = {"写": "to", "买": "for"}.get(verb_phrase.verb.zh[0])
    recipient = draw_other_person(draw, subject)
    if preposition is None or recipient is None or not draw.chance(0.3):
        return verb_phrase
    combinations = verb_phrase.combinations | recipient.combinations
    return replace(
        verb_phrase,
        before=("给", *recipient.zh),
        after=(preposition, *recipient.object_form),
        combinations=combinations,
    )
