"""The parallel corpus: pairs drawn from the grammar, split into training and test sets."""

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from attnbook.checks.sizes import check_size
from attnbook.corpus.grammar.clauses import Sentence
from attnbook.corpus.grammar.lexicon import Words, animal_verbs, dictionary, nouns, verbs
from attnbook.corpus.grammar.noun_phrases import PEOPLE, Combinations, Draw, adjectives_for
from attnbook.corpus.grammar.sentences import draw_sentence

LONGEST = 11  # the most words in a training sentence, in each language
BOOK_EXAMPLE = ("甜", "苹果")  # 苹果 很 甜 is in the test set, never in the training set


@dataclass(frozen=True)
class Pair:
    """A Chinese sentence and its English translation, both split into words.

    `combinations` are the Chinese words that belong together: an adjective and its noun, a
    verb and its object.
    """

    chinese: Words
    english: Words
    combinations: Combinations = field(default=frozenset(), compare=False, repr=False)

    @property
    def pinyin(self) -> str:
        """The pronunciation of the Chinese, with the tones that a dictionary gives each word."""
        return " ".join(dictionary[w][0] if w in dictionary else w for w in self.chinese)


class Corpus(NamedTuple):
    """Training pairs, and two test sets: new combinations of words, and longer sentences."""

    train: list[Pair]
    new_combinations: list[Pair]
    longer: list[Pair]


@functools.cache
def held_out_combinations() -> Combinations:
    """The pairs of words that no training sentence combines: 甜 with 苹果, and some others.

    Training must still teach their words, in other combinations. So no pair is held out for a
    verb or an adjective with fewer than four nouns, a noun with fewer than three verbs (or three
    adjectives), or the verbs of animals. No pair is held out, either, for an entry of the verb
    table that fits only one noun, because that pair would fill much of the test set. Each noun
    loses at most one verb and one adjective, and each verb or adjective at most three nouns. People
    and furniture lose none, because they are in many sentences as subjects or as places.
    """
    things = [noun for noun in nouns if not noun.kinds & {*PEOPLE, "furniture"}]
    objects = [(verb, [n for n in things if n.kinds & verb.kinds]) for verb in verbs]
    verb_objects = {(verb.zh[0], n.zh) for verb, taken in objects for n in taken if len(taken) > 1}
    verb_objects -= {
        (verb.zh[0], n.zh) for verb in animal_verbs for n in things if n.kinds & verb.kinds
    }
    adjective_nouns = {(adjective.zh, n.zh) for n in things for adjective in adjectives_for(n)}
    held_out = {BOOK_EXAMPLE}
    for pairs in verb_objects, adjective_nouns:
        firsts, seconds = (Counter(words) for words in zip(*pairs, strict=True))
        taken, of_noun = Counter[str](), Counter[str]()
        for word, noun in sorted(pairs)[1::2]:
            left = min(firsts[word] - 3, 3) - taken[word]
            once = seconds[noun] >= 3 and not of_noun[noun]
            if left > 0 and once and not {word, noun} & set(BOOK_EXAMPLE):
                held_out.add((word, noun))
                taken[word] += 1
                of_noun[noun] += 1
    return frozenset(held_out)


def make_corpus(n_train: int = 60_000, n_test: int = 500, seed: int = 0) -> Corpus:
    """Draw pairs with distinct Chinese sentences from the grammar, and split them into three sets.

    A pair with at most LONGEST words in each language goes to `train`, or to `new_combinations` if
    it has a held-out combination. A pair with more in both, and no such combination, goes to
    `longer`. All others are dropped, including those that contain both words of a held-out pair
    separately. Every word of the two test sets also occurs in `train`.

    Raises:  TypeError, ValueError if a size is not a positive int
    """
    for name, size in (("n_train", n_train), ("n_test", n_test)):
        check_size(name, size)
    return Corpus(*map(list, draw_corpus(n_train, n_test, seed)))


@functools.lru_cache(4)  # a chapter that makes its corpus again need not wait again
def draw_corpus(n_train: int, n_test: int, seed: int) -> Corpus:
    """Draw the corpus that `make_corpus` returns."""
    draw, held_out = Draw(seed), held_out_combinations()
    train, new, longer = (dict[Words, Pair]() for _ in range(3))
    spare = n_test + n_test // 4  # pairs with a word that is not in train are dropped
    wanted = ((train, n_train), (new, spare), (longer, spare))
    while any(len(pairs) < size for pairs, size in wanted):
        drawn = draw_sentence(draw)
        short, unseen = is_short(drawn), bool(drawn.combinations & held_out)
        long = min(len(drawn.zh), len(drawn.en)) > LONGEST
        if not (short or (long and not unseen)) or (not unseen and meet(drawn.zh, held_out)):
            continue
        pairs, size = wanted[2 if long else 1 if unseen else 0]
        if len(pairs) < size:
            pairs[drawn.zh] = Pair(drawn.zh, drawn.en, drawn.combinations)
    learned = {word for pair in train.values() for word in (*pair.chinese, *pair.english)}
    tests = (
        [pair for pair in pairs.values() if learned.issuperset((*pair.chinese, *pair.english))]
        for pairs in (new, longer)
    )
    return Corpus(list(train.values()), *(pairs[:n_test] for pairs in tests))


def is_short(sentence: Sentence) -> bool:
    """Whether the sentence has at most LONGEST words in both languages."""
    return max(len(sentence.zh), len(sentence.en)) <= LONGEST


def is_for_training(sentence: Sentence) -> bool:
    """Whether the sentence is short and has no held-out pair, as the training set requires."""
    held_out = held_out_combinations()
    apart = not sentence.combinations & held_out and not meet(sentence.zh, held_out)
    return is_short(sentence) and apart


def meet(chinese: Words, pairs: Combinations) -> bool:
    """Whether the sentence has both words of one of the pairs, anywhere."""
    seconds, found = by_first(pairs), set(chinese)
    return any(not found.isdisjoint(seconds[word]) for word in found & seconds.keys())


@functools.cache
def by_first(pairs: Combinations) -> dict[str, set[str]]:
    """For each word that is the first of a pair, the words that are the second."""
    return {first: {b for a, b in pairs if a == first} for first, _ in pairs}


def word_by_word(chinese: Iterable[str]) -> Words:
    """Replace each Chinese word with its first meaning in the dictionary.

    Words without an English counterpart, such as 了 and the measure words, are dropped.
    """
    return tuple(word for each in chinese for word in dictionary.get(each, ("", (each,)))[1])
