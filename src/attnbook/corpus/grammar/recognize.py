"""Find out whether the grammar can produce an English sentence, and with what probability.

The grammar's own code decides. It runs once for each combination of its random choices, but options
that look the same in the sentence count as one. A run ends as soon as the grammar expects words
that the sentence does not have.
"""

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

from attnbook.corpus.grammar import words
from attnbook.corpus.grammar.clauses import Sentence
from attnbook.corpus.grammar.lexicon import Adjective, Noun, Place, Time, Verb, Words
from attnbook.corpus.grammar.noun_phrases import PEOPLE, Draw, NounPhrase
from attnbook.corpus.grammar.sentences import KINDS, finish

T = TypeVar("T")
U = TypeVar("U")
QUESTIONS = {"yes_no", "what", "who", "count", "why", "where"}
SET_NOUNS = {phrase[-1] for phrase in words.SET_PHRASES}  # "sing" does not show 歌


class NoWay(Exception):
    """The choices of this run cannot produce the sentence."""


class GuidedDraw(Draw):
    """Choices that follow a path of numbers, not a seed; past its end, the first option is chosen.

    `weight` is the probability of the choices so far. `open` lists the choices made after the end
    of the path, each with its number of options. Without a sentence, each option counts separately.
    """

    def __init__(self, path: list[int], english: Words | None, known: dict[Hashable, Any]) -> None:
        self.path, self.position, self.weight = path, 0, 1.0
        self.open: list[tuple[int, int]] = []
        self.guided = english is not None
        self.english: Words = english or ()
        self.known = known  # what does not depend on the path
        self.text = f" {' '.join(self.english)} "

    def follow(self, weights: Sequence[float]) -> int:
        """Take the next number of the path."""
        if not weights:
            raise NoWay
        if self.position == len(self.path):
            if len(weights) > 1:
                self.open.append((self.position, len(weights)))
            self.path.append(0)
        chosen = self.path[self.position]
        self.position += 1
        self.weight *= weights[chosen]
        return chosen

    def choice(self, options: Sequence[T]) -> T:
        same = tuple(map(id, options))
        if same not in self.known:
            groups: dict[Hashable, list] = {}
            for option in options:
                groups.setdefault(self.group(option), [option, 0])[1] += 1
            groups.pop(NoWay, None)
            shares = [count / len(options) for _, count in groups.values()]
            # Keep the options too, so that no other object can get the id of one of them.
            self.known[same] = [one for one, _ in groups.values()], shares, options
        firsts, shares, _ = self.known[same]
        return firsts[self.follow(shares)]

    def chance(self, probability: float) -> bool:
        if not 0 < probability < 1:
            return probability >= 1
        return self.follow((probability, 1 - probability)) == 0

    def until(
        self,
        make: Callable[[Draw], NounPhrase],
        fits: Callable[[Draw, NounPhrase, U], bool],
        about: U,
        seen: bool = True,
    ) -> NounPhrase:
        if (make, seen) not in self.known:
            made = runs(make, self.english if self.guided else None)
            shown = [(one, p) for one, p in made if not seen or self.shows_phrase(one)]
            self.known[make, seen] = [one for one, _ in shown], [p for _, p in shown]
        options, shares = self.known[make, seen]
        drawn = options[self.follow(shares)]
        if not fits(self, drawn, about):
            raise NoWay
        self.weight /= probability_to_fit(make, fits, about)
        return drawn

    def discard(self, make: Callable[[Draw], object]) -> None:
        """Do nothing: choices that the sentence does not show need not be made."""

    def expect(self, *phrases: Words) -> None:
        if self.guided and not all(self.shows(phrase) for phrase in phrases):
            raise NoWay

    def expect_one(self, *phrases: Words) -> None:
        if self.guided and not self.shows_any(*phrases):
            raise NoWay

    def shows(self, phrase: Words) -> bool:
        return not phrase or f" {' '.join(phrase)} " in self.text

    def group(self, option: object) -> Hashable:
        """What the sentence shows: the option, or a group whose options look the same."""
        if not self.guided:
            return id(option)
        if isinstance(option, str):
            return self.group_of_name(option)
        if isinstance(option, NounPhrase):
            return id(option) if self.shows_phrase(option) else option.zh[0][0]
        if isinstance(option, Noun | Verb | Adjective | Place | Time):
            return self.group_of_word(option)
        return id(option)

    def shows_phrase(self, phrase: NounPhrase) -> bool:
        shown = (phrase.en, phrase.object_form, phrase.possessive)
        return not self.guided or self.shows_any(*shown)

    def group_of_word(self, option: Noun | Verb | Adjective | Place | Time) -> Hashable:
        shown: tuple[Words, ...]
        hidden: Hashable
        match option:
            case Noun():
                shown = (option.singular, option.plural)
                hidden = ("noun", bool(option.kinds & PEOPLE))
                if option.zh in SET_NOUNS:
                    hidden = id(option)
            case Verb():
                shown, hidden = option.forms, NoWay
            case Adjective():
                shown, hidden = ((option.en,), option.comparative), "adjective"
            case Place():
                shown = (option.at, option.to)
                asked = self.english[:1] == ("where",)
                hidden = id(option) if asked else "place"
            case Time():
                shown, hidden = (option.en,), "time"
        return id(option) if self.shows_any(*shown) else hidden

    def shows_any(self, *phrases: Words) -> bool:
        return any(phrase and self.shows(phrase) for phrase in phrases)

    def group_of_name(self, name: str) -> Hashable:
        """The group of a clause form, which must fit the sentence, or of a determiner."""
        if name in QUESTIONS and "?" not in self.english:
            return NoWay
        if name in ("statement", "negative") and "?" in self.english:
            return NoWay
        if name == "negative" and "not" not in self.english:
            return NoWay
        if name in ("this", "that", "these", "those") and name not in self.english:
            return "hidden"
        return name


def runs(
    make: Callable[[GuidedDraw], T],
    english: Words | None = None,
    known: dict[Hashable, Any] | None = None,
) -> Iterator[tuple[T, float]]:
    """Yield the result and the probability of each way in which `make` can choose.

    `known` keeps what depends only on the sentence, for later calls.
    """
    known = {} if known is None else known
    waiting: list[list[int]] = [[]]
    while waiting:
        draw = GuidedDraw(waiting.pop(), english, known)
        try:
            made = make(draw)
        except NoWay:
            pass
        else:
            yield made, draw.weight
        for position, n_options in draw.open:
            waiting += [[*draw.path[:position], other] for other in range(1, n_options)]


@functools.cache
def probability_to_fit(
    make: Callable[[Draw], T], fits: Callable[[Draw, T, U], bool], about: U
) -> float:
    def fits_now(draw: Draw) -> bool:
        return fits(draw, make(draw), about)

    return sum(weight for fit, weight in runs(fits_now) if fit)


def ways(english: Sequence[str]) -> Iterator[tuple[Sentence, float]]:
    """Yield each way in which the grammar makes the sentence, with its probability."""
    told = tuple(
        " ".join("a" if word == "an" else word for word in english)
        .replace("cannot", "can not")
        .split()
    )
    known: dict[Hashable, Any] = {}
    for kind in dict.fromkeys(KINDS):
        for made, weight in runs(kind, told, known):
            sentence = finish(made) if made is not None and made.en == told else None
            if sentence is not None and sentence.en == tuple(english):
                yield sentence, weight * KINDS.count(kind) / len(KINDS)


def is_grammatical(english: Sequence[str]) -> bool:
    """Whether the grammar can make this English sentence, of any length."""
    return next(ways(english), None) is not None
