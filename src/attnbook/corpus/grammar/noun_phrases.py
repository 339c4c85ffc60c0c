"""Noun phrases, in Chinese and English side by side, and the random choices of the grammar."""

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from attnbook.corpus.grammar.lexicon import Adjective, Noun, Place, Words, adjectives, nouns, rows
from attnbook.corpus.grammar.words import PRONOUNS

T = TypeVar("T")
U = TypeVar("U")
Combinations = frozenset[tuple[str, str]]

TWO, THREE = ("两", "two"), ("三", "three")
NUMBERS = (TWO, TWO, TWO, THREE, THREE, ("四", "four"), ("五", "five"))  # small numbers more often
HOW_MANY = ("几", "many")
POINTERS = {"this": "这", "that": "那", "these": "这", "those": "那"}
WOMEN, MEN = {"妈妈", "姐姐", "奶奶"}, {"他", "爸爸", "哥哥", "司机"}
PEOPLE = {"person", "kin", "boss"}
NOT_OWNED = {  # not "my ..."
    *("film", "song", "tree", "opening", "language", "sauce", "fish", "fruit", "egg", "flower"),
    *("dish", "soup", "drink", "letter"),
}


class Draw:
    """Random choices from a seed, the same on every machine and in every version of Python.

    Only `random()` of `random.Random` is used: Python promises not to change its numbers.
    """

    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random

    def choice(self, options: Sequence[T]) -> T:
        return options[int(self._next() * len(options))]

    def chance(self, probability: float) -> bool:
        return self._next() < probability

    # These methods tell `recognize` which draws are visible in a sentence.

    def until(
        self,
        make: "Callable[[Draw], NounPhrase]",
        fits: "Callable[[Draw, NounPhrase, U], bool]",
        about: U,
        seen: bool = True,
    ) -> "NounPhrase":
        """Draw with `make` until `fits(draw, drawn, about)` is true.

        `seen` says whether the English sentence will contain what is drawn, in one of its forms.
        """
        while True:
            drawn = make(self)
            if fits(self, drawn, about):
                return drawn

    def discard(self, make: "Callable[[Draw], object]") -> None:
        """Draw something that does not appear in the sentence."""
        make(self)

    def expect(self, *phrases: Words) -> None:
        """Promise that the English sentence will contain these words."""

    def expect_one(self, *phrases: Words) -> None:
        """Promise that the English sentence will contain one of these phrases."""


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase or a pronoun, with its English forms.

    `agreement` names the verb forms it takes (i am, he is, they are), `object_form` is its form as
    an object (him), `possessive` its form before a noun (his), and `pronoun` the Chinese pronoun
    that refers to it. `combinations` holds an adjective with its noun; `noun` is the Chinese noun.
    """

    zh: Words
    en: Words
    agreement: str
    object_form: Words
    possessive: Words
    pronoun: str = "它"
    combinations: Combinations = frozenset()
    noun: str = ""


pronouns = {
    zh: NounPhrase((zh,), (subject,), agreement, (object_form,), (my,), zh)
    for zh, _, subject, object_form, my, agreement in rows(PRONOUNS)
}


@functools.cache
def nouns_of_kind(*names: str) -> list[Noun]:
    """The nouns of any of these kinds."""
    return [noun for noun in nouns if noun.kinds & set(names)]


pronoun_list = [*pronouns.values()]
people = {noun.zh for noun in nouns_of_kind(*PEOPLE)}
relatives = {noun.zh for noun in nouns_of_kind("kin")}


@functools.cache
def adjectives_for(noun: Noun) -> list[Adjective]:
    """The adjectives that can describe the noun."""
    return [adjective for adjective in adjectives if noun.kinds & adjective.kinds]


@functools.cache
def adjectives_before(noun: Noun, plain: bool) -> list[Adjective]:
    """The adjectives that can be put before the noun, or with `plain` only those without 的."""
    before = [a for a in adjectives_for(noun) if "after" not in a.traits]
    return [a for a in before if not plain or "plain" in a.traits]


@functools.cache
def nouns_for(adjective: Adjective) -> list[Noun]:
    """The nouns that the adjective can describe."""
    return [noun for noun in nouns if noun.kinds & adjective.kinds]


def noun_phrase(
    noun: Noun,
    determiner: str,
    adjective: Adjective | None = None,
    number: tuple[str, str] | None = None,
    owner: NounPhrase = pronouns["我"],
) -> NounPhrase:
    """A noun with its determiner, its measure word and its adjective.

    Determiners: the, a, any and plural, which Chinese leaves out; one; number; this, that; these
    and those, which take a number; many; some; own (我 的). Somebody's relative or boss needs no 的
    after a pronoun: 我 妈妈 (but 我们 的 朋友).
    """
    quality: Words = (adjective.zh,) if adjective else ()
    if adjective and "plain" not in adjective.traits:
        quality = (*quality, "的")
    described = (*quality, noun.zh)
    count: Words = (number[0],) if number else ()
    relative = noun.kinds & {"kin", "boss"} and not owner.noun  # whose owner is a pronoun
    close = relative and not (noun.zh in ("朋友", "同学") and is_plural(owner))
    head, plural = english_noun(noun, determiner, (adjective.en,) if adjective else ())
    many: Words = (number[1],) if number else ()
    zh, en = described, (determiner, *head)
    match determiner:
        case "one":
            zh, en = ("一", noun.measure, *described), ("a", *head)
        case "number":
            zh, en = (*count, noun.measure, *described), (*many, *head)
        case "this" | "that":
            zh = (POINTERS[determiner], noun.measure, *described)
        case "these" | "those":
            zh = (POINTERS[determiner], *count, noun.measure, *described)
            en = (determiner, *many, *head)
        case "plural":
            en = head
        case "a":
            en = ("a", *head) if noun.countable else head
        case "many":
            zh = ("很多", *described)
            en = ("many", *head) if noun.countable else ("a", "lot", "of", *head)
        case "some":
            zh = ("一些", *described)
        case "own":
            zh = (*owner.zh, *(() if close else ("的",)), *described)
            en = (*owner.possessive, *head)
    combinations = frozenset({(adjective.zh, noun.zh)}) if adjective else frozenset()
    agreement = "they" if plural else "he"
    pronoun = pronoun_for(noun, plural)
    return NounPhrase(zh, en, agreement, en, (*en, "'s"), pronoun, combinations, noun.zh)


def english_noun(noun: Noun, determiner: str, adjective: Words) -> tuple[Words, bool]:
    """The English noun with its number or unit and its adjective, and whether it is plural."""
    counted = determiner in ("number", "these", "those")
    if noun.countable:
        plural = counted or determiner in ("any", "plural", "many", "some")
        return (*adjective, *(noun.plural if plural else noun.singular)), plural
    stuff = (*adjective, *(noun.singular or noun.plural))
    if counted or determiner in ("one", "this", "that"):
        return (noun.unit[counted], "of", *stuff), counted
    return stuff, not noun.singular


def pronoun_for(noun: Noun, plural: bool) -> str:
    """The Chinese pronoun that refers to the noun."""
    if noun.kinds & PEOPLE:
        return "他们" if plural else "她" if noun.zh in WOMEN else "他"
    return "它们" if plural else "它"


def draw_noun_phrase(
    draw: Draw, noun: Noun, determiner: str, adjective_chance: float = 0.3, plain: bool = False
) -> NounPhrase:
    """A noun with this determiner, a random owner or number, and sometimes an adjective.

    With `plain` or with an owner, the adjective is one that takes no 的.
    """
    fitting = adjectives_before(noun, plain or determiner == "own")
    adjective = draw.choice(fitting) if fitting and draw.chance(adjective_chance) else None
    numbers = NUMBERS[:5] if noun.kinds & PEOPLE else NUMBERS  # no group of four doctors
    number = draw.choice(numbers) if determiner in ("number", "these", "those") else None
    if determiner == "own":
        return noun_phrase(noun, determiner, adjective, number, draw_owner(draw, noun))
    draw.discard(lambda draw: draw_owner(draw, noun))
    return noun_phrase(noun, determiner, adjective, number)


def suits(noun: Noun, person: NounPhrase) -> bool:
    """Whether the person can wear, get or own the thing: several people do not share a shirt."""
    if noun.kinds & {"personal"} and is_plural(person):
        return False
    return not ("skirt" in noun.kinds and person.zh[-1] in MEN)


def goes_to(person: NounPhrase, place: Place) -> bool:
    """Whether the person can be met at the place: a driver is rarely in a classroom."""
    return person.noun not in place.strangers


def draw_owner(draw: Draw, noun: Noun) -> NounPhrase:
    """The owner of a thing: my, the teacher's, my friend's."""
    return draw.until(draw_any_owner, can_own, noun)


def can_own(_: Draw, owner: NounPhrase, noun: Noun) -> bool:
    return suits(noun, owner)


def draw_any_owner(draw: Draw) -> NounPhrase:
    if draw.chance(0.9):
        return draw.choice(pronoun_list)
    if draw.chance(0.5):
        return noun_phrase(draw.choice(nouns_of_kind("person")), "the")
    return draw_relative(draw)


def draw_relative(draw: Draw, noun: Noun | None = None) -> NounPhrase:
    """Somebody's mother, friend or classmate."""
    owner = draw.choice(pronoun_list)
    return noun_phrase(noun or draw.choice(nouns_of_kind("kin")), "own", owner=owner)


def draw_person(draw: Draw, pronoun_chance: float = 0.5) -> NounPhrase:
    """A person that the hearer can identify: a pronoun, a relative, or a definite noun phrase."""
    if draw.chance(pronoun_chance):
        return draw.choice(pronoun_list)
    if draw.chance(0.5):
        return draw_relative(draw)
    noun = draw.choice(nouns_of_kind("person"))
    if draw.chance(0.25):
        en = ("the", *noun.plural)
        return NounPhrase((noun.zh, "们"), en, "they", en, (*en, "'s"), "他们", noun=noun.zh)
    determiner = draw.choice(("this", "that", "these", "those", "the"))
    adjective_chance = 0.3 if determiner in ("this", "that") else 0.0
    return draw_noun_phrase(draw, noun, determiner, adjective_chance)


def draw_other_person(draw: Draw, subject: NounPhrase) -> NounPhrase | None:
    """A person other than the subject, or None if the draw gave the same person.

    Several teachers have no mother or friend in common, so their relatives and friends are
    excluded. People described by an adjective are excluded, too.
    """
    person = draw_person(draw)
    both_first_person = {person.zh[0], subject.zh[0]} == {"我", "我们"}  # also 我 and 我们 妈妈
    both_second_person = {person.zh[0], subject.zh[0]} == {"你", "你们"}
    alike = both_first_person or both_second_person or person.en == subject.en
    shared = subject.noun and is_plural(subject) and person.noun in relatives
    return None if alike or shared or person.combinations else person


def draw_close_person(draw: Draw, subject: NounPhrase) -> NounPhrase | None:
    """Another person for *with* and *for*: a pronoun, a relative or a friend."""
    person = draw_other_person(draw, subject)
    return person if person is not None and person.noun in ("", *relatives) else None


def is_plural(subject: NounPhrase) -> bool:
    """Whether the subject is plural. 你 is not, although it takes the same verb form."""
    return subject.agreement == "they" and subject.zh != ("你",)
