"""Exercises of chapter 2: from words to vectors."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw

# --- 02.encode: words to ids -----------------------------------------------------------------


def encode(words: list[str], corpus: list[str]) -> Tensor:
    number = {word: i for i, word in enumerate(sorted(set(corpus)))}
    return torch.tensor([number.get(word, len(number)) for word in words])


def encode_by_counting(words: list[str], corpus: list[str]) -> Tensor:
    known = set(corpus)
    smaller = {word: sum(other < word for other in known) for word in known}
    return torch.tensor([smaller.get(word, len(known)) for word in words])


def encode_cases(generator: Generator) -> list[Case]:
    pool = "tea milk sugar and Life is short or sweet no".split()

    def some(count: int) -> list[str]:
        return [pool[i] for i in torch.randint(len(pool), (count,), generator=generator)]

    return [
        Case((["is", "Life"], ["short", "Life", "is"]), {"L": 2}, "every word is known"),
        Case(
            (["eat", "dessert", "eat"], ["eat", "dessert", "eat", "first"]),
            {"L": 3},
            "a corpus in which a word comes twice",
        ),
        Case(
            (["tea", "or", "lunch", "dinner", "and"], ["tea", "and", "tea", "or", "milk", "tea"]),
            {"L": 5},
            "lunch and dinner are unknown",
        ),
        Case((["life", "Life"], ["Life", "is", "is", "is"]), {"L": 2}, "capitals"),
        Case((["soup"], ["tea", "tea", "tea"]), {"L": 1}, "one word, unknown; a corpus of one"),
        Case(([*some(6), "soup"], some(13)), {"L": 7}, "7 words, a corpus of 13"),
    ]


def numbering(
    order: Callable[[list[str]], Sequence[str]],
    unknown: Callable[[dict[str, int]], int] = len,
    first: int = 0,
) -> Callable[[list[str], list[str]], Tensor]:
    """The mistakes in numbering: another order of the words, another id for the unknown."""

    def wrong(words: list[str], corpus: list[str]) -> Tensor:
        number = {word: i for i, word in enumerate(order(corpus), start=first)}
        return torch.tensor([number.get(word, unknown(number)) for word in words])

    return wrong


def distinct(corpus: list[str]) -> list[str]:
    return sorted(set(corpus))


def new_ids(words: list[str], corpus: list[str]) -> Tensor:
    number = {word: i for i, word in enumerate(distinct(corpus))}
    return torch.tensor([number.setdefault(word, len(number)) for word in words])


def rises(ids: Tensor, words: list[str], corpus: list[str]) -> bool:
    """Whether the known words have ids in their alphabetical order."""
    if ids.shape != (len(words),):
        return True  # something else is wrong
    known = sorted({(w, int(i)) for w, i in zip(words, ids, strict=True) if w in corpus})
    return all(one[1] < other[1] for one, other in itertools.pairwise(known))


ENCODE = Exercise(
    id="02.encode",
    title="Words to ids, unknown words too",
    level=1,
    minutes=8,
    section="2.2",
    prompt="""
Write `encode(words, corpus)`. Both are lists of words. The vocabulary is made of the different
words of the corpus, sorted as `sorted` does and numbered from 0. The answer is a tensor of whole
numbers, the ids of `words`, of shape (L,). All words that are not in the vocabulary share one id
more, the first that is free.
""",
    stub="""
def encode(words, corpus):
    raise NotImplementedError
""",
    reference=encode,
    cases=encode_cases,
    axes="L",
    mistakes=(
        Mistake(
            numbering(sorted, unknown=lambda number: max(number.values()) + 1),
            "You numbered every word of the corpus, repeated ones too: the ids have holes, and the "
            "largest has no row in a table with one row per word. Remove the repetitions first.",
        ),
        Mistake(
            lambda words, corpus: torch.tensor(
                [sorted(corpus).index(w) if w in corpus else len(set(corpus)) for w in words]
            ),
            "Each id is the word's first place in the sorted corpus, repeated words and all, so "
            "the ids have holes. Remove the repetitions before you number.",
        ),
        Mistake(
            numbering(sorted),
            "You numbered every word of the corpus, repeated ones too. The ids have holes, so the "
            "number of words is not free: it may belong to a word already.",
        ),
        Mistake(
            numbering(lambda corpus: list(dict.fromkeys(corpus))),
            "Your words are numbered as they come. That is a vocabulary too, but here it is sorted "
            "first, so that the same words always get the same ids.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: 0),
            "Unknown words got the id 0, and that is a word's already. They need an id of their "
            "own.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: -1),
            "Unknown words got −1. Indexing with it fetches the table's last row, which belongs to "
            "a word: take the first free id.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: len(number) - 1),
            "Unknown words got the id of the last word. Counting starts at 0, so N words take the "
            "ids 0 … N − 1.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: len(number) + 1),
            "Unknown words got N + 1. The N words take the ids 0 … N − 1; which is the first that "
            "is free?",
        ),
        Mistake(
            lambda words, corpus: torch.tensor(
                [distinct(corpus).index(w) if w in corpus else len(corpus) for w in words]
            ),
            "Unknown words got the number of words in the corpus, repeated ones too. The first "
            "free id is the number of *different* words.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: len(number) + 1, first=1),
            "You counted from 1. A table's rows are counted from 0: your row 0 is never used.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: 0, first=1),
            "You counted from 1 and gave the unknown 0. Many programs do so; here the words have "
            "the ids from 0 on, and the unknown the one behind the last.",
        ),
        Mistake(
            numbering(lambda corpus: sorted(set(corpus), key=str.lower)),
            "You sorted as a paper dictionary does, capitals among small letters. `sorted` puts "
            "all capitals first.",
        ),
        Mistake(
            lambda words, corpus: encode([w.lower() for w in words], [w.lower() for w in corpus]),
            "You took the capitals away. Here *Life* and *life* are two words, and only one of "
            "them may be known.",
        ),
        Mistake(
            numbering(lambda corpus: [word for word, _ in Counter(corpus).most_common()]),
            "You numbered the most frequent word first. Here the vocabulary is sorted by `sorted`.",
        ),
        Mistake(
            lambda words, corpus: encode(words, words),
            "You numbered the words of the sentence. The vocabulary is fixed before the sentence "
            "comes: it is made of the corpus.",
        ),
        Mistake(
            new_ids,
            "Each unknown word got an id of its own. There is one more row for all of them "
            "together: the table cannot grow with every sentence.",
        ),
        Mistake(
            lambda words, corpus: torch.tensor([distinct(corpus).index(word) for word in words]),
            "An unknown word has no place in the vocabulary. It needs an answer nevertheless.",
        ),
        Mistake(
            lambda words, corpus: torch.tensor(
                [{word: i for i, word in enumerate(distinct(corpus))}[word] for word in words]
            ),
            "An unknown word is no key of your dictionary. It needs an id nevertheless: ask with "
            "a default.",
        ),
        Mistake(
            lambda words, corpus: encode([w for w in words if w in corpus], corpus),
            "You left the unknown words out. The sentence keeps its length: an unknown word is a "
            "token too.",
        ),
    ),
    properties=(
        Property(
            "Words that come later in `sorted` have larger ids, and yours have not: a set alone "
            "has no order.",
            lambda answer, case: rises(answer, *case.arguments),
        ),
    ),
    others=(encode_by_counting,),
    comes_back="Chapter 9 encodes two languages so, with ids more for the ends of sentences.",
    hints=(
        "Three steps: remove repetitions, sort, number. Then look up each word.",
        "A dictionary's `.get(word, default)` returns the default for a word that is not in it.",
        "With N words in the vocabulary, the ids 0 … N − 1 are taken.",
    ),
    insight="All unknown words get the same id, so they get the same row: the model cannot know "
    "what it has missed, only that it missed something.",
)

# --- 02.gradient: who learns? ----------------------------------------------------------------


def my_gradient(question: str) -> float:
    return {"a": 2.0, "b": 0.0, "c": 0.4, "d": 0.0, "e": 2.0}[question]


GRADIENT = Exercise(
    id="02.gradient",
    title="Who learns?",
    level=1,
    minutes=6,
    section="2.4",
    prompt="""
The vocabulary is *and, milk, or, sugar, tea*, the sentence "tea and tea or milk" with L = 5 tokens,
`embed` an `nn.Embedding` of 5 rows, and `X = embed(ids)`. After `backward()` all numbers in a row
of `embed.weight.grad` are the same. `my_gradient(question)` returns that number; for a row that
gets nothing it is 0.

| | loss | whose row |
|:--|:--|:--|
| a | `X.sum()` | *tea* |
| b | `X.sum()` | *sugar* |
| c | `X.mean(0).sum()` | *tea* |
| d | `X.detach().sum() + X[1].sum()` | *tea* |
| e | `(F.one_hot(ids, 5).float() @ embed.weight).sum()` | *tea* |
""",
    stub="""
def my_gradient(question):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": None, "b": None, "c": None, "d": None, "e": None}[question]
""",
    reference=my_gradient,
    cases=lambda generator: [Case((q,), note=f"question {q}") for q in "abcde"],
    mistakes=choices(
        my_gradient,
        {
            ("a", 1.0): "*tea* stands there twice, and both tokens are fetched from one row. "
            "Gradients of one number add up.",
            ("a", 5.0): "Five tokens are in the sum, but only those that were fetched from "
            "this row move with it.",
            ("a", 0.0): "Two of the five tokens are *tea*: their row is in the sum.",
            ("a", 0.4): "`sum` divides by nothing. You have answered (c).",
            ("b", 1.0): "No token of the sentence was fetched from the row of *sugar*: if it "
            "changes, X does not.",
            ("b", 0.2): "The sentence does not share its gradient among all words of the "
            "vocabulary. A word that is absent gets none.",
            ("c", 2.0): "The mean over the tokens divides by their number before the sum is taken.",
            ("c", 1.0): "A mean has a slope of 1/L for each token. How many tokens are *tea*?",
            ("c", 0.2): "That is what one token gets, 1/5. *tea* stands there twice.",
            ("c", 0.0): "The mean of *tea*'s column moves if its row does: by a fifth for each "
            "token.",
            ("c", 0.1): "A fifth for each token. Then `sum` adds up over the columns: it "
            "divides by nothing.",
            ("c", 0.5): "You divided by the 4 different words. `mean(0)` divides by the number "
            "of tokens.",
            ("d", 2.0): "The first part is detached: cut off from its table, it changes the "
            "loss and teaches nothing.",
            ("d", 1.0): "`X[1]` is one row of X, counted from 0. Which word stands there?",
            ("d", 0.2): "Nothing is divided here, and row 1 of X is another word.",
            ("d", 3.0): "The detached part sends nothing back, and row 1 of X, counted from 0, "
            "is another word.",
            ("e", 1.0): "The one-hot matrix has two rows with a 1 at *tea*. Both fetch, and "
            "both send back.",
            ("e", 0.4): "`sum` divides by nothing. How many of the one-hot rows have their 1 "
            "at *tea*?",
            ("e", 5.0): "Five rows are multiplied with the table, but only those with a 1 at "
            "*tea* move with its row.",
            ("e", 0.0): "The ids carry no gradient, but `embed.weight` does: it is the second "
            "factor of the product.",
        },
    ),
    hints=(
        "Change the row of one word by a little. How often does that change arrive in the loss?",
        "In (c) each token counts a fifth. In (d) only one token of the sentence sends anything "
        "back: which?",
        "The gradient counts the tokens of a word. (e) is (a), written as a product.",
    ),
    properties=(
        Property(
            "Count the tokens that were fetched from this row, and ask what each of them adds to "
            "the loss: 1, or a part of it, or nothing.",
            lambda answer, case: min(abs(float(answer) - n) for n in (0, 0.4, 2)) < 1e-6,
        ),
    ),
    comes_back="Section 2.10 has a word with two meanings: both pull at its one row.",
    insight="A row gets a gradient only when its word is read, so a rare word is taught rarely. "
    "And (e) shows nothing new: a look-up *is* that product.",
    code=False,
)

# --- 02.order: what a summary still knows ----------------------------------------------------


def notices(summary: str) -> str:
    return {"a": "count", "b": "neither", "c": "both", "d": "order", "e": "neither"}[summary]


ORDER = Exercise(
    id="02.order",
    title="What a summary still knows",
    level=1,
    minutes=8,
    section="2.10",
    prompt="""
Two pairs of sentences, embedded with one random table, so that no two rows have a number in common:
"dog bites man" and "man bites dog" differ in *order*; "very very good" and "very good" differ in
*count*. Each line makes a summary of an embedded sentence `X` (L, D).

| | summary |
|:--|:--|
| a | `X.mean(0)` |
| b | `X.amax(0)` |
| c | `X.flatten()` |
| d | `X[0]` |
| e | a row of N zeros and ones: 1 for each word that occurs |

`notices(summary)` returns which of the two differences change it: `"order"`, `"count"`, `"both"`
or `"neither"`.
""",
    stub="""
def notices(summary):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": "", "e": ""}[summary]
""",
    reference=notices,
    cases=lambda generator: [Case((s,), note=f"summary {s}") for s in "abcde"],
    mistakes=choices(
        notices,
        {
            ("a", "neither"): "Two thirds of the one mean is *very*, and half of the other. A "
            "mean notices shares.",
            ("a", "both"): "A sum does not know in which order it was added, so neither does "
            "the mean.",
            ("a", "order"): "It is the other way round: a mean forgets the order. But *very* "
            "has two thirds of the one and half of the other.",
            ("b", "count"): "The largest of three numbers does not grow if one of them stands "
            "there twice.",
            ("b", "order"): "The largest of three numbers is the same in every order.",
            ("b", "both"): "You find the same largest number in any order, and however often "
            "it occurs.",
            ("c", "order"): "Order yes. And how many numbers has the flattened X of three "
            "tokens, how many of two?",
            ("c", "count"): "Count yes. And `flatten` puts the first token first: swap two and "
            "the numbers change places.",
            ("c", "neither"): "Nothing was added up here: all rows are there, one after the other.",
            ("d", "neither"): "Which word comes first in each of the four sentences?",
            ("d", "count"): "Both sentences of the second pair begin with *very*. Look at how "
            "those of the first pair begin.",
            ("d", "both"): "It sees that one sentence begins with *dog* and one with *man*. "
            "But both others begin with *very*.",
            ("e", "count"): "A 1 says that a word occurs. It does not say how often.",
            ("e", "order"): "The places in this row are those of the vocabulary, not of the "
            "sentence.",
            ("e", "both"): "The row holds the set of words. A set has no order and no repetitions.",
        },
    ),
    hints=(
        "For each summary ask twice: what happens if two rows of X change places? If one row comes "
        "a second time?",
        "A sum and a maximum forget the order. Only one of the two forgets repetitions.",
        "Two notice neither, and one notices only what stands first.",
    ),
    comes_back="The last exercise of this chapter asks it of summaries that you cannot see.",
    insight="Attention without positions is of kind (a): a mixture, in shares. That is why chapter "
    "7 has to tell it where each word stands.",
    code=False,
)

# --- 02.lookup: a look-up is a product -------------------------------------------------------


def my_look_up(ids: Tensor, table: Tensor) -> Tensor:
    one_hot = F.one_hot(ids, num_classes=len(table))  # (..., L, N)
    return one_hot.to(table.dtype) @ table


def look_up_by_comparing(ids: Tensor, table: Tensor) -> Tensor:
    one_hot = ids[..., None] == torch.arange(len(table), device=ids.device)
    return one_hot.to(table) @ table


def lookup_cases(generator: Generator) -> list[Case]:
    def case(note: str, n: int, d: int, *shape: int) -> Case:
        ids = torch.randint(1, n - 1, shape, generator=generator)  # the last row is never asked for
        sizes = dict(zip(("A", "B", "L")[-len(shape) :], shape, strict=True))
        return Case((ids, draw(generator, n, d)), {**sizes, "N": n, "D": d}, note)

    known = case("2 tokens, a table of 3 rows", 3, 5, 2)
    known.arguments[0][:] = torch.tensor([2, 0])
    return [
        known,
        case("5 tokens, the last word of the table does not occur", 7, 6, 5),
        case("a batch of 2 sentences", 6, 3, 2, 5),
        case("two axes in front of the words", 11, 6, 2, 3, 5),
    ]


LOOKUP = Exercise(
    id="02.lookup",
    title="A look-up is a product",
    level=2,
    minutes=8,
    section="2.4",
    prompt="""
Write `my_look_up(ids, table)`: fetch a row of `table` (N, D) for each id, by a matrix product with
one-hot rows. `ids` holds whole numbers, of shape (..., L), where the dots stand for a batch or for
nothing; the answer has shape (..., L, D) and the dtype of the table. (Indexing gives the same and
passes too; the point is to see that it is the same.)
""",
    stub="""
def my_look_up(ids, table):
    raise NotImplementedError
""",
    reference=my_look_up,
    cases=lookup_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)) @ table,
            "`one_hot` makes whole numbers, and a matrix product wants one dtype on both sides. "
            "Turn the ones and zeros into the dtype of the table.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)).float() @ table,
            "`.float()` is float32, and this table is float64: take the dtype from the table "
            "instead of naming one.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)).float() @ table.float(),
            "You rounded the table to float32. A look-up copies rows and must not change a bit: "
            "adapt the ones, not the table.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids).to(table.dtype) @ table,
            "Without `num_classes` the one-hot rows are as long as the largest id that occurs asks "
            "for. They have to be as long as the table, N, whatever the sentence.",
        ),
        Mistake(
            lambda ids, table: table.mT @ F.one_hot(ids, len(table)).to(table.dtype).mT,
            "The words came out as columns: a word is a row in this book. Put the one-hot rows "
            "first.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)).to(table.dtype).mT @ table,
            "The one-hot matrix is transposed, (N, L) instead of (L, N). Each *row* of it has to "
            "pick one row of the table.",
        ),
        Mistake(
            lambda ids, table: table[ids - 1],
            "Each word got the row before its own. Ids count from 0, and so do rows.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)).to(table.dtype).sum(-2) @ table,
            "The rows of the sentence were added up. A bag of words: one row per token is asked "
            "for.",
        ),
        Mistake(
            lambda ids, table: ids[..., None] * table[0],
            "You multiplied with the ids. They are names: twice the id is not twice the word.",
        ),
    ),
    hints=(
        "Each id becomes a row of N numbers, all 0 but one.",
        "`F.one_hot(ids, num_classes=...)` makes them, as whole numbers. How many columns must "
        "there be?",
        "Turn them `.to(table.dtype)`; then `@ table`.",
    ),
    others=(look_up_by_comparing,),
    comes_back="In chapter 9 the last layer is this product turned around: rows in, words out.",
    properties=(
        Property(
            "A look-up copies rows, and some row of yours is no row of the table. Was a new table "
            "made inside?",
            lambda answer, case: bool(
                (answer[..., None, :] == case.arguments[1]).all(-1).any(-1).all()
            ),
        ),
    ),
    insight="The gradient of this product with respect to the table is the one-hot matrix, "
    "transposed, times what comes from above: it adds each token's share to its own row.",
)

# --- 02.merge: one step of byte pair encoding ------------------------------------------------

Corpus = list[list[str]]
Pair = tuple[str, str]


def merge_step(corpus: Corpus) -> Corpus:
    counts = Counter(pair for word in corpus for pair in itertools.pairwise(word))
    best = max(counts, key=lambda pair: counts[pair])
    merged = []
    for word in corpus:
        pieces: list[str] = []
        for piece in word:
            if pieces and (pieces[-1], piece) == best:
                pieces[-1] += piece
            else:
                pieces.append(piece)
        merged.append(pieces)
    return merged


def merge_by_index(corpus: Corpus) -> Corpus:
    counts: dict[Pair, int] = {}
    for word in corpus:
        for i in range(len(word) - 1):
            counts[word[i], word[i + 1]] = counts.get((word[i], word[i + 1]), 0) + 1
    left, right = max(counts, key=counts.__getitem__)
    merged = []
    for word in corpus:
        pieces, i = list(word), 0
        while i < len(pieces) - 1:
            if pieces[i] == left and pieces[i + 1] == right:
                pieces[i : i + 2] = [left + right]
            i += 1
        merged.append(pieces)
    return merged


def merge_cases(generator: Generator) -> list[Case]:
    def case(text: str, note: str) -> Case:
        return Case(([list(word) for word in text.split()],), note=note)

    drawn = torch.randint(3, (40,), generator=generator).tolist()
    letters = "".join("xyz"[i] for i in drawn)
    words = " ".join(letters[i : i + 5] for i in range(0, 40, 5))
    return [
        case("cold colder", "co, ol and ld are equally frequent: the first wins"),
        case("mama to too", "a pair that comes twice in a word"),
        case("tea tea tea see bee a", "a word that comes three times, and one of a letter"),
        case("shoe slate stone side yes", "words that end in e before words that begin with s"),
        case("aaa aaa baaaa", "a letter beside itself: merge from the left"),
        Case(
            ([["sw", "ee", "t"], ["sw", "ee", "t", "er"], ["w", "ee"], ["ee", "t"]],),
            note="pieces of several letters",
        ),
        Case(
            ([["x", "y"], ["x", "y"], ["a", "bc"], ["ab", "c"], ["a", "bc"]],),
            note="two pairs that spell the same",
        ),
        Case(
            ([["h", "e", "r"], ["e", "r"], ["te", "r"], ["e", "rs"]],),
            note="pieces that end or begin like the pair",
        ),
        case(words, "random words"),
    ]


def apply(corpus: Corpus, best: Pair) -> Corpus:
    """Merge one pair everywhere, from the left."""
    merged: Corpus = []
    for word in corpus:
        pieces: list[str] = []
        i = 0
        while i < len(word):
            size = 2 if tuple(word[i : i + 2]) == best else 1
            pieces.append("".join(word[i : i + size]))
            i += size
        merged.append(pieces)
    return merged


def chosen(choose: Callable[[Corpus], Pair]) -> Callable[[Corpus], Corpus]:
    return lambda corpus: apply(corpus, choose(corpus))


def most_common(corpus: Corpus) -> Pair:
    return Counter(p for word in corpus for p in itertools.pairwise(word)).most_common(1)[0][0]


def last_of_the_best(corpus: Corpus) -> Pair:
    counts = Counter(p for word in corpus for p in itertools.pairwise(word))
    return next(p for p in reversed(counts) if counts[p] == max(counts.values()))


def alphabetical(corpus: Corpus) -> Pair:
    counts = Counter(p for word in corpus for p in itertools.pairwise(word))
    return min(p for p in counts if counts[p] == max(counts.values()))


def back(corpus: Corpus) -> Pair:
    """The most common pair, written backwards."""
    left, right = most_common(corpus)
    return right[::-1], left[::-1]


def spelled(corpus: Corpus) -> Corpus:
    """Count and merge pairs by what they spell."""
    counts = Counter("".join(p) for word in corpus for p in itertools.pairwise(word))
    best, merged = counts.most_common(1)[0][0], []
    for word in corpus:
        pieces: list[str] = []
        for piece in word:
            if pieces and pieces[-1] + piece == best:
                pieces[-1] += piece
            else:
                pieces.append(piece)
        merged.append(pieces)
    return merged


def once_a_word(corpus: Corpus) -> Corpus:
    """Merge the best pair only where it comes first in each word."""
    best, merged = most_common(corpus), []
    for word in corpus:
        at = next((i for i, p in enumerate(itertools.pairwise(word)) if p == best), None)
        merged.append(word if at is None else [*word[:at], "".join(best), *word[at + 2 :]])
    return merged


def overlapping(corpus: Corpus) -> Corpus:
    """Merge wherever the pair stands, and use a piece twice."""
    best, merged = most_common(corpus), []
    for word in corpus:
        pieces, taken = [], False
        for piece, following in [*itertools.pairwise(word), (word[-1], "")]:
            match = (piece, following) == best
            if match or not taken:
                pieces.append(piece + following if match else piece)
            taken = match
        merged.append(pieces)
    return merged


def lists(answer: Any, case: Case) -> bool:
    """Whether each word is a list of pieces."""
    return all(isinstance(word, (list, tuple)) for word in answer)


def joined(answer: Any, case: Case) -> bool:
    """Whether each word, its pieces joined, is still the word."""
    return ["".join(word) for word in answer] == ["".join(word) for word in case.arguments[0]]


def one_pair(answer: Any, case: Case) -> bool:
    """Whether there is at most one kind of piece that was not there before."""
    before = {piece for word in case.arguments[0] for piece in word}
    return len({piece for word in answer for piece in word} - before) <= 1


MERGE = Exercise(
    id="02.merge",
    title="One step of byte pair encoding",
    level=3,
    minutes=15,
    section="2.7 (second reading)",
    prompt="""
Write `merge_step(corpus)`. The corpus is a list of words, each word a list of pieces, such as
`["c", "o", "ld"]`. Count every pair of neighbors within a word; take the most frequent pair, of
equally frequent ones the one that is met first; merge it everywhere, in each word from the left.
Return the new corpus, a list of lists, and leave the given one as it is.
""",
    stub="""
def merge_step(corpus):
    raise NotImplementedError
""",
    reference=merge_step,
    cases=merge_cases,
    mistakes=(
        Mistake(
            chosen(lambda corpus: most_common([[p for word in corpus for p in word]])),
            "You counted pairs across the gap between two words. A pair stands within one word: "
            "its pieces are to become one piece.",
        ),
        Mistake(
            chosen(
                lambda corpus: Counter(
                    p for word in corpus for p in dict.fromkeys(itertools.pairwise(word))
                ).most_common(1)[0][0]
            ),
            "You counted each pair once per word. A pair that stands in a word twice counts twice.",
        ),
        Mistake(
            chosen(
                lambda corpus: most_common([list(w) for w in dict.fromkeys(map(tuple, corpus))])
            ),
            "You counted each different word once. A frequent word counts as often as it occurs.",
        ),
        Mistake(
            chosen(last_of_the_best),
            "Of equally frequent pairs you took the one that is met last. The first is asked for, "
            "so that everybody gets the same merges.",
        ),
        Mistake(
            chosen(alphabetical),
            "Of equally frequent pairs you took the first of the alphabet. The one that is met "
            "first in the corpus is asked for.",
        ),
        Mistake(
            chosen(
                lambda corpus: Counter(
                    (min(p), max(p)) for word in corpus for p in itertools.pairwise(word)
                ).most_common(1)[0][0]
            ),
            "You counted a, b and b, a as one pair. Which piece comes first makes a difference.",
        ),
        Mistake(
            lambda corpus: [
                [p[::-1] for p in apply([[q[::-1] for q in word[::-1]]], back(corpus))[0][::-1]]
                for word in corpus
            ],
            "You merged from the right: of three equal letters the last two were joined. In each "
            "word it goes from the left.",
        ),
        Mistake(
            lambda corpus: list(most_common(corpus)),
            "This is the pair. It is to be merged in every word: return the new corpus.",
        ),
        Mistake(
            spelled,
            "You compared what two pieces spell together. a, bc and ab, c spell the same and are "
            "different pairs: a pair is its two pieces.",
        ),
        Mistake(
            once_a_word,
            "The pair is right, but it was merged only once in each word. It may stand there "
            "again.",
        ),
        Mistake(
            overlapping,
            "A piece was used twice: in a, a, a the middle one cannot join both sides. From the "
            "left that is aa and a.",
        ),
        Mistake(
            lambda corpus: [apply([word], most_common([word]))[0] for word in corpus],
            "Each word merged its own favorite. One pair is chosen for the whole corpus.",
        ),
        Mistake(
            lambda corpus: [list(word) for word in corpus],
            "The corpus came back as it was. After counting, the pair has to be joined wherever it "
            "stands.",
        ),
        Mistake(
            lambda corpus: [
                " ".join(word)
                .replace(" ".join(most_common(corpus)), "".join(most_common(corpus)))
                .split()
                for word in corpus
            ],
            "You replaced in the text, and the text of a pair can also be the end of one piece and "
            "the beginning of the next: e, r is found in te, r. Compare whole pieces.",
        ),
    ),
    hints=(
        "Two passes: one counts, one merges. `itertools.pairwise(word)` gives the neighbors.",
        "`Counter` keeps the order in which it met the pairs, and `most_common(1)` and `max` take "
        "the first of equals.",
        "To merge, build a new list piece by piece: if the last piece of it and the next one are "
        "the pair, extend the last instead of appending.",
    ),
    properties=(
        Property(
            "A word is no longer a list of pieces: the answer is a list of words, and each word a "
            "list, as in the corpus that was given.",
            lists,
        ),
        Property(
            "A word has lost or gained letters. Joined, the pieces of each word are that word, "
            "before and after: does the last piece stay, does a merged one go?",
            joined,
        ),
        Property(
            "More than one pair was merged. One step chooses one pair and merges it everywhere.",
            one_pair,
        ),
    ),
    others=(merge_by_index,),
    comes_back="Chapter 9's corpus is cut into words; the pieces of real models come from here.",
    insight="That is all of it: repeat this 50,000 times on enough text and you have GPT-2's "
    "vocabulary. It never asks what a word means.",
)

# --- 02.experiment: does a summary notice the order? -----------------------------------------

Summary = Callable[[Tensor], Tensor]


def notices_order(summary: Summary) -> bool:
    X = torch.randn(4, 3, dtype=torch.float64)
    answers = [summary(X[list(order)]) for order in itertools.permutations(range(4))]
    return not all(torch.allclose(answer, answers[0]) for answer in answers)


SUMMARIES: dict[str, Summary] = {
    "the sum of the rows": lambda X: X.sum(0),
    "the largest number of each column": lambda X: X.amax(0),
    "the columns, each sorted": lambda X: X.sort(0).values,
    "the first row": lambda X: X[0],
    "the last row": lambda X: X[-1],
    "the row in the middle": lambda X: X[len(X) // 2],
    "how far neighbors differ, added up": lambda X: (X[1:] - X[:-1]).abs().sum(0),
    "each row times the next, in a circle, added up": lambda X: (X * X.roll(1, 0)).sum(0),
    "the mean, and a thousandth of the first row": lambda X: X.mean(0) + X[0] / 1000,
    "all rows, one after the other": lambda X: X.flatten(),
    "the second number of the first row": lambda X: X[0, 1:2],
}
SEES: dict[tuple[str, bool], str] = {
    ("the sum of the rows", True): "A sum forgets the order. But its last bits may differ: ask "
    "whether two answers are close, not whether they are equal. And give both sentences the very "
    "same rows.",
    ("the largest number of each column", True): "The largest number is the same in any order. Do "
    "both of your sentences consist of the same rows, bit by bit?",
    ("the columns, each sorted", True): "A column that is sorted does not say how it was sorted "
    "before. Do both of your sentences consist of the same rows?",
    ("the first row", False): "This one is the first row, no more. Your experiment never moved "
    "the first row, or moved it where an equal one stood.",
    ("the last row", False): "This one is the last row, no more. Your experiment never moved the "
    "last row, or moved it where an equal one stood.",
    ("the row in the middle", False): "This one is the row in the middle. Turn a sentence around, "
    "and the middle stays where it is: one reordering is not enough.",
    ("how far neighbors differ, added up", False): "Read backwards, a sentence has the same "
    "neighbors. Try other orders than that one.",
    ("each row times the next, in a circle, added up", False): "In a circle of three everybody is "
    "everybody's neighbor, and a larger one looks the same turned on or turned around. Take more "
    "rows, and mix them.",
    ("the mean, and a thousandth of the first row", False): "This one whispers: a thousandth of "
    "the first row is in it. Rounding is much smaller than that, so your tolerance can be, too.",
    ("all rows, one after the other", False): "Here all rows are, one after the other, so any "
    "swap shows. Do the rows of your sentence differ?",
    ("the second number of the first row", False): "This one reads a single number, the second of "
    "the first row. Let all numbers of your sentence differ, and give each row several.",
}

EXPERIMENT = Exercise(
    id="02.experiment",
    title="An experiment that cannot be fooled",
    level=3,
    minutes=15,
    section="2.10",
    prompt="""
You have predicted what a summary still knows. Now find out, for summaries that you cannot see.
Write `notices_order(summary)`. You are given a function: `summary(X)` takes an embedded sentence of
your own making, `X` of shape (L, D) with L ≥ 2, and returns a tensor of some shape. Call it as
often as you like. Return `True` if it gives different answers for two sentences that have the same
rows in different orders, and `False` if it never does. What differs by rounding alone is the same.
""",
    stub="""
def notices_order(summary):
    raise NotImplementedError
""",
    reference=notices_order,
    cases=lambda generator: [Case((f,), note=name) for name, f in SUMMARIES.items()],
    mistakes=choices(
        notices_order, {(SUMMARIES[name], said): tells for (name, said), tells in SEES.items()}
    ),
    hints=(
        "One reordering that changes nothing proves little. Which could go unnoticed: a swap of "
        "two rows, turning the sentence around?",
        "Make a sentence in which no accident helps: four random rows. Then try every order.",
        "`itertools.permutations(range(4))` gives all orders, `X[list(order)]` the rows in one of "
        "them, and `torch.allclose` compares up to rounding.",
    ),
    comes_back="Chapter 7 asks it of whole layers, and chapter 6 of masks.",
    insight="Eight of these summaries notice the order. Turning the sentence around, the first "
    "experiment that comes to mind, misses three of them. Finding nothing is worth as much as the "
    "chance you had to find something.",
    code=False,
)

CHAPTER = "2. Words to vectors"
EXERCISES = (ENCODE, GRADIENT, ORDER, LOOKUP, MERGE, EXPERIMENT)
