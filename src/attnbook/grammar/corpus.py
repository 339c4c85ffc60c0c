"""The parallel corpus: pairs drawn from the grammar, and which of them a model may learn from."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from attnbook.checks import check_size
from attnbook.grammar.lexicon import Words, animal_verbs, dictionary, nouns, verbs
from attnbook.grammar.phrases import Combinations, Draw, describing
from attnbook.grammar.sentences import sentence

LONGEST = 11  # words that a training sentence has at most, in each language
THE_BOOKS_OWN = ("甜", "苹果")  # 苹果 很 甜 is to be translated, never learned


@dataclass(frozen=True)
class Pair:
    """A Chinese sentence and its English, word by word.

    `combinations` are the Chinese words in it that belong together: an adjective and its noun, a
    verb and its object.
    """

    chinese: Words
    english: Words
    combinations: Combinations = field(default=frozenset(), compare=False, repr=False)

    @property
    def pinyin(self) -> str:
        """How the Chinese sounds, each word with the tones that a dictionary gives it."""
        return " ".join(dictionary[w][0] if w in dictionary else w for w in self.chinese)


class Corpus(NamedTuple):
    """Pairs to learn from, and two kinds of pairs that training never sees."""

    train: list[Pair]
    new_combinations: list[Pair]
    longer: list[Pair]


def held_out_combinations() -> Combinations:
    """The combinations that no training sentence has: 甜 with 苹果, and a tenth of the others.

    Their words are learned from combinations that stay. So none is held out of a verb or an
    adjective that has fewer than four nouns, of a noun that has fewer than three verbs (or three
    adjectives), or of what animals do; and of each noun at most one with a verb, and one with an
    adjective.
    """
    done = {(verb.zh[0], n.zh) for verb in verbs for n in nouns if n.kinds & verb.kinds}
    done -= {(verb.zh[0], n.zh) for verb in animal_verbs for n in nouns if n.kinds & verb.kinds}
    said = {(adjective.zh, n.zh) for n in nouns for adjective in describing(n)}
    held_out = {THE_BOOKS_OWN}
    for pairs in done, said:
        firsts, seconds = (Counter(words) for words in zip(*pairs, strict=True))
        many = [(a, b) for a, b in sorted(pairs) if firsts[a] >= 4 and seconds[b] >= 3]
        each_noun_once = {b: (a, b) for a, b in many[4::7] if a != THE_BOOKS_OWN[0]}
        held_out.update(each_noun_once.values())
    return frozenset(held_out)


def make_corpus(n_train: int = 60_000, n_test: int = 500, seed: int = 0) -> Corpus:
    """Draw pairs from the grammar, no Chinese sentence twice, and deal them out.

    A pair with a held-out combination goes to `new_combinations`, one with more than LONGEST words
    in both languages to `longer`, one with neither to `train`; no other is kept. What is tested has
    no word that `train` lacks.
    """
    for name, size in (("n_train", n_train), ("n_test", n_test)):
        check_size(name, size)
    draw, held_out = Draw(seed), held_out_combinations()
    train, new, longer = (dict[Words, Pair]() for _ in range(3))
    spare = n_test + n_test // 4  # some have a word that is not in train
    wanted = ((train, n_train), (new, spare), (longer, spare))
    while any(len(pairs) < size for pairs, size in wanted):
        made = sentence(draw)
        short = max(len(made.zh), len(made.en)) <= LONGEST
        long = min(len(made.zh), len(made.en)) > LONGEST
        unseen = bool(made.combinations & held_out)
        for (pairs, size), fits in zip(
            wanted, (short and not unseen, short and unseen, long and not unseen), strict=True
        ):
            if fits and len(pairs) < size:
                pairs[made.zh] = Pair(made.zh, made.en, made.combinations)
    known = {word for pair in train.values() for word in (*pair.chinese, *pair.english)}
    tests = (
        [pair for pair in pairs.values() if known.issuperset((*pair.chinese, *pair.english))]
        for pairs in (new, longer)
    )
    return Corpus(list(train.values()), *(pairs[:n_test] for pairs in tests))


def word_by_word(chinese: Iterable[str]) -> Words:
    """Put the first meaning that a dictionary gives in the place of each Chinese word.

    Words that English has no word for, such as 了 and the measure words, leave nothing behind.
    """
    return tuple(word for each in chinese for word in dictionary.get(each, ("", (each,)))[1])
