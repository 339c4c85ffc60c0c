"""All kinds of sentences: what is, where it is, what people do and like, and some idioms."""

from dataclasses import replace

from attnbook.grammar.acts import (
    ASKED,
    BE,
    FORMS,
    Act,
    Sentence,
    cities,
    english,
    event,
    somebody_else,
    subject_of,
    tell,
    vehicles,
)
from attnbook.grammar.phrases import (
    Draw,
    Phrase,
    Place,
    Words,
    fitting,
    noun_phrase,
    of_kind,
    places,
    possessives,
    pronouns,
    someone,
    thing,
)
from attnbook.grammar.words import (
    FEELINGS,
    SPOTS,
    Adjective,
    Verb,
    adjectives,
    animal_verbs,
    nouns,
    rows,
    split,
    verbs,
)

WAS = {"i": "was", "he": "was", "they": "were"}
DEFINITE = ("the", "the", "this", "that", "these", "those", "own")
feelings = [
    Adjective(zh, en, ("more", en), frozenset(), plain=False) for zh, _, en in rows(FEELINGS)
]
things = [n for n in nouns if not n.kinds & {"person", "kin", "boss", "language"}]
spots = [(Place(noun + " " + side, split(at)), of.split(",")) for noun, side, at, of in rows(SPOTS)]


def verb(zh: str, forms: str, activity: str = "-", traits: str = "") -> Verb:
    """A verb that has a rule of its own."""
    base, third, past, ing = (split(form) for form in forms.split())
    return Verb(
        split(zh), base, third, past, ing, activity=activity, traits=frozenset(traits.split())
    )


GO = verb("去", "go goes went going", traits="long")
GO_HOME = verb("回", "go goes went going")
LIKE = verb("喜欢", "like likes liked liking")
KNOW = verb("认识", "know knows knew knowing")
CALL = verb("打", "call calls called calling")
GIVE = verb("送给", "give gives gave giving")
FIRE = verb("炒", "fire fires fired firing")
JOKE = verb("开", "joke jokes joked joking")
RAIN = verb("下", "rain rains rained raining")
SNOW = verb("下", "snow snows snowed snowing")


def question(zh: Words, en: Words) -> tuple[Words, Words]:
    return (*zh, "？"), (*en, "?")


def be(
    subject: Phrase,
    what: Words,
    negative: bool = False,
    asked: Words | None = None,
    past: bool = False,
) -> Words:
    """An English clause with the verb to be."""
    helper = (WAS if past else BE)[subject.agree]
    return english(subject.en, helper, what, (helper, *what), negative, asked)


def describe(draw: Draw) -> Sentence | None:
    """How something is: 苹果 很 甜. English needs is, Chinese needs 很."""
    if draw.chance(0.2):
        subject, adjective = someone(draw), draw.one(feelings)
        made = subject.combinations
    else:
        adjective = draw.one(adjectives)
        fit = [noun for noun in nouns if noun.kinds & adjective.kinds]
        noun = draw.one(fit)
        subject = thing(draw, noun, draw.one(DEFINITE), 0.0)
        if noun.kinds & {"kin"} and subject.zh[0] not in possessives:
            return None
        made = frozenset({(adjective.zh, noun.zh)})
    return qualify(draw, subject, adjective, made)


def qualify(draw: Draw, subject: Phrase, adjective: Adjective, made: frozenset) -> Sentence:
    """Say of somebody or something that it is so, is not so, or ask."""
    zh, en, quality = subject.zh, subject.en, adjective.zh
    if adjective.colour:
        told: Words = ("是", quality, "的")
        form = draw.one(("tell", "tell", "deny", "yes_no"))
        if form == "deny":
            return Sentence((*zh, "不", *told), be(subject, (adjective.en,), negative=True), made)
        if form == "yes_no":
            return Sentence(
                *question((*zh, *told, "吗"), be(subject, (adjective.en,), asked=())), made
            )
        return Sentence((*zh, *told), be(subject, (adjective.en,)), made)
    form = draw.one(("plain",) * 4 + ("very", "too", "deny", "yes_no", "than", "than"))
    if form == "than" and adjective.more != ("-",) and adjective not in feelings:
        other = rival(draw, subject, adjective)
        if other is not None:
            said = be(subject, (*adjective.more, "than", *other.object))
            return Sentence((*zh, "比", *other.zh, quality), said, made | other.combinations)
    if form == "yes_no":
        if en[0] in ("i", "we"):
            return Sentence((*zh, "很", quality), be(subject, (adjective.en,)), made)
        return Sentence(
            *question((*zh, quality, "吗"), be(subject, (adjective.en,), asked=())), made
        )
    if form == "deny":
        return Sentence((*zh, "不", quality), be(subject, (adjective.en,), negative=True), made)
    if form == "very":
        return Sentence((*zh, "非常", quality), be(subject, ("very", adjective.en)), made)
    if form == "too":
        return Sentence((*zh, "太", quality, "了"), be(subject, ("too", adjective.en)), made)
    return Sentence((*zh, "很", quality), be(subject, (adjective.en,)), made)


def rival(draw: Draw, subject: Phrase, adjective: Adjective) -> Phrase | None:
    """Something else of the kind, to be compared with."""
    fit = [noun for noun in nouns if noun.kinds & adjective.kinds and noun.zh == subject.zh[-1]]
    if not fit:
        return None
    noun = fit[0]
    if noun.kinds & {"person"}:
        return somebody_else(draw, subject)
    determiner = {"这": "that", "那": "this"}.get(subject.zh[0], "own")
    owner = draw.one([zh for zh in possessives if zh != subject.zh[0]])
    other = noun_phrase(noun, determiner, owner=owner)
    made = frozenset({(adjective.zh, noun.zh)})
    return replace(other, combinations=made)


def there_is(draw: Draw) -> Sentence | None:
    """What stands somewhere: 桌子 上 有 三 本 书."""
    if draw.chance(0.5):
        spot, of = draw.one(spots)
        at: Words = tuple(spot.zh.split())
        english_at = spot.at
    else:
        place = draw.one([p for p in places if p.holds != {"-"}])
        at, english_at, of = (place.zh, "里"), place.at, sorted(place.holds)
        if place.zh == "海边":
            at = ("海边",)
    fit = [noun for noun in of_kind(*of) if noun.zh != at[0]]
    what = thing(draw, draw.one(fit), draw.one(("one", "number", "number", "many", "some")))
    helper = "is" if what.agree == "he" else "are"
    form = draw.one(("tell", "tell", "tell", "count"))
    if form == "count":
        noun = draw.one(fit)
        many = noun_phrase(noun, "number", number=("几", "many"))
        asked = ("how", *many.en, "are", "there", *english_at)
        return Sentence(*question((*at, "有", *many.zh), asked))
    return Sentence(
        (*at, "有", *what.zh), ("there", helper, *what.en, *english_at), what.combinations
    )


def is_at(draw: Draw) -> Sentence | None:
    """Where somebody or something is: 猫 在 椅子 下."""
    past = False
    if draw.chance(0.5):
        spot, of = draw.one(spots)
        zh, at = tuple(spot.zh.split()), spot.at
        fit = [noun for noun in of_kind(*of) if noun.zh != zh[0]]
        subject = thing(draw, draw.one(fit), draw.one(DEFINITE), 0.3)
    else:
        place = draw.one(places + cities)
        zh, at, subject = (place.zh,), place.at, someone(draw)
        past = draw.chance(0.3)
    form = draw.one(("tell", "tell", "deny", "yes_no", "where"))
    if (
        subject.en[0] in ("i", "we", "my", "our")
        and form in ("yes_no", "where")
        and subject.en[0] in ("i", "we")
    ):
        form = "tell"
    day: tuple[Words, Words] = (("昨天",), ("yesterday",)) if past else ((), ())
    start = (*subject.zh, *day[0])
    made = subject.combinations
    if form == "where":
        said = (*be(subject, (), asked=("where",), past=past), *day[1])
        return Sentence(*question((*start, "在", "哪里"), said), made)
    if form == "yes_no":
        said = (*be(subject, at, asked=(), past=past), *day[1])
        return Sentence(*question((*start, "在", *zh, "吗"), said), made)
    no = form == "deny"
    said = (*be(subject, at, negative=no, past=past), *day[1])
    return Sentence(
        (*start, "不" if no else "", "在", *zh) if no else (*start, "在", *zh), said, made
    )


def identity(draw: Draw) -> Sentence | None:
    """Who somebody is, whose something is."""
    kind = draw.one(("job", "job", "job", "this", "this", "whose", "who", "what"))
    if kind == "who":
        subject = pronouns[draw.one(ASKED)]
        return Sentence(*question((*subject.zh, "是", "谁"), be(subject, (), asked=("who",))))
    pointer = draw.one((Phrase(("这",), ("this",)), Phrase(("那",), ("that",))))
    if kind == "what":
        return Sentence(*question((*pointer.zh, "是", "什么"), be(pointer, (), asked=("what",))))
    if kind == "whose":
        noun = draw.one([n for n in things if n.countable])
        asked = ("whose", noun.singular)
        return Sentence(
            *question((*pointer.zh, "是", "谁", "的", noun.zh), be(pointer, (), asked=asked))
        )
    form = draw.one(("tell", "tell", "deny", "yes_no"))
    if kind == "this":
        subject = pointer
        noun = draw.one([n for n in things if n.countable])
        owned = thing(draw, noun, "own")
        zh, en, made = owned.zh, owned.en, owned.combinations
    else:
        subject = someone(draw)
        noun = draw.one([n for n in of_kind("person") if "kin" not in n.kinds and n.zh != "孩子"])
        if noun.zh in subject.zh:
            return None
        zh, made = (noun.zh,), subject.combinations
        several = subject.agree == "they" and subject.zh != ("你",)
        en = (noun.plural,) if several else ("a", noun.singular)
    if subject.en[0] in ("i", "we") and form == "yes_no":
        form = "tell"
    if form == "yes_no":
        return Sentence(*question((*subject.zh, "是", *zh, "吗"), be(subject, en, asked=())), made)
    is_zh: Words = ("不", "是") if form == "deny" else ("是",)
    return Sentence((*subject.zh, *is_zh, *zh), be(subject, en, negative=form == "deny"), made)


def have(draw: Draw) -> Sentence | None:
    """What somebody has."""
    form = draw.one(("tell", "tell", "tell", "deny", "yes_no", "count", "who"))
    subject = subject_of(draw, form)
    noun = draw.one([n for n in nouns if n.countable and not n.kinds & {"boss", "opening"}])
    if noun.zh in subject.zh or (
        noun.kinds & {"kin"} and noun.zh not in ("哥哥", "姐姐", "朋友", "孩子")
    ):
        return None
    does = "does" if subject.agree == "he" else "do"
    if form == "count":
        many = noun_phrase(noun, "number", number=("几", "many"))
        said = ("how", *many.en, does, *subject.en, "have")
        return Sentence(*question((*subject.zh, "有", *many.zh), said), subject.combinations)
    if form == "deny":
        what = noun_phrase(noun, "a")
        said = (*subject.en, does, "not", "have", *what.en)
        return Sentence((*subject.zh, "没有", *what.zh), said, subject.combinations)
    if form == "yes_no":
        what = noun_phrase(noun, "a")
        said = (does, *subject.en, "have", *what.en)
        return Sentence(*question((*subject.zh, "有", *what.zh, "吗"), said), subject.combinations)
    if form == "who":
        what = noun_phrase(noun, "a")
        return Sentence(*question(("谁", "有", *what.zh), ("who", "has", *what.en)))
    few = bool(noun.kinds & {"person", "kin"})
    what = thing(
        draw, noun, draw.one(("one", "number") if few else ("one", "one", "number", "many"))
    )
    has = "has" if subject.agree == "he" else "have"
    made = subject.combinations | what.combinations
    return Sentence((*subject.zh, "有", *what.zh), (*subject.en, has, *what.en), made)


def like(draw: Draw) -> Sentence | None:
    """What somebody likes: things, people, and what they like to do."""
    form = draw.one(("tell",) * 4 + ("deny", "deny", "yes_no", "yes_no", "what", "who", "why"))
    subject = subject_of(draw, form)
    kind = draw.one(("things", "things", "this", "person", "know", "doing", "doing"))
    made = subject.combinations
    if kind in ("person", "know"):
        other = somebody_else(draw, subject)
        if other is None:
            return None
        act = Act(
            LIKE if kind == "person" else KNOW,
            other.zh,
            other.object,
            combinations=other.combinations,
        )
        if form == "what":
            act = replace(act, zh=("谁",), en=(), asked=("who",), combinations=frozenset())
        if form == "why" and kind == "know":
            return None
    elif form == "what":
        act = Act(LIKE, ("什么",), asked=("what",))
    elif kind == "doing":
        done = draw.one([v for v in verbs if "habit" in v.traits])
        zh, en = done.zh, ("to", *done.base)
        if done.kinds:
            noun = draw.one(of_kind(*sorted(done.kinds)))
            if noun.kinds & {"person", "kin"}:
                return None
            zh, en = (*zh, noun.zh), (*en, *noun_phrase(noun, "plural").en)
            made = made | {("".join(done.zh), noun.zh)}
        act = Act(LIKE, zh, en, combinations=made)
    else:
        noun = draw.one(things)
        if kind == "this":
            what = thing(draw, noun, draw.one(("this", "that", "these", "those", "own")), 0.4)
        else:
            what = thing(draw, noun, "plural", 0.3)
        act = Act(LIKE, what.zh, what.en, combinations=what.combinations)
    return tell(draw, form, "like", subject, act)


def go(draw: Draw) -> Sentence | None:
    """Who goes where, and how: 坐 火车 去 北京, to beijing by train."""
    form = draw.one(FORMS)
    tense = draw.one(("past", "past", "future", "want"))
    if form == "count" or (form == "why" and tense == "future"):
        return None
    subject = subject_of(draw, form)
    place = draw.one(places + cities + cities + cities)
    if form == "what":
        return tell(draw, form, tense, subject, Act(GO, ("哪里",), asked=("where",)))
    going = GO_HOME if place.zh == "家" else GO
    ride, by = draw.one(vehicles) if draw.chance(0.35) else ((), ())
    if place in cities and "bicycle" in by:
        return None
    return tell(
        draw, form, tense, subject, Act(going, (place.zh,), place.to, before=ride, behind=by)
    )


def call_or_give(draw: Draw) -> Sentence | None:
    """Two acts with somebody at the other end: 给 他 打 电话 (call him), 送给 他 一 本 书."""
    form = draw.one(FORMS)
    subject = subject_of(draw, form)
    other = somebody_else(draw, subject)
    if other is None or form == "count":
        return None
    if draw.chance(0.6):
        tense = draw.one(("past", "past", "future", "want", "now", "habit"))
        if form == "what" or (form == "why" and tense in ("now", "future")):
            return None
        act = Act(
            CALL, ("电话",), other.object, before=("给", *other.zh), combinations=other.combinations
        )
        return tell(draw, form, tense, subject, act)
    tense = draw.one(("past", "future", "want"))
    noun = draw.one(
        of_kind("gift", "flower", "book", "clothes", "hat", "ticket", "animal", "photo")
    )
    if form not in ("tell", "who", "yes_no"):
        return None
    what = thing(
        draw, noun, draw.one(("this", "that") if form == "yes_no" else ("one", "number", "this"))
    )
    made = other.combinations | what.combinations
    act = Act(GIVE, (*other.zh, *what.zh), (*other.object, *what.en), combinations=made)
    return tell(draw, form, tense, subject, act)


def idiom(draw: Draw) -> Sentence | None:
    """What no dictionary gives word by word: 下 雨, 炒 鱿鱼, 吃 醋, 开 玩笑."""
    kind = draw.one(("weather", "weather", "fire", "jealous", "joke"))
    form = draw.one(("tell", "tell", "deny", "yes_no"))
    if kind == "weather":
        tense = draw.one(("past", "future", "now"))
        what, falls = draw.one((("雨", RAIN), ("雪", SNOW)))
        city = draw.one(cities) if draw.chance(0.3) else None
        sky = Phrase((city.zh,) if city else (), ("it",))
        behind = city.at if city else ()
        if tense != "now":
            falls = replace(falls, traits=frozenset())
        return tell(draw, form, tense, sky, Act(falls, (what,), bare=True, behind=behind))
    subject = subject_of(draw, form)
    if kind == "fire":
        other = somebody_else(draw, subject)
        if other is None:
            return None
        boss = noun_phrase(
            of_kind("boss")[0], draw.one(("the", "own")), owner=draw.one(list(possessives))
        )
        act = Act(FIRE, (*other.zh, "的", "鱿鱼"), other.object)
        return tell(draw, form, draw.one(("past", "past", "future")), boss, act)
    if kind == "joke":
        return tell(
            draw, form, draw.one(("now", "habit")), subject, Act(JOKE, ("玩笑",), bare=True)
        )
    if form == "yes_no":
        return Sentence(
            *question((*subject.zh, "吃", "醋", "了", "吗"), be(subject, ("jealous",), asked=()))
        )
    if form == "deny":
        return Sentence((*subject.zh, "没", "吃", "醋"), be(subject, ("jealous",), negative=True))
    return Sentence((*subject.zh, "吃", "醋", "了"), be(subject, ("jealous",)))


def with_animal(draw: Draw) -> Sentence | None:
    """What animals do."""
    done = draw.one(animal_verbs)
    form = draw.one(("tell", "tell", "deny", "yes_no"))
    tense = draw.one(("past", "now"))
    subject = thing(
        draw, draw.one(of_kind("animal")), draw.one(("the", "this", "that", "those", "own"))
    )
    if not done.kinds:
        return tell(draw, form, tense, subject, Act(done, bare=True))
    noun = draw.one(of_kind(*sorted(done.kinds)))
    told = form == "tell" and tense == "past"
    determiner = draw.one(("one", "this", "that")) if told else ("any" if tense == "past" else "a")
    what = noun_phrase(noun, determiner)
    made = subject.combinations | {("".join(done.zh), noun.zh)}
    return tell(
        draw, form, tense, subject, Act(done, what.zh, what.en, bare=not told, combinations=made)
    )


def two_clauses(draw: Draw) -> Sentence | None:
    """Two clauses, of which the second says it, them, him or her: 我 有 一 只 猫 ， 它 很 可爱."""
    noun = draw.one([n for n in nouns if fitting(n)])
    adjective = draw.one(fitting(noun))
    made = frozenset({(adjective.zh, noun.zh)})
    subject = someone(draw, 0.8)
    is_so: Words = ("是", adjective.zh, "的") if adjective.colour else ("很", adjective.zh)
    if draw.chance(0.5):
        what = thing(draw, noun, draw.one(("this", "that", "these", "own")), 0.0)
        zh, as_subject, as_object = what.pronoun
        helper, likes, simple = (
            ("does", "like", "likes") if subject.agree == "he" else ("do", "like", "like")
        )
        negative = draw.chance(0.4)
        first = be(what, (adjective.en,))
        second = english(
            subject.en, helper, (likes, as_object), (simple, as_object), negative, None
        )
        but = "but" if negative else "and"
        link = ("，", "但是") if negative else ("，",)
        no: Words = ("不",) if negative else ()
        chinese = (*what.zh, *is_so, *link, *subject.zh, *no, "喜欢", zh)
        return Sentence(chinese, (*first, but, *second), made | subject.combinations)
    if noun.kinds & {"kin", "boss", "opening", "tree"}:
        return None
    what = thing(draw, noun, draw.one(("one", "one", "number")), 0.0)
    zh, as_subject, _ = what.pronoun
    has = "has" if subject.agree == "he" else "have"
    second = be(Phrase((zh,), (as_subject,), what.agree), (adjective.en,))
    chinese = (*subject.zh, "有", *what.zh, "，", zh, *is_so)
    return Sentence(
        chinese, (*subject.en, has, *what.en, "and", *second), made | subject.combinations
    )


KINDS = (
    *[event] * 10,
    *[describe] * 4,
    *[there_is] * 2,
    *[is_at] * 2,
    *[identity, have, like, like, go, go, call_or_give, idiom, with_animal, two_clauses],
)


def sentence(draw: Draw) -> Sentence:
    """Draw one sentence of any kind; what does not fit is drawn again."""
    while True:
        made = draw.one(KINDS)(draw)
        if made is not None:
            return replace(made, en=articles(made.en))


def articles(en: Words) -> Words:
    """Write an before a vowel, and cannot in one word."""
    done = [
        "an" if word == "a" and following[0] in "aeiou" else word
        for word, following in zip(en, (*en[1:], "."), strict=True)
    ]
    return tuple(" ".join(done).replace("can not", "cannot").split())
