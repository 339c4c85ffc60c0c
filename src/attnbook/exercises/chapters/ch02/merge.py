"""Exercises of chapter 2: from words to vectors."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    named_sizes,
)
from attnbook.language import _

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
            "a corpus in which a word occurs twice",
        ),
        Case(
            (["tea", "or", "lunch", "dinner", "and"], ["tea", "and", "tea", "or", "milk", "tea"]),
            {"L": 5},
            "lunch and dinner are unknown",
        ),
        Case((["life", "Life"], ["Life", "is", "is", "is"]), {"L": 2}, "upper and lower case"),
        Case((["soup"], ["tea", "tea", "tea"]), {"L": 1}, "one unknown word"),
        Case(([*some(6), "soup"], some(13)), {"L": 7}, "7 words, a corpus of 13 words"),
    ]


def numbering(
    order: Callable[[list[str]], Sequence[str]],
    unknown: Callable[[dict[str, int]], int] = len,
    first: int = 0,
) -> Callable[[list[str], list[str]], Tensor]:
    """Make a wrong encoder, with another order of the words or another id for unknown words."""

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
    """Check that the ids of the known words follow the order of `sorted`."""
    if ids.shape != (len(words),):
        return True  # something else is wrong
    known = sorted({(w, int(i)) for w, i in zip(words, ids, strict=True) if w in corpus})
    return all(one[1] < other[1] for one, other in itertools.pairwise(known))


ENCODE = Exercise(
    id="02.encode",
    title="Words to ids, including unknown words",
    level=1,
    minutes=8,
    section="2.2",
    prompt="""
Write `encode(words, corpus)` for two lists of words. The vocabulary consists of the distinct words
of the corpus, sorted by `sorted` and numbered from 0. The answer is a tensor of shape (L,) that
holds the ids of `words` as whole numbers. All words outside the vocabulary share one extra
id, the first free one.
""",
    reference=encode,
    cases=encode_cases,
    axes="L",
    mistakes=(
        Mistake(
            lambda words, corpus: torch.tensor(
                [sorted(corpus).index(w) if w in corpus else len(set(corpus)) for w in words]
            ),
            "Each id is the word's first index in the sorted corpus, which still has repetitions. "
            "Remove them before you number the words.",
        ),
        Mistake(numbering(sorted), "You numbered repeated words too, so the ids have gaps."),
        Mistake(
            numbering(lambda corpus: list(dict.fromkeys(corpus))),
            "You numbered the words in the order of the corpus. Sort them first.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: 0),
            "Unknown words got the id 0, which already belongs to a word.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: -1),
            "Unknown words got −1, which fetches the last row of a table. That row belongs to a "
            "known word.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: len(number) + 1),
            "Unknown words got N + 1. Ids start at 0, so N is the first free one.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: len(number) - 1),
            "Unknown words got the id of the last word.",
        ),
        Mistake(
            lambda words, corpus: torch.tensor(
                [distinct(corpus).index(w) if w in corpus else len(corpus) for w in words]
            ),
            "Unknown words got the length of the corpus, not of the vocabulary.",
        ),
        Mistake(
            numbering(distinct, unknown=lambda number: len(number) + 1, first=1),
            "You counted from 1. The first word has the id 0.",
        ),
        Mistake(
            lambda words, corpus: encode([w.lower() for w in words], [w.lower() for w in corpus]),
            "You ignored capitals. *Life* and *life* are two words here.",
        ),
        Mistake(new_ids, "Each unknown word got an id of its own. They should all share one."),
    ),
    properties=(
        Property(
            "Ids should follow the order of `sorted`, but yours do not. A set has no order of its "
            "own.",
            lambda answer, case: rises(answer, *case.arguments),
        ),
    ),
    others=(encode_by_counting,),
    comes_back="Chapter 9 encodes two languages this way, with extra ids for the ends of "
    "sentences.",
    hints=(
        "Remove repetitions, sort the words, and number them. Then look up each word.",
        "A dictionary's `.get(word, default)` returns the default for a word that is not in it.",
        "With N words in the vocabulary, the ids 0 … N − 1 are taken.",
    ),
    insight="All unknown words share one id and therefore one embedding, so a model cannot tell "
    "them apart.",
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
The vocabulary is *and, milk, or, sugar, tea*. The sentence is "tea and tea or milk", with L = 5
tokens. `embed` is an `nn.Embedding` of 5 rows, and `X = embed(ids)`. After `backward()`, all
numbers in a row of `embed.weight.grad` are the same. `my_gradient(question)` returns that number,
which is 0 for a row without a gradient.

| | loss | row of |
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
    cases=lambda generator: [Case((q,), note=_("question {name}").format(name=q)) for q in "abcde"],
    mistakes=choices(
        my_gradient,
        {
            (("a", "e"), 1.0): "*tea* occurs twice, and the gradients of both tokens add up in "
            "its row.",
            (("a", "e"), 5.0): "All five tokens are in the sum, but only two of them are *tea*.",
            (("a", "e"), 0.0): "Two of the five tokens are *tea*, so their row is in the loss.",
            (("a", "e"), 0.4): "`sum` does not divide by anything.",
            ("b", 1.0): "*sugar* does not occur. If its row changes, X stays the same.",
            ("c", 2.0): "`mean(0)` divides by the number of tokens.",
            ("c", 1.0): "In a mean, each token counts for 1/L. How many tokens are *tea*?",
            ("c", 0.2): "That is what one token contributes. *tea* occurs twice.",
            ("c", 0.5): "You divided by the 4 different words. `mean(0)` divides by the number of "
            "tokens.",
            ("d", 2.0): "The detached part sends no gradient back.",
            ("d", 1.0): "`X[1]` is the second token. Which word is it?",
        },
    ),
    hints=(
        "Change the row a little. How many times does that change enter the loss?",
        "In (c) each token counts for a fifth. In (d) only one token sends a gradient back: which?",
        "If the loss is a sum, the gradient counts the tokens of a word. (e) is (a), written as a "
        "product.",
    ),
    properties=(
        Property(
            "Count the tokens that use this row. Then ask how much each adds to the gradient: 1, a "
            "fraction, or nothing.",
            lambda answer, case: abs(float(answer) - my_gradient(*case.arguments)) < 1e-6,
        ),
    ),
    comes_back="In section 2.10 a word has two meanings, and both of them change its single row.",
    insight="A row gets a gradient only when its word is read. And (e) is the same as (a), because "
    "a look-up is this product.",
)

# --- 02.order: what a summary keeps ----------------------------------------------------------


def notices(summary: str) -> str:
    return {"a": "count", "b": "neither", "c": "both", "d": "order", "e": "neither"}[summary]


ORDER = Exercise(
    id="02.order",
    title="What a summary keeps",
    level=1,
    minutes=8,
    section="2.10",
    prompt="""
Two pairs of sentences are embedded with one random table, in which no two rows have a number in
common: "dog bites man" and "man bites dog" differ in *order*; "very very good" and "very good"
differ in *count*. Each line summarizes an embedded sentence `X` (L, D).

| | summary |
|:--|:--|
| a | `X.mean(0)` |
| b | `X.amax(0)` |
| c | `X.flatten()` |
| d | `X[0]` |
| e | a row of N zeros and ones: 1 for each word that occurs |

`notices(summary)` returns which of the two differences change the summary: `"order"`, `"count"`,
`"both"` or `"neither"`.
""",
    stub="""
def notices(summary):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": "", "e": ""}[summary]
""",
    reference=notices,
    cases=lambda generator: [Case((s,), note=_("summary {name}").format(name=s)) for s in "abcde"],
    mistakes=choices(
        notices,
        {
            ("a", "neither"): "*very* makes up two thirds of one mean and half of the other.",
            (("a", "b", "e"), "both"): "This summary is the same for any order of the words.",
            (("a", "b", "e"), "order"): "Swap two words. Does anything change?",
            (("b", "e"), "count"): "Repeating a word changes neither a maximum nor a row of zeros "
            "and ones.",
            ("c", "order"): "Order, yes. But how many numbers does the summary have for three "
            "tokens, and for two?",
            ("c", "count"): "Count, yes. But which token comes first in the summary?",
            ("c", "neither"): "It contains every row, one after the other.",
            ("d", "neither"): "Which word comes first in each of the four sentences?",
            ("d", "count"): "Both sentences of the second pair begin with *very*. And the first "
            "pair?",
            ("d", "both"): "The first pair begins with different words. Does the second?",
        },
    ),
    hints=(
        "What happens if two rows of X are swapped? And if a row occurs twice?",
        "A mean and a maximum ignore the order. Only one of them ignores repetitions.",
        "Two of the summaries change in neither case, and one depends only on the first row.",
    ),
    comes_back="The last exercise of this chapter asks the same about summaries whose code is "
    "hidden.",
    insight="Attention without positions is like (a): a weighted mean. So chapter 7 has to add "
    "positions.",
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
        ids = torch.randint(1, n - 1, shape, generator=generator)  # never the first or last row
        sizes = named_sizes("A B L", shape) | {"N": n, "D": d}
        return Case((ids, draw(generator, n, d)), sizes, note)

    known = case("2 tokens, a table of 3 rows", 3, 5, 2)
    known.arguments[0][:] = torch.tensor([2, 0])
    return [
        known,
        case("5 tokens, none of them the table's last word", 7, 6, 5),
        case("a batch of 2 sentences", 6, 3, 2, 5),
        case("two leading axes", 11, 6, 2, 3, 5),
    ]


LOOKUP = Exercise(
    id="02.lookup",
    title="A look-up is a product",
    level=2,
    minutes=8,
    section="2.4",
    prompt="""
Write `my_look_up(ids, table)`: fetch a row of `table` (N, D) for each id, by a matrix product with
one-hot rows. `ids` holds whole numbers and has shape (..., L), with any number of leading axes in
place of the dots. The answer has shape (..., L, D) and the dtype of the table. (Indexing also
passes; the point is to see that the product gives the same result.)
""",
    asks_for_dtype=True,
    reference=my_look_up,
    cases=lookup_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)) @ table,
            "`one_hot` gives whole numbers, but both factors of a matrix product need the same "
            "dtype: the table's.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)).float() @ table,
            "`.float()` gives float32, but this table is float64. Take the dtype from the table.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids).to(table.dtype) @ table,
            "Without `num_classes`, the one-hot rows are only as long as the largest id requires. "
            "They need N numbers, one for each row of the table.",
        ),
        Mistake(
            lambda ids, table: table.mT @ F.one_hot(ids, len(table)).to(table.dtype).mT,
            "In your answer the columns belong to the words. Put the one-hot rows first in the "
            "product.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)).to(table.dtype).mT @ table,
            "The one-hot matrix is transposed. Each of its *rows* picks a row of the table.",
        ),
        Mistake(
            lambda ids, table: ids[..., None] * table[0],
            "You multiplied by the ids. Ids are names: twice the id is not twice the word.",
        ),
    ),
    hints=(
        "Each id becomes a row of N numbers: a single 1, and zeros elsewhere.",
        "`F.one_hot(ids, num_classes=...)` makes whole numbers. How many columns are needed?",
        "Convert them with `.to(table.dtype)`, then multiply: `@ table`.",
    ),
    others=(look_up_by_comparing,),
    comes_back="Chapter 9's last layer is the reverse: vectors in, words out.",
    properties=(
        Property(
            "A look-up copies rows, but one of your rows is not in the table. Was it rounded, or "
            "does it come from another table?",
            lambda answer, case: bool(
                (answer[..., None, :] == case.arguments[1]).all(-1).any(-1).all()
            ),
        ),
    ),
    insight="The table's gradient is the transposed one-hot matrix times the incoming gradient: "
    "each token adds its part to its row.",
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
        case("mama to too", "a pair that occurs twice in a word"),
        case("tea tea tea see bee a", "a word that occurs three times, and a word with one letter"),
        case("shoe slate stone side yes", "words that end in e before words that begin with s"),
        case("aaa aaa baaaa", "a letter next to itself: merge from the left"),
        Case(
            ([["sw", "ee", "t"], ["sw", "ee", "t", "er"], ["w", "ee"], ["ee", "t"]],),
            note="pieces of several letters",
        ),
        Case(
            ([["x", "y"], ["x", "y"], ["a", "bc"], ["ab", "c"], ["a", "bc"]],),
            note="two pairs with the same spelling",
        ),
        Case(
            ([["h", "e", "r"], ["e", "r"], ["te", "r"], ["e", "rs"]],),
            note="pieces that end or begin like those of the pair",
        ),
        case(words, "random words"),
    ]


def apply(corpus: Corpus, best: Pair) -> Corpus:
    """Merge one pair everywhere, from left to right."""
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
    """Merge only the first occurrence of the best pair in each word."""
    best, merged = most_common(corpus), []
    for word in corpus:
        at = next((i for i, p in enumerate(itertools.pairwise(word)) if p == best), None)
        merged.append(word if at is None else [*word[:at], "".join(best), *word[at + 2 :]])
    return merged


def lists(answer: Any, case: Case) -> bool:
    """Check that each word is a list of pieces."""
    return all(isinstance(word, (list, tuple)) for word in answer)


def joined(answer: Any, case: Case) -> bool:
    """Check that the pieces of each word still spell the word."""
    return ["".join(word) for word in answer] == ["".join(word) for word in case.arguments[0]]


def one_pair(answer: Any, case: Case) -> bool:
    """Check that at most one kind of piece is new."""
    before = {piece for word in case.arguments[0] for piece in word}
    return len({piece for word in answer for piece in word} - before) <= 1


MERGE = Exercise(
    id="02.merge",
    title="One step of byte pair encoding",
    level=3,
    minutes=15,
    section="2.7",
    second_reading=True,
    prompt="""
Write `merge_step(corpus)`. The corpus is a list of words, each a list of pieces such as `["c", "o",
"ld"]`. Count every pair of adjacent pieces within a word and take the most frequent pair. If
several pairs are equally frequent, take the one that comes first in the corpus. Merge this pair
everywhere, going through each word from the left. Return the new corpus, a list of lists, and leave
the given one unchanged.
""",
    reference=merge_step,
    cases=merge_cases,
    mistakes=(
        Mistake(
            chosen(lambda corpus: most_common([[p for word in corpus for p in word]])),
            "You counted pairs across two words. Both pieces have to be in the same word.",
        ),
        Mistake(
            chosen(
                lambda corpus: Counter(
                    p for word in corpus for p in dict.fromkeys(itertools.pairwise(word))
                ).most_common(1)[0][0]
            ),
            "You counted each pair once per word. A pair that occurs twice in a word counts twice.",
        ),
        Mistake(
            chosen(
                lambda corpus: most_common([list(w) for w in dict.fromkeys(map(tuple, corpus))])
            ),
            "You counted each different word once. A word counts each time it occurs.",
        ),
        Mistake(chosen(last_of_the_best), "Of the equally frequent pairs, you took the last."),
        Mistake(
            chosen(alphabetical),
            "Of the equally frequent pairs, you took the first in the alphabet, not in the corpus.",
        ),
        Mistake(
            spelled,
            "You compared pairs by the text that they spell. The pairs (a, bc) and (ab, c) spell "
            "the same text, but they are different pairs.",
        ),
        Mistake(once_a_word, "You merged the pair once per word. It may occur more than once."),
        Mistake(lambda corpus: [list(word) for word in corpus], "Nothing was merged."),
        Mistake(
            lambda corpus: [["".join(word)] for word in corpus],
            "You merged until each word is a single piece. The card asks for one step.",
        ),
        Mistake(
            lambda corpus: [
                " ".join(word)
                .replace(" ".join(most_common(corpus)), "".join(most_common(corpus)))
                .split()
                for word in corpus
            ],
            "You replaced text, so the pair also matched parts of pieces: (e, r) matches in (te, "
            "r).",
        ),
    ),
    hints=(
        "First count, then merge. `itertools.pairwise(word)` gives the neighbors.",
        "`Counter` keeps the order in which it first saw the pairs; `most_common(1)` and `max` "
        "take the first of several pairs with equal counts.",
        "Build a new list: if its last piece and the next piece form the pair, extend the last "
        "piece.",
    ),
    properties=(
        Property("Each word has to be a list of pieces.", lists),
        Property(
            "A word has lost or gained letters. Did you keep the last piece, and remove the pieces "
            "that you merged?",
            joined,
        ),
        Property(
            "More than one pair was merged. A step chooses one pair for the whole corpus.",
            one_pair,
        ),
    ),
    others=(merge_by_index,),
    comes_back="Chapter 9 splits its corpus into words; large models use pieces like these.",
    insight="That is the whole algorithm: GPT-2's vocabulary comes from 50,000 such merges. None "
    "of them depends on what a word means.",
)

# --- 02.experiment: does a summary notice the order? -----------------------------------------

Summary = Callable[[Tensor], Tensor]


def notices_order(summary: Summary) -> bool:
    X = torch.randn(4, 3, dtype=torch.float64)
    answers = [summary(X[list(order)]) for order in itertools.permutations(range(4))]
    return not all(torch.allclose(answer, answers[0]) for answer in answers)


# Each summary, whether it notices the order, and the message for readers who say the opposite.
SUMMARIES: dict[str, tuple[Summary, bool, str]] = {
    "the sum of the rows": (
        lambda X: X.sum(0),
        False,
        "A sum does not depend on the order. Check whether two answers are close, not equal, "
        "and use exactly the same rows.",
    ),
    "the largest number of each column": (
        lambda X: X.amax(0),
        False,
        "A maximum does not depend on the order. Do both sentences have exactly the same rows?",
    ),
    "the columns, each sorted": (
        lambda X: X.sort(0).values,
        False,
        "A sorted column does not show the original order. Do both sentences have exactly the same "
        "rows?",
    ),
    "the first row": (
        lambda X: X[0],
        True,
        "The summary is the first row. Did you move that one?",
    ),
    "the last row": (
        lambda X: X[-1],
        True,
        "The summary is the last row. Did you move that one?",
    ),
    "the row in the middle": (
        lambda X: X[len(X) // 2],
        True,
        "Reversing an odd number of rows leaves the middle row in place. Try other orders.",
    ),
    "the differences between neighbors, added up": (
        lambda X: (X[1:] - X[:-1]).abs().sum(0),
        True,
        "A reversed sentence has the same neighbors. Try other orders.",
    ),
    "each row times the next, in a circle, added up": (
        lambda X: (X * X.roll(1, 0)).sum(0),
        True,
        "In a circle of three, all rows are neighbors, and rotating or reversing a longer circle "
        "changes nothing. Shuffle more rows.",
    ),
    "the mean plus a thousandth of the first row": (
        lambda X: X.mean(0) + X[0] / 1000,
        True,
        "The summary contains a thousandth of the first row. Rounding errors are much smaller, so "
        "your tolerance can be much smaller, too.",
    ),
    "all rows, one after the other": (
        lambda X: X.flatten(),
        True,
        "The summary contains all rows, in order. Do the rows of your sentence differ?",
    ),
    "the second number of the first row": (
        lambda X: X[0, 1:2],
        True,
        "The summary is one number, the second of the first row. Do all your numbers differ?",
    ),
}

EXPERIMENT = Exercise(
    id="02.experiment",
    title="An experiment that cannot be fooled",
    level=3,
    minutes=15,
    section="2.10",
    prompt="""
In 02.order you predicted what a summary keeps. Now find out by experiment, for summaries whose code
is hidden. Write `notices_order(summary)`. The function `summary(X)` takes an embedded sentence of
your choice, `X` of shape (L, D) with L ≥ 2, and returns a tensor. Call it as often as you like.
Return `True` if it gives different answers for the same rows in different orders, and `False` if it
never does. Rounding differences do not count.
""",
    reference=notices_order,
    cases=lambda generator: [Case((f,), note=name) for name, (f, *_) in SUMMARIES.items()],
    mistakes=choices(
        notices_order, {(f, not notices): message for f, notices, message in SUMMARIES.values()}
    ),
    hints=(
        "One reordering that changes nothing proves little. Which summaries ignore a swap, or a "
        "reversal?",
        "Take four random rows, and try every order.",
        "`itertools.permutations(range(4))` gives all orders, `X[list(order)]` the reordered "
        "rows, and `torch.allclose` ignores rounding.",
    ),
    comes_back="Chapters 6 and 7 ask the same question about masks and about whole layers.",
    insight="Eight of these summaries notice the order. If you only reverse a sentence of odd "
    "length, you miss three of them. A negative result proves little if the experiment could "
    "hardly have found anything.",
)

CHAPTER = "2. Words to vectors"
EXERCISES = (ENCODE, GRADIENT, ORDER, LOOKUP, MERGE, EXPERIMENT)
