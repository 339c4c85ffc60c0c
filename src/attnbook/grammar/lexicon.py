"""The tables of words, read: nouns, verbs, adjectives, places, times, and the dictionary."""

from dataclasses import dataclass

from attnbook.grammar import words

Words = tuple[str, ...]
Kinds = frozenset[str]


def rows(table: str) -> list[list[str]]:
    """The entries of each line, without the bars that divide it for the eye."""
    lines = (line.replace("|", " ").split() for line in table.splitlines())
    return [line for line in lines if line]


def split(entry: str) -> Words:
    """The words of an entry, which its line joins by underscores; - for none."""
    return () if entry == "-" else tuple(entry.split("_"))


def kinds(entry: str) -> Kinds:
    """The kinds of an entry, between commas; - for none."""
    return frozenset() if entry == "-" else frozenset(entry.split(","))


@dataclass(frozen=True)
class Noun:
    """Something with its measure word and both its English numbers."""

    zh: str
    measure: str
    singular: Words
    plural: Words
    kinds: Kinds

    @property
    def countable(self) -> bool:
        """Whether English counts it without a unit: two books, but two cups of tea."""
        return bool(self.singular and self.plural)

    @property
    def unit(self) -> Words:
        """What English counts it in, one and several: cup, cups."""
        return ("glass", "glasses") if self.zh in words.GLASSES else units[self.measure]


@dataclass(frozen=True)
class Verb:
    """An action in its four English forms; what it is done to; what it is at a place."""

    zh: Words
    base: Words
    third: Words
    past: Words
    ing: Words
    kinds: Kinds = frozenset()
    activity: str = "-"
    traits: Kinds = frozenset()


@dataclass(frozen=True)
class Adjective:
    """A quality, its comparative, and the kinds of things that have it."""

    zh: str
    en: str
    more: Words
    kinds: Kinds
    traits: Kinds = frozenset()
    color: bool = False


@dataclass(frozen=True)
class Place:
    """Where something is, is done, or somebody goes: 图书馆, in the library."""

    zh: Words
    at: Words
    activities: Kinds = frozenset()
    holds: Kinds = frozenset()

    @property
    def to(self) -> Words:
        return ("home",) if self.at == ("at", "home") else ("to", *self.at[1:])


@dataclass(frozen=True)
class Time:
    """When: 昨天, yesterday. A week or a year fits only what is done rarely."""

    zh: Words
    en: Words
    tense: str
    span: str = "day"


def read_verbs(table: str) -> list[Verb]:
    return [
        Verb(split(zh), split(a), split(b), split(c), split(d), kinds(of), activity, kinds(traits))
        for zh, _, a, b, c, d, of, activity, traits in rows(table)
    ]


def read_adjectives(table: str, color: bool) -> list[Adjective]:
    return [
        Adjective(zh, en, split(more), kinds(of), kinds(traits), color)
        for zh, _, en, more, of, traits in rows(table)
    ]


units = {row[0]: (row[2], row[3]) for row in rows(words.MEASURES) if len(row) == 4}
nouns = [
    Noun(zh, measure, split(one), split(many), kinds(of))
    for zh, _, measure, one, many, of in rows(words.NOUNS)
]
verbs, animal_verbs = read_verbs(words.VERBS), read_verbs(words.ANIMAL_VERBS)
colors = read_adjectives(words.COLORS, color=True)
adjectives = read_adjectives(words.ADJECTIVES, color=False) + colors
feelings = [
    Adjective(zh, en, (), frozenset(), kinds(traits)) for zh, _, en, traits in rows(words.FEELINGS)
]
places = [
    Place((zh,), split(at), kinds(activities), kinds(holds))
    for zh, _, at, activities, holds in rows(words.PLACES)
]
cities = [Place((zh,), split(at)) for zh, _, at in rows(words.CITIES)]
spots = [
    Place((noun, side), split(at), holds=kinds(of)) for noun, side, at, of in rows(words.SPOTS)
]
times = [Time(split(zh), split(en), tense, *span) for zh, en, tense, *span in rows(words.TIMES)]
vehicles = [((ride, what), split(en), goes) for ride, what, en, goes in rows(words.VEHICLES)]


def read_dictionary() -> dict[str, tuple[str, Words]]:
    """For each Chinese word its pinyin and one English meaning: the first in the tables."""
    entries: dict[str, tuple[str, Words]] = {}
    for zh, pinyin, _, one, many, _ in rows(words.NOUNS):
        entries.setdefault(zh, (pinyin, split(one) or split(many)))
    for table in (
        words.VERBS, words.ADJECTIVES, words.COLORS, words.FEELINGS, words.PRONOUNS, words.OTHERS,
    ):  # fmt: skip
        for zh, pinyin, meaning, *_ in rows(table):
            entries.setdefault(zh, (pinyin, split(meaning)))
    for zh, pinyin, at, *_ in rows(words.PLACES) + rows(words.CITIES):
        entries.setdefault(zh, (pinyin, split(at)[-1:]))
    for zh, pinyin, *_ in rows(words.MEASURES):
        entries.setdefault(zh, (pinyin, ()))
    return entries


dictionary = read_dictionary()
