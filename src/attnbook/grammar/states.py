"""How, where and what somebody or something is."""

from dataclasses import replace

from attnbook.grammar.clauses import BE, Sentence, be
from attnbook.grammar.lexicon import (
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
from attnbook.grammar.phrases import (
    HOW_MANY,
    NOBODYS,
    PEOPLE,
    Draw,
    Phrase,
    noun_phrase,
    of_kinds,
    pronouns,
    relative,
    several,
    somebody_else,
    someone,
    thing,
)

DEFINITE = ("the", "the", "this", "that", "these", "those", "own")
ASKED = ("你", "他", "她", "你们", "他们")


def describe(draw: Draw) -> Sentence | None:
    """How somebody or something is: 苹果 很 甜. English needs is, and Chinese 很."""
    if draw.chance(0.2):
        subject, adjective = someone(draw), draw.one(feelings)
        form = draw.one(("很", "很", "非常", "太", "deny", "yes_no"))
        return quality(form, subject, adjective)
    form = draw.one(("很",) * 4 + ("非常", "太", "deny", "yes_no", "比", "比", "比"))
    adjective = draw.one([a for a in adjectives if a.more] if form == "比" else adjectives)
    noun = draw.one([noun for noun in nouns if noun.kinds & adjective.kinds])
    determiner = draw.one(("this", "that", "own") if form == "比" else DEFINITE)
    if determiner == "own" and noun.kinds & NOBODYS:
        return None
    subject = relative(draw, noun) if noun.kinds & {"kin"} else thing(draw, noun, determiner, 0.0)
    subject = replace(subject, combinations=frozenset({(adjective.zh, noun.zh)}))
    if form == "比":
        return compare(draw, subject, adjective, noun)
    return quality(form, subject, adjective)


def quality(form: str, subject: Phrase, adjective: Adjective) -> Sentence | None:
    """Say in one of several ways that something is so; colors take 是 … 的 in place of 很."""
    if form == "yes_no" and subject.zh[0] in ("我", "我们"):
        return None
    if form in ("deny", "yes_no"):
        zh: Words = ("是", adjective.zh, "的") if adjective.color else (adjective.zh,)
        return be(form, subject, zh, (adjective.en,))
    if adjective.color:
        return be("tell", subject, ("是", adjective.zh, "的"), (adjective.en,))
    if form == "太" and "too" not in adjective.traits:
        return None
    degree: Words = {"很": (), "非常": ("very",), "太": ("too",)}[form]
    zh = (form, adjective.zh, *(("了",) if form == "太" else ()))
    return be("tell", subject, zh, (*degree, adjective.en))


def compare(draw: Draw, subject: Phrase, adjective: Adjective, noun: Noun) -> Sentence | None:
    """那 本 书 比 这 本 书 贵: the adjective stands last, and English moves it to the front."""
    other: Phrase | None
    if noun.kinds & PEOPLE:
        other = somebody_else(draw, subject)
    else:
        determiner = {"这": "that", "那": "this"}.get(subject.zh[0], "own")
        owner = draw.one(list(pronouns.values()))
        other = noun_phrase(noun, determiner, owner=owner)
    if other is None or other.agree != subject.agree or other.zh == subject.zh:
        return None
    return be(
        "tell",
        subject,
        ("比", *other.zh, adjective.zh),
        (*adjective.more, "than", *other.as_object),
    )


def there_is(draw: Draw) -> Sentence | None:
    """What stands somewhere: 桌子 上 有 三 本 书, there are three books on the table."""
    place = draw.one(spots) if draw.chance(0.5) else draw.one(places)
    where: Words = place.zh if place in spots or place.zh == ("海边",) else (*place.zh, "里")
    noun = draw.one([noun for noun in of_kinds(*sorted(place.holds)) if noun.zh != place.zh[0]])
    if draw.chance(0.2):
        many = noun_phrase(noun, "number", number=HOW_MANY)
        en: Words = ("how", *many.en, "are", "there", *place.at, "?")
        return Sentence((*where, "有", *many.zh, "？"), en)
    pet = place in spots and "pet" in noun.kinds
    what = thing(
        draw, noun, "one" if pet else draw.one(("one", "number", "number", "many", "some"))
    )
    en = ("there", BE[what.agree], *what.en, *place.at)
    return Sentence((*where, "有", *what.zh), en, what.combinations)


def is_at(draw: Draw) -> Sentence | None:
    """Where somebody or something is: 狗 在 椅子 下."""
    form = draw.one(("tell", "tell", "deny", "yes_no", "where"))
    day: tuple[Words, Words] = ((), ())
    if draw.chance(0.5):
        place = draw.one(spots)
        noun = draw.one([noun for noun in of_kinds(*sorted(place.holds)) if noun.zh != place.zh[0]])
        determiner = draw.one(DEFINITE)
        if determiner == "own" and noun.kinds & NOBODYS:
            return None
        subject = thing(draw, noun, determiner)
    else:
        place, subject = draw.one(places + cities), someone(draw)
        if draw.chance(0.4):
            day = draw.one(((("昨天",), ("yesterday",)), (("昨晚",), ("last", "night"))))
    if subject.zh in (("我",), ("我们",)) and form in ("yes_no", "where"):
        return None
    zh = ("在", "哪里") if form == "where" else ("在", *place.zh)
    return be(form, subject, zh, () if form == "where" else place.at, day)


def identity(draw: Draw) -> Sentence | None:
    """Who somebody is, what something is, and whose."""
    kind = draw.one(("job",) * 6 + ("owner",) * 4 + ("whose", "whose", "who", "what"))
    pointer = draw.one(
        (Phrase(("这",), ("this",), "he", (), ()), Phrase(("那",), ("that",), "he", (), ()))
    )
    form = draw.one(("tell", "tell", "deny", "yes_no"))
    if kind == "who":
        return be("who", pronouns[draw.one(ASKED)], ("是", "谁"), ())
    if kind == "what":
        return Sentence((*pointer.zh, "是", "什么", "？"), ("what", "is", *pointer.en, "?"))
    if kind == "job":
        subject = someone(draw)
        job = draw.one([noun for noun in of_kinds("person") if noun.zh != "孩子"])
        if job.zh in subject.zh or (form == "yes_no" and subject.zh[0] in ("我", "我们")):
            return None
        what = job.plural if several(subject) else ("a", *job.singular)
        return be(form, subject, ("是", job.zh), what)
    noun = draw.one(
        [noun for noun in nouns if noun.countable and not noun.kinds & (NOBODYS | PEOPLE)]
    )
    if kind == "whose":
        en: Words = ("whose", *noun.singular, "is", *pointer.en, "?")
        return Sentence((*pointer.zh, "是", "谁", "的", noun.zh, "？"), en)
    mine = thing(draw, noun, "own")
    pointer = replace(pointer, combinations=mine.combinations)
    return be(form, pointer, ("是", *mine.zh), mine.en)
