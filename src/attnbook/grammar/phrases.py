"""Who and what a sentence speaks of: noun phrases, in Chinese and in English side by side."""

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from attnbook.grammar.lexicon import Adjective, Noun, Words, adjectives, nouns, rows
from attnbook.grammar.words import PRONOUNS

T = TypeVar("T")
Combinations = frozenset[tuple[str, str]]

NUMBERS = (("两", "two"), ("三", "three"), ("四", "four"), ("五", "five"))
HOW_MANY = ("几", "many")
WOMEN = {"妈妈", "姐姐", "奶奶"}
PEOPLE = {"person", "kin", "boss"}
NOBODYS = {"film", "song", "tree", "opening", "language", "sauce", "fish"}  # not "my ..."


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
    """Somebody or something, and what English has to know about it.

    `agree` is whose verb form it takes (i am, he is, they are); `as_object` its form behind a verb
    (him); `owner` in front of what belongs to it (his); `again` the pronoun that speaks of it
    later; `combinations` holds an adjective with its noun.
    """

    zh: Words
    en: Words
    agree: str
    as_object: Words
    owner: Words
    again: str = "它"
    combinations: Combinations = frozenset()


pronouns = {
    zh: Phrase((zh,), (subject,), agree, (behind,), (my,), zh)
    for zh, _, subject, behind, my, agree in rows(PRONOUNS)
}


@functools.cache
def of_kinds(*names: str) -> list[Noun]:
    """The nouns of any of these kinds."""
    return [noun for noun in nouns if noun.kinds & set(names)]


people = {noun.zh for noun in of_kinds(*PEOPLE)}


@functools.cache
def describing(noun: Noun) -> list[Adjective]:
    """The adjectives that can be said of such a thing."""
    return [adjective for adjective in adjectives if noun.kinds & adjective.kinds]


def noun_phrase(
    noun: Noun,
    determiner: str,
    adjective: Adjective | None = None,
    number: tuple[str, str] | None = None,
    owner: Phrase = pronouns["我"],
) -> Phrase:
    """A noun behind its determiner, its measure word and its adjective.

    Determiners: the, a, any and plural, which Chinese leaves out; one; number; this, that; these
    and those, which take a number; many; some; own (我 的).
    """
    quality: Words = (adjective.zh,) if adjective else ()
    if adjective and "plain" not in adjective.traits:
        quality = (*quality, "的")
    described = (*quality, noun.zh)
    count: Words = (number[0],) if number else ()
    zh: Words = {
        "one": ("一", noun.measure, *described),
        "number": (*count, noun.measure, *described),
        "this": ("这", noun.measure, *described),
        "that": ("那", noun.measure, *described),
        "these": ("这", *count, noun.measure, *described),
        "those": ("那", *count, noun.measure, *described),
        "many": ("很多", *described),
        "some": ("一些", *described),
        "own": (*owner.zh, "的", *described),
    }.get(determiner, described)
    head, plural = english_noun(noun, determiner, (adjective.en,) if adjective else ())
    many: Words = (number[1],) if number else ()
    en: Words = {
        "one": ("a", *head),
        "number": (*many, *head),
        "these": ("these", *many, *head),
        "those": ("those", *many, *head),
        "plural": head,
        "a": ("a", *head) if noun.countable else head,
        "many": ("many", *head) if noun.countable else ("a", "lot", "of", *head),
        "own": (*owner.owner, *head),
    }.get(determiner, (determiner, *head))
    made = frozenset({(adjective.zh, noun.zh)}) if adjective else frozenset()
    agree = "they" if plural else "he"
    return Phrase(zh, en, agree, en, (*en, "'s"), stand_in(noun, plural), made)


def english_noun(noun: Noun, determiner: str, adjective: Words) -> tuple[Words, bool]:
    """The English noun, in its number or its unit, with its adjective; and whether it is plural."""
    several = determiner in ("number", "these", "those")
    if noun.countable:
        plural = several or determiner in ("any", "plural", "many", "some")
        return (*adjective, *(noun.plural if plural else noun.singular)), plural
    stuff = (*adjective, *(noun.singular or noun.plural))
    if several or determiner in ("one", "this", "that"):
        return (noun.unit[several], "of", *stuff), several
    return stuff, not noun.singular


def stand_in(noun: Noun, plural: bool) -> str:
    """The pronoun that speaks of the noun again."""
    if noun.kinds & PEOPLE:
        return "他们" if plural else "她" if noun.zh in WOMEN else "他"
    return "它们" if plural else "它"


def thing(draw: Draw, noun: Noun, determiner: str, adjective_chance: float = 0.3) -> Phrase:
    """A thing behind this determiner, now and then with an adjective that fits."""
    fit = [a for a in describing(noun) if "after" not in a.traits]
    fit = [a for a in fit if determiner != "own" or "plain" in a.traits]
    adjective = draw.one(fit) if fit and draw.chance(adjective_chance) else None
    number = draw.one(NUMBERS) if determiner in ("number", "these", "those") else None
    return noun_phrase(noun, determiner, adjective, number, an_owner(draw))


def an_owner(draw: Draw) -> Phrase:
    """Whose something is: my, the teacher's, my friend's."""
    if draw.chance(0.8):
        return draw.one(list(pronouns.values()))
    if draw.chance(0.5):
        return noun_phrase(draw.one(of_kinds("person")), "the")
    return relative(draw)


def relative(draw: Draw, noun: Noun | None = None) -> Phrase:
    """Somebody's mother, friend or classmate."""
    owner = draw.one(list(pronouns.values()))
    return noun_phrase(noun or draw.one(of_kinds("kin")), "own", owner=owner)


def someone(draw: Draw, pronoun_chance: float = 0.5) -> Phrase:
    """A person whom both speakers know."""
    if draw.chance(pronoun_chance):
        return draw.one(list(pronouns.values()))
    if draw.chance(0.5):
        return relative(draw)
    noun = draw.one(of_kinds("person"))
    if draw.chance(0.25):
        en = ("the", *noun.plural)
        return Phrase((noun.zh, "们"), en, "they", en, (*en, "'s"), "他们")
    determiner = draw.one(("this", "that", "these", "those", "the"))
    return thing(draw, noun, determiner, 0.0 if determiner == "the" else 0.3)


def somebody_else(draw: Draw, subject: Phrase) -> Phrase | None:
    """A person other than the subject, or None where the draw gave the same."""
    other = someone(draw)
    we = {other.en, subject.en} <= {("i",), ("we",)}
    same = people & set(other.zh) & set(subject.zh)
    return None if we or same or other.en == subject.en else other


def several(subject: Phrase) -> bool:
    """Whether the subject is more than one: 你 takes the same verb form and is not."""
    return subject.agree == "they" and subject.zh != ("你",)
