"""Noun phrases in both languages: who or what a sentence speaks of."""

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from attnbook.grammar.words import (
    PLACES,
    PRONOUNS,
    Adjective,
    Noun,
    adjectives,
    nouns,
    rows,
    split,
)

T = TypeVar("T")
Words = tuple[str, ...]
Combinations = frozenset[tuple[str, str]]

NUMBERS = (("两", "two"), ("三", "three"), ("四", "four"), ("五", "five"))
POINTERS = {"this": "这", "that": "那", "these": "这", "those": "那"}


class Draw:
    """Choices from a seed, the same on every machine and in every version of Python.

    Of `random.Random` only `random()` is used: what it gives for a seed is promised not to change.
    """

    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random

    def one(self, options: Sequence[T]) -> T:
        return options[int(self._next() * len(options))]

    def chance(self, probability: float) -> bool:
        return self._next() < probability


@dataclass(frozen=True)
class Phrase:
    """Somebody or something: Chinese, English, and what English must know besides.

    `agree` is whose verb form it takes (i am, he is, they are), `as_object` its form behind a verb
    (him), `pronoun` what stands for it later, and `combinations` the adjective with its noun.
    """

    zh: Words
    en: Words
    agree: str = "he"
    as_object: Words = ()
    combinations: Combinations = frozenset()
    pronoun: tuple[str, str, str] = ("它", "it", "it")

    @property
    def object(self) -> Words:
        return self.as_object or self.en


pronouns = {
    zh: Phrase((zh,), (subject,), agree, (as_object,), pronoun=(zh, subject, as_object))
    for zh, _, subject, as_object, _, agree in rows(PRONOUNS)
}
possessives = {zh: my for zh, _, _, _, my, _ in rows(PRONOUNS)}


@functools.cache
def of_kind(*names: str) -> list[Noun]:
    """The nouns of these kinds."""
    return [noun for noun in nouns if noun.kinds & set(names)]


@functools.cache
def fitting(noun: Noun) -> list[Adjective]:
    """The adjectives that describe such a thing."""
    return [adjective for adjective in adjectives if noun.kinds & adjective.kinds]


def noun_phrase(
    noun: Noun,
    determiner: str,
    adjective: Adjective | None = None,
    number: tuple[str, str] | None = None,
    owner: str = "我",
) -> Phrase:
    """Put a noun behind its determiner, its measure word and its adjective.

    Determiners: the, a, any and plural, which Chinese leaves out; one; number; this, that; these,
    those, which take a number too; many; some; own (我 的).
    """
    before: Words = () if adjective is None else (adjective.zh,)
    if adjective is not None and not adjective.plain:
        before += ("的",)
    measured = (noun.measure, *before, noun.zh)
    counted = determiner in ("one", "number", "this", "that", "these", "those")
    zh: Words = {
        "one": ("一", *measured),
        "number": (number[0] if number else "", *measured),
        "many": ("很多", *before, noun.zh),
        "some": ("一些", *before, noun.zh),
        "own": (owner, "的", *before, noun.zh),
    }.get(determiner, (*before, noun.zh))
    if determiner in POINTERS:
        zh = (POINTERS[determiner], *([number[0]] if number else []), *measured)
    several = determiner in ("number", "these", "those")
    described = () if adjective is None else (adjective.en,)
    if noun.countable:
        plural = several or determiner in ("any", "plural", "many", "some")
        head: Words = (*described, noun.plural if plural else noun.singular)
        front = {"plural": (), "many": ("many",)}
    else:
        stuff = noun.plural if noun.singular == "-" else noun.singular
        plural = several or (noun.singular == "-" and not counted)
        head = (*described, stuff)
        if counted:
            head = (noun.unit[several], "of", *head)
        front = {"a": (), "plural": (), "many": ("a", "lot", "of")}
    count: Words = (number[1],) if number else ()
    front |= {"one": ("a",), "number": count, "own": (possessives[owner],)}
    if determiner in ("these", "those"):
        front[determiner] = (determiner, *count)
    en = (*front.get(determiner, (determiner,)), *head)
    made = frozenset() if adjective is None else frozenset({(adjective.zh, noun.zh)})
    return Phrase(zh, en, "they" if plural else "he", (), made, stand_in(noun, plural))


def stand_in(noun: Noun, plural: bool) -> tuple[str, str, str]:
    """The pronoun that speaks of the noun again: 它, 它们, and for people 他, 她, 他们."""
    people = noun.kinds & {"person", "kin", "boss"}
    if plural:
        return ("他们" if people else "它们", "they", "them")
    if not people:
        return ("它", "it", "it")
    return ("她", "she", "her") if noun.zh in ("妈妈", "姐姐", "奶奶") else ("他", "he", "him")


def thing(draw: Draw, noun: Noun, determiner: str, adjective_chance: float = 0.3) -> Phrase:
    """A thing with this determiner, now and then with an adjective that fits."""
    fit = [a for a in fitting(noun) if determiner != "own" or a.plain]
    adjective = draw.one(fit) if fit and draw.chance(adjective_chance) else None
    number = draw.one(NUMBERS) if determiner in ("number", "these", "those") else None
    return noun_phrase(noun, determiner, adjective, number, draw.one(list(possessives)))


def someone(draw: Draw, pronoun_chance: float = 0.55) -> Phrase:
    """A person whom both speakers know: a subject, or an object of people."""
    if draw.chance(pronoun_chance):
        return draw.one(list(pronouns.values()))
    if draw.chance(0.5):
        return noun_phrase(draw.one(of_kind("kin")), "own", owner=draw.one(list(possessives)))
    noun = draw.one(of_kind("person"))
    if draw.chance(0.25):
        return Phrase(
            (noun.zh, "们"), ("the", noun.plural), "they", pronoun=stand_in(noun, plural=True)
        )
    return thing(draw, noun, draw.one(("this", "that", "these", "those", "the")))


@dataclass(frozen=True)
class Place:
    """Where something is done: 在 图书馆, in the library."""

    zh: str
    at: Words
    activities: frozenset[str] = frozenset()
    holds: frozenset[str] = frozenset()

    @property
    def to(self) -> Words:
        return ("home",) if self.at == ("at", "home") else ("to", *self.at[1:])


places = [
    Place(zh, split(at), frozenset(activities.split(",")), frozenset(holds.split(",")))
    for zh, _, at, activities, holds in rows(PLACES)
]
