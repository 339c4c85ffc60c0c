"""Verb phrases from the verb table: the object, its determiner, and the tenses of each verb."""

from dataclasses import replace

from attnbook.corpus.grammar import words
from attnbook.corpus.grammar.clauses import Sentence, VerbPhrase, verb_clause
from attnbook.corpus.grammar.lexicon import (
    Noun,
    Verb,
    split,
    verbs,
)
from attnbook.corpus.grammar.noun_phrases import (
    HOW_MANY,
    NOT_OWNED,
    PEOPLE,
    Draw,
    NounPhrase,
    draw_close_person,
    draw_noun_phrase,
    draw_other_person,
    draw_person,
    is_plural,
    noun_phrase,
    nouns_of_kind,
    people,
    suits,
)

FORMS = (
    ("statement",) * 9
    + ("negative",) * 3
    + ("yes_no",) * 3
    + ("what", "what", "who", "count", "why")
)
MANY = {"song", "fish", "fruit", "egg", "flower", "ticket"}  # as in "does he want to buy eggs?"
FOOD = {"snack", "egg", "drink"}
WITH_ANY = {  # as in "did he buy any?"
    *("fruit", "egg", "drink", "dish", "soup", "fish", "song", "letter", "film"),
    *("flower", "tree", "animal", "book", "paper", "ticket"),
}
# Before a noun, these adjectives go with only some verbs: nobody buys an old shirt.
FITTING = {"热": "吃喝", "冷": "喝", "旧": "卖看修洗用找骑开穿戴"}
asked = [verb for verb in verbs if "unasked" not in verb.traits]
ambiguous = {v.zh for v in asked for w in asked if v.zh == w.zh and v.base != w.base}


def make_verb(zh: str, forms: str, activity: str = "-", traits: str = "") -> Verb:
    """A verb outside the table, from its Chinese and its four English forms."""
    base, third, past, ing = (split(form) for form in forms.split())
    return Verb(split(zh), base, third, past, ing, frozenset(), activity, frozenset(traits.split()))


def draw_subject(draw: Draw, form: str) -> NounPhrase:
    """Draw the subject, which never begins with 我 or 我们 in a question."""
    if form == "who":
        return NounPhrase(("谁",), ("who",), "he", (), ())
    subject = draw.until(draw_person, can_be_subject, form)
    draw.expect(subject.en)
    return subject


def can_be_subject(draw: Draw, subject: NounPhrase, form: str) -> bool:
    """Decide, sometimes at random, whether the person can be the subject in this form."""
    stated = form in ("statement", "negative")
    rare = 1.0 if form == "negative" else 0.9
    if subject.zh in (("你",), ("你们",)) and stated and draw.chance(rare):
        return False  # people are rarely told what they do
    return stated or subject.zh[0] not in ("我", "我们")


def tenses_of(verb: Verb) -> list[str]:
    """The tenses that fit a verb; a tense that occurs more than once is more probable."""
    if "fact" in verb.traits:
        return ["past", *({"now"} & verb.traits)]
    if "ongoing" in verb.traits:
        return ["now", "now", "want"]
    if "planned" in verb.traits:
        return ["now", "future", "want"]
    if "untimed" in verb.traits:
        return ["habit", "habit", "now", "can"]
    special = (("habit", "habit"),) * 3 + (("now", "now"), ("skill", "can"))
    further = [tense for trait, tense in special if trait in verb.traits]
    return ["past", "past", "future", "want", *further]


def determiners(verb: Verb, noun: Noun, tense: str, affirmative: bool) -> list[str]:
    """The determiners that fit the object; they differ between statements and other clauses.

    A determiner that occurs more than once is more probable.
    """
    if noun.measure == "-":
        return [] if tense == "past" and affirmative else ["a"]
    if "opening" in noun.kinds:
        return ["this", "that"] if tense == "past" and affirmative else ["the"]
    bare = bare_determiner(verb) if tense == "habit" or noun.kinds & MANY else "a"
    if tense == "can" or (tense == "habit" and "definite" not in verb.traits):
        food = affirmative and tense == "habit" and noun.kinds & FOOD and "daily" in verb.traits
        return [bare, bare, "one"] if food else [bare]
    own = ["own"] if "own" in verb.traits and not noun.kinds & NOT_OWNED else []
    definite = [*([] if "absent" in verb.traits else ["this"]), "that", *own]
    several = "many" in verb.traits and tense != "now" and affirmative
    counted = ["number", "number", "some", "many"] if several else []
    if "definite" in verb.traits:
        return [*definite, *counted]
    planned = tense == "future" or (tense == "now" and not affirmative)
    if "indefinite" in verb.traits or planned:
        definite = []
    if not affirmative:
        return [any_or_a(verb, noun) if tense == "past" else bare, *definite]
    single = [] if "sole" in verb.traits else ["one"]
    return [*([] if tense == "past" else [bare]), *single, *definite, *counted]


def bare_determiner(verb: Verb) -> str:
    """The English determiner where Chinese has none: reads books, but rides a horse."""
    return "a" if "single" in verb.traits else "plural"


def any_or_a(verb: Verb, noun: Noun) -> str:
    """The determiner in an English question or negation, where Chinese has none."""
    return "any" if noun.kinds & WITH_ANY and "single" not in verb.traits else "a"


def event(draw: Draw) -> Sentence | None:
    """A sentence with a verb of the table, or None if the draws do not fit together."""
    verb, form = draw.choice(verbs), draw.choice(FORMS)
    tense, subject = draw.choice(tenses_of(verb)), draw_subject(draw, form)
    if form == "why" and tense not in ("past", "want"):
        return None
    if form == "statement" and tense in ("now", "want") and subject.zh in (("你",), ("你们",)):
        return None  # people are rarely told what they are doing or want to do
    if "grown" in verb.traits and subject.noun in ("孩子", "学生", "奶奶"):
        return None
    if tense == "habit" and subject.noun and is_plural(subject):
        return None  # 学生 们 每天 … would need dōu
    verb_phrase = draw_verb_phrase(draw, verb, form, tense, subject)
    if verb_phrase is not None and verb_phrase.question_words == ("where",):
        form = "where"
    return None if verb_phrase is None else verb_clause(draw, form, tense, subject, verb_phrase)


def draw_verb_phrase(
    draw: Draw, verb: Verb, form: str, tense: str, subject: NounPhrase
) -> VerbPhrase | None:
    """The verb with an object that fits, or None if the draws do not fit together."""
    if not verb.kinds:
        if form == "what" and tense == "habit" and "daily" in verb.traits:
            return VerbPhrase(verb, before=("在", "哪里"), question_words=("where",))
        everyday = tense == "habit" and "everyday" in verb.traits
        if form in ("what", "count") or (everyday and form == "negative"):
            return None
        return VerbPhrase(verb, bare=True, daily=everyday)
    noun = draw.choice(nouns_of_kind(*sorted(verb.kinds)))
    pair = frozenset({(verb.zh[0], noun.zh)})
    if form == "count":
        if tense not in ("past", "future") or "count" not in verb.traits or noun.kinds & PEOPLE:
            return None
        if tense == "future" and verb.zh != ("买",):
            return None  # people plan how much to buy, but rarely how many films to watch
        how_many = noun_phrase(noun, "number", number=HOW_MANY)
        return VerbPhrase(
            verb, how_many.zh, question_words=("how", *how_many.en), combinations=pair
        )
    if form == "what" and tense == "future" and verb.zh[0] not in ("买", "吃"):
        return None
    if form == "what" and (verb.zh in ambiguous or "unasked" in verb.traits or tense == "can"):
        return None
    if noun.kinds & PEOPLE:
        if form == "what":
            return VerbPhrase(verb, ("谁",), question_words=("who",))
        person = draw_other_person(draw, subject)
        draw.expect(person.object_form if person else ())
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
    if verb.base[0] in ("eat", "drink") and "melon" not in noun.kinds:
        counted = determiner in ("this", "that", "number", "some", "many")
        if counted and tense not in ("past", "habit"):
            return None
        if determiner in ("one", "this", "that") and is_plural(subject):
            return None
    each_one = "single" in verb.traits or noun.kinds & {"personal", "ticket", "snack", "egg"}
    if determiner == "a" and each_one and is_plural(subject):
        determiner = "plural"
    alone = "single" in verb.traits or ("grown" in verb.traits and subject.noun)
    if determiner in ("a", "one", "this", "that", "own") and (
        (alone and is_plural(subject)) or not suits(noun, subject)
    ):
        return None  # several people do not wear, ride or buy one thing together
    bare = determiner in ("a", "any", "plural", "the")
    if not bare:  # otherwise a set phrase may hide the noun
        draw.expect_one(noun.singular, noun.plural)
        draw.expect((determiner,) if determiner in ("this", "that", "some") else ())
    object_phrase = draw_noun_phrase(draw, noun, determiner, 0.0 if bare else 0.4)
    if any(verb.zh[0] not in FITTING.get(one, verb.zh) for one, _ in object_phrase.combinations):
        return None
    verb_phrase = VerbPhrase(
        verb,
        object_phrase.zh,
        object_phrase.en,
        bare,
        combinations=pair | object_phrase.combinations,
        daily=tense == "habit" and not bare,
    )
    if bare:
        return add_recipient(draw, subject, set_phrase(verb_phrase))
    if determiner in ("some", "many"):
        return verb_phrase
    one = determiner in ("one", "this", "that")
    return add_recipient(draw, subject, verb_phrase, noun if one else None)


def set_phrase(verb_phrase: VerbPhrase) -> VerbPhrase:
    """Use the English of a set phrase: 唱 歌 is to sing, not to sing songs."""
    en = words.SET_PHRASES.get((*verb_phrase.verb.zh, *verb_phrase.zh))
    return verb_phrase if en is None else replace(verb_phrase, en=split(en))


def add_recipient(
    draw: Draw, subject: NounPhrase, verb_phrase: VerbPhrase, single: Noun | None = None
) -> VerbPhrase:
    """Sometimes add the recipient of a letter or a purchase: 给 他, to him or for him.

    If a `single` thing is bought, its recipient is one person.
    """
    preposition = {"写": "to", "买": "for"}.get(verb_phrase.verb.zh[0])
    if verb_phrase.verb.activity == "-":
        return verb_phrase  # no recipient, as for a car or a meal
    if preposition is None:
        draw.discard(lambda draw: draw_close_person(draw, subject))
        return verb_phrase
    recipient = draw_close_person(draw, subject)
    if recipient is None or not draw.chance(0.3):
        return verb_phrase
    bought = single if preposition == "for" else None
    if bought is not None and (is_plural(recipient) or not suits(bought, recipient)):
        return verb_phrase
    combinations = verb_phrase.combinations | recipient.combinations
    return replace(
        verb_phrase,
        before=("给", *recipient.zh),
        after=(preposition, *recipient.object_form),
        combinations=combinations,
    )
