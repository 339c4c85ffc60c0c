"""Read the word tables: nouns, verbs, adjectives, places, times, and the dictionary."""

from dataclasses import dataclass

from attnbook.corpus.grammar import words

Words = tuple[str, ...]
Kinds = frozenset[str]


def rows(table: str) -> list[list[str]]:
    """The entries of each line, without the bars between the columns."""
    lines = (line.replace("|", " ").split() for line in table.splitlines())
    return [line for line in lines if line]


def split(entry: str) -> Words:
    """Split an entry at its underscores into words; "-" stands for no words."""
    return () if entry == "-" else tuple(entry.split("_"))


def parse_kinds(entry: str) -> Kinds:
    """Split an entry at its commas into kinds; "-" stands for no kinds."""
    return frozenset() if entry == "-" else frozenset(entry.split(","))


@dataclass(frozen=True)
class Noun:
    """A noun with its measure word, and its English singular and plural."""

    zh: str
    measure: str
    singular: Words
    plural: Words
    kinds: Kinds

    @property
    def countable(self) -> bool:
        """Whether English counts the noun without a unit: two books, but two cups of tea."""
        return bool(self.singular and self.plural)

    @property
    def unit(self) -> Words:
        """The unit in which English counts the noun, singular and plural: cup, cups."""
        return ("glass", "glasses") if self.zh in words.GLASSES else units[self.measure]


@dataclass(frozen=True)
class Verb:
    """A verb with its four English forms, the kinds of its objects, and its activity.

    A place lists the activities that fit it.
    """

    zh: Words
    base: Words
    third: Words
    past: Words
    ing: Words
    kinds: Kinds = frozenset()
    activity: str = "-"
    traits: Kinds = frozenset()

    @property
    def forms(self) -> tuple[Words, ...]:
        """The verb's English forms: eat, eats, ate, eating."""
        return self.base, self.third, self.past, self.ing


@dataclass(frozen=True)
class Adjective:
    """An adjective, its comparative, and the kinds of nouns that it describes."""

    zh: str
    en: str
    comparative: Words
    kinds: Kinds
    traits: Kinds = frozenset()
    color: bool = False


@dataclass(frozen=True)
class Place:
    """A place with the activities that fit it and the kinds of things found there.

    `at` is its English name with a preposition: 图书馆, in the library. `strangers` are the people
    who rarely go there. Traits: day (nobody is there in the evening), many (things are found there
    in large numbers).
    """

    zh: Words
    at: Words
    activities: Kinds = frozenset()
    holds: Kinds = frozenset()
    strangers: Kinds = frozenset()
    traits: Kinds = frozenset()

    @property
    def to(self) -> Words:
        return ("home",) if self.at == ("at", "home") else ("to", *self.at[1:])


@dataclass(frozen=True)
class Time:
    """A time: 昨天, yesterday.

    A time that spans a week or a year fits only verbs with the trait week or year. An evening fits
    only places that are open then, and only verbs without the trait day. A morning fits only verbs
    without the trait night.
    """

    zh: Words
    en: Words
    tense: str
    span: str = "day"


def read_verbs(table: str) -> list[Verb]:
    return [
        Verb(
            split(zh),
            split(a),
            split(b),
            split(c),
            split(d),
            parse_kinds(of),
            activity,
            parse_kinds(traits),
        )
        for zh, _, a, b, c, d, of, activity, traits in rows(table)
    ]


def read_adjectives(table: str, color: bool) -> list[Adjective]:
    return [
        Adjective(zh, en, split(comparative), parse_kinds(of), parse_kinds(traits), color)
        for zh, _, en, comparative, of, traits in rows(table)
    ]


units = {row[0]: (row[2], row[3]) for row in rows(words.MEASURES) if len(row) == 4}
nouns = [
    Noun(zh, measure, split(singular), split(plural), parse_kinds(of))
    for zh, _, measure, singular, plural, of in rows(words.NOUNS)
]
verbs, animal_verbs = read_verbs(words.VERBS), read_verbs(words.ANIMAL_VERBS)
colors = read_adjectives(words.COLORS, color=True)
adjectives = read_adjectives(words.ADJECTIVES, color=False) + colors
feelings = [
    Adjective(zh, en, (), frozenset(), parse_kinds(traits))
    for zh, _, en, traits in rows(words.FEELINGS)
]
places = [
    Place((zh,), split(at), *map(parse_kinds, columns))
    for zh, _, at, *columns in rows(words.PLACES)
]
cities = [Place((zh,), split(at)) for zh, _, at in rows(words.CITIES)]
spots = [
    Place((noun, side), split(at), holds=parse_kinds(of))
    for noun, side, at, of in rows(words.SPOTS)
]
times = [Time(split(zh), split(en), tense, *span) for zh, en, tense, *span in rows(words.TIMES)]
vehicles = [((verb, noun), split(en), reach) for verb, noun, en, reach in rows(words.VEHICLES)]


def read_dictionary() -> dict[str, tuple[str, Words]]:
    """Return each Chinese word's pinyin, and the first of its English meanings in the tables."""
    entries: dict[str, tuple[str, Words]] = {}
    for zh, pinyin, _, singular, plural, _ in rows(words.NOUNS):
        entries.setdefault(zh, (pinyin, split(singular) or split(plural)))
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
