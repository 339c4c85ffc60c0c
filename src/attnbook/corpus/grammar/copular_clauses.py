"""Clauses with *to be*: adjectives, comparisons, places, *there is*, and identities."""

from dataclasses import replace

from attnbook.corpus.grammar.clauses import BE, TO_BE, Sentence, copular_clause
from attnbook.corpus.grammar.lexicon import (
    Adjective,
    Noun,
    Words,
    adjectives,
    cities,
    feelings,
    nouns,
    places,
    spots,
)
from attnbook.corpus.grammar.noun_phrases import (
    HOW_MANY,
    NOT_OWNED,
    PEOPLE,
    Draw,
    NounPhrase,
    draw_noun_phrase,
    draw_other_person,
    draw_person,
    draw_relative,
    goes_to,
    is_plural,
    noun_phrase,
    nouns_for,
    nouns_of_kind,
    pronouns,
    suits,
)

DEFINITE = ("the", "the", "this", "that", "these", "those", "own")
FOUND = ("the", "the", "that", "those", "own")  # nobody says where *this* book is: it is in view
comparable = [adjective for adjective in adjectives if adjective.comparative]
ASKED_ABOUT = ("你", "他", "她", "你们", "他们")


def describe(draw: Draw) -> Sentence | None:
    """A person or a thing with an adjective: 苹果 很 甜. English needs *is*, Chinese 很."""
    draw.expect_one(*TO_BE)
    if draw.chance(0.2):
        subject, adjective = draw_person(draw), draw.choice(feelings)
        draw.expect(subject.en, (adjective.en,))
        form = draw.choice(("很", "很", "非常", "太", "negative", "yes_no"))
        return quality(form, subject, adjective)
    form = draw.choice(("很",) * 4 + ("非常", "太", "negative", "yes_no", "比", "比", "比"))
    adjective = draw.choice(comparable if form == "比" else adjectives)
    noun = draw.choice(nouns_for(adjective))
    draw.expect_one((adjective.en,), adjective.comparative)
    draw.expect_one(noun.singular, noun.plural)
    determiner = draw.choice(("this", "that", "own") if form == "比" else DEFINITE)
    if determiner == "own" and noun.kinds & NOT_OWNED:
        return None
    subject = (
        draw_relative(draw, noun)
        if noun.kinds & {"kin"}
        else draw_noun_phrase(draw, noun, determiner, 0.0)
    )
    draw.expect(subject.en)
    subject = replace(subject, combinations=frozenset({(adjective.zh, noun.zh)}))
    if form == "比":
        return compare(draw, subject, adjective, noun)
    return quality(form, subject, adjective)


def quality(form: str, subject: NounPhrase, adjective: Adjective) -> Sentence | None:
    """A clause with the adjective in this form; colors take 是 … 的 instead of 很."""
    if form == "yes_no" and subject.zh[0] in ("我", "我们"):
        return None
    if form in ("negative", "yes_no"):
        zh: Words = ("是", adjective.zh, "的") if adjective.color else (adjective.zh,)
        return copular_clause(form, subject, zh, (adjective.en,))
    if adjective.color:
        return copular_clause("statement", subject, ("是", adjective.zh, "的"), (adjective.en,))
    if form == "太" and "too" not in adjective.traits:
        return None
    degree: Words = {"很": (), "非常": ("very",), "太": ("too",)}[form]
    zh = (form, adjective.zh, *(("了",) if form == "太" else ()))
    return copular_clause("statement", subject, zh, (*degree, adjective.en))


def compare(draw: Draw, subject: NounPhrase, adjective: Adjective, noun: Noun) -> Sentence | None:
    """A comparison, with the adjective at the end in Chinese: 那 本 书 比 这 本 书 贵."""
    other: NounPhrase | None
    if noun.kinds & PEOPLE:
        other = draw_other_person(draw, subject)
    else:
        determiner = {"这": "that", "那": "this"}.get(subject.zh[0], "own")
        owner = draw.choice([one for one in pronouns.values() if suits(noun, one)])
        other = noun_phrase(noun, determiner, owner=owner)
    if other is None or other.agreement != subject.agreement or other.en == subject.en:
        return None
    return copular_clause(
        "statement",
        subject,
        ("比", *other.zh, adjective.zh),
        (*adjective.comparative, "than", *other.object_form),
    )


def there_is(draw: Draw) -> Sentence | None:
    """What a place holds: 桌子 上 有 三 本 书, there are three books on the table."""
    draw.expect(("there",))
    place = draw.choice(spots) if draw.chance(0.5) else draw.choice(places)
    where: Words = place.zh if place in spots or place.zh == ("海边",) else (*place.zh, "里")
    noun = draw.choice(
        [noun for noun in nouns_of_kind(*sorted(place.holds)) if noun.zh != place.zh[0]]
    )
    public = "many" in place.traits
    if draw.chance(0.2) and not public:
        how_many = noun_phrase(noun, "number", number=HOW_MANY)
        en: Words = ("how", *how_many.en, "are", "there", *place.at, "?")
        return Sentence((*where, "有", *how_many.zh, "？"), en)
    is_pet = place in spots and "pet" in noun.kinds
    counts = ["one", "number", "number"]
    if public:
        counts = ["many", "some"]
    elif is_pet:
        counts = ["one"]
    elif noun.countable and place not in spots:
        counts += ["many", "some"]
    held = draw_noun_phrase(draw, noun, draw.choice(counts), plain=True)
    en = ("there", BE[held.agreement], *held.en, *place.at)
    return Sentence((*where, "有", *held.zh), en, held.combinations)


def is_at(draw: Draw) -> Sentence | None:
    """Where a person or a thing is: 狗 在 椅子 下面."""
    draw.expect_one(*TO_BE)
    form = draw.choice(("statement", "statement", "negative", "yes_no", "where"))
    day: tuple[Words, Words] = ((), ())
    if draw.chance(0.5):
        place = draw.choice(spots)
        noun = draw.choice(
            [noun for noun in nouns_of_kind(*sorted(place.holds)) if noun.zh != place.zh[0]]
        )
        draw.expect_one(noun.singular, noun.plural)
        draw.expect(() if form == "where" else place.at)
        determiner = draw.choice(FOUND)
        if determiner == "own" and noun.kinds & NOT_OWNED:
            return None
        described = 0.3 if determiner == "that" else 0.0
        subject = draw_noun_phrase(draw, noun, determiner, described, plain=True)
    else:
        place, subject = draw.choice(places + cities), draw_person(draw)
        draw.expect(subject.en, () if form == "where" else place.at)
        if form in ("statement", "negative") and subject.zh in (("你",), ("你们",)):
            return None
        if not goes_to(subject, place) or (form == "where" and subject.zh[0] == "这"):
            return None
        if "day" not in place.traits and draw.chance(0.4):
            day = draw.choice(((("昨天",), ("yesterday",)), (("昨晚",), ("last", "night"))))
    if subject.zh in (("我",), ("我们",)) and form in ("yes_no", "where"):
        return None
    zh = ("在", "哪里") if form == "where" else ("在", *place.zh)
    return copular_clause(form, subject, zh, () if form == "where" else place.at, day)


def identity(draw: Draw) -> Sentence | None:
    """Who a person is, what a thing is, or whose it is."""
    draw.expect_one(*TO_BE)
    kind = draw.choice(("job",) * 6 + ("owner",) * 4 + ("whose", "whose", "who", "what"))
    pointer = draw.choice(
        (NounPhrase(("这",), ("this",), "he", (), ()), NounPhrase(("那",), ("that",), "he", (), ()))
    )
    forms = ("statement", "statement", "negative", "yes_no")
    if kind in ("who", "what", "whose"):
        draw.discard(lambda draw: draw.choice(forms))
        form = kind
    else:
        form = draw.choice(forms)
    if kind == "who":
        return copular_clause("who", pronouns[draw.choice(ASKED_ABOUT)], ("是", "谁"), ())
    if kind == "what":
        return Sentence((*pointer.zh, "是", "什么", "？"), ("what", "is", *pointer.en, "?"))
    if kind == "job":
        subject = draw.choice((draw_relative(draw), draw.choice(list(pronouns.values()))))
        draw.expect(subject.en)
        job = draw.choice([noun for noun in nouns_of_kind("person") if noun.zh != "孩子"])
        if job.zh == "学生" and subject.noun in ("妈妈", "爸爸", "奶奶", "同学"):
            return None
        if form == "yes_no" and subject.zh[0] in ("我", "我们"):
            return None
        job_en = job.plural if is_plural(subject) else ("a", *job.singular)
        return copular_clause(form, subject, ("是", job.zh), job_en)
    draw.expect(pointer.en)
    noun = draw.choice(
        [noun for noun in nouns if noun.countable and not noun.kinds & (NOT_OWNED | PEOPLE)]
    )
    draw.expect_one(noun.singular, noun.plural)
    if kind == "whose":
        en: Words = ("whose", *noun.singular, "is", *pointer.en, "?")
        return Sentence((*pointer.zh, "是", "谁", "的", noun.zh, "？"), en)
    owned = draw_noun_phrase(draw, noun, "own")
    pointer = replace(pointer, combinations=owned.combinations)
    return copular_clause(form, pointer, ("是", *owned.zh), owned.en)
