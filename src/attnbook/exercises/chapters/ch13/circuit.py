"""Write the two matrices of a head by hand: QK and OV."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.attention.masks import causal_mask
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake
from attnbook.language import _
from attnbook.mistakes.head import WrongLine

Run = Callable[[Tensor, Tensor], Tensor]


def backwards(tokens: int, block: int, run: Run) -> Tensor:
    columns = torch.arange(3 * tokens + 2 * block)
    letter, previous, out, position = columns.split([tokens] * 3 + [2 * block])
    qk, ov = torch.zeros(2, len(columns), len(columns))
    qk[letter, letter] = 100  # find the same letter
    qk[position[block:, None], position[:block]] = 100  # in the first half
    ov[previous, out] = 1  # and copy the letter before it
    return run(qk, ov)


def backwards_without_itself(tokens: int, block: int, run: Run) -> Tensor:
    letter = torch.arange(tokens)
    position = 3 * tokens + torch.arange(2 * block)
    qk = torch.zeros(3 * tokens + 2 * block, 3 * tokens + 2 * block)
    ov = torch.zeros_like(qk)
    qk[letter, letter] = 100
    qk[position, position] = -100
    ov[tokens + letter, 2 * tokens + letter] = 1
    return run(qk, ov)


def runner(generator: Generator, n: int, tokens: int, block: int) -> Run:
    """Make `run`, which applies a head to a residual stream that an earlier head has written to."""
    first = torch.rand(n, tokens, generator=generator, dtype=torch.float64).argsort(-1)[:, :block]
    order = torch.rand(n, block - 1, generator=generator, dtype=torch.float64).argsort(-1) + 1
    ids = torch.cat((first, first.gather(1, order)), dim=1)  # (n, L)
    length = 2 * block - 1
    before = torch.cat((ids[:, :1], ids[:, :-1]), dim=1)
    places = torch.eye(2 * block)[:length].expand(n, -1, -1)
    letters, previous = F.one_hot(ids, tokens), F.one_hot(before, tokens)
    parts = (letters, previous, torch.zeros(n, length, tokens), places)
    stream = torch.cat([part.double() for part in parts], dim=-1)

    def run(qk: Tensor, ov: Tensor) -> Tensor:
        qk, ov = (torch.as_tensor(matrix).double().cpu() for matrix in (qk, ov))
        scores = (stream @ qk @ stream.mT).masked_fill(~causal_mask(length), -torch.inf)
        added = scores.softmax(-1) @ stream @ ov  # (n, L, columns)
        return added[:, block:, 2 * tokens : 3 * tokens].round(decimals=2) + 0.0

    return run


def circuit_cases(generator: Generator) -> list[Case]:
    def case(n: int, tokens: int, block: int) -> Case:
        note = _("{letters} letters, a block of {n}").format(letters=tokens, n=block)
        return Case(
            (tokens, block, runner(generator, n, tokens, block)),
            {"N": n, "Q": block - 1, "T": tokens},
            note,
        )

    return [case(2, 5, 4), case(3, 8, 6), case(3, 11, 8)]


Entry = tuple[str, ...]
SAME, AFTER = ("letter", "letter", "pairs"), ("letter", "previous", "pairs")
EARLY = ("second", "first")
COPY, COPY_PREVIOUS = ("letter", "out", "pairs"), ("previous", "out", "pairs")


@dataclass(frozen=True)
class Circuit:
    """A head with the entries that `qk` and `ov` return, each named by its rows and its columns.

    Those with a third item pair rows and columns; the others combine each row with each column.
    """

    qk: Callable[[], Sequence[Entry]] = lambda: (SAME, EARLY)
    ov: Callable[[], Sequence[Entry]] = lambda: (COPY_PREVIOUS,)

    def __call__(self, tokens: int, block: int, run: Run) -> Tensor:
        columns = torch.arange(3 * tokens + 2 * block)
        names = ("letter", "previous", "out", "first", "second")
        sizes = (tokens, tokens, tokens, block, block)
        part = dict(zip(names, columns.split(sizes), strict=True))
        part["first but one"] = part["first"][1:]
        matrices = torch.zeros(2, len(columns), len(columns))
        for matrix, line, number in zip(matrices, (self.qk, self.ov), (100.0, 1.0), strict=True):
            for row, column, *pairs in line():
                rows = part[row] if pairs else part[row][:, None]
                matrix[rows, part[column]] = number
        return run(matrices[0], matrices[1])


CIRCUIT_MISTAKES = (
    WrongLine(
        "qk",
        lambda: (SAME,),
        "A query can also attend to its own position. The letter there matches too, so half of "
        "the weight stays there. Make the second half prefer the first. (The rows of `qk` "
        "belong to the query, its columns to the key.)",
    ),
    WrongLine(
        "qk",
        lambda: (AFTER, EARLY),
        "The head finds the position *after* the letter, and the previous letter there is the "
        "letter itself. Make it find the letter itself.",
    ),
    WrongLine(
        "qk",
        lambda: (("previous", "letter", "pairs"), EARLY),
        "Your query looks for its *previous* letter. The rows of `qk` belong to the query: use "
        "its own letter there.",
    ),
    WrongLine(
        "qk",
        lambda: (EARLY,),
        "No letters are compared, so the whole first half has equal weights.",
    ),
    WrongLine(
        "qk",
        lambda: (),
        "All scores are 0, so each query has equal weights for all positions up to its own.",
    ),
    WrongLine(
        "qk",
        lambda: (SAME, ("second", "first", "pairs")),
        "You paired `position[block:]` with `position[:block]`, so each position prefers only "
        "one other. The column `position[block:, None]` makes an entry for each pair.",
    ),
    WrongLine(
        "ov",
        lambda: (COPY,),
        "The head copies the letter that it finds, so it repeats the current one. The letter "
        "before it is in the columns `previous`.",
    ),
    WrongLine(
        "ov",
        lambda: (),
        "Nothing is written to `out`. The rows of `ov` are read, and its columns are written.",
    ),
    WrongLine(
        "ov",
        lambda: (COPY_PREVIOUS, COPY),
        "Your head writes two letters. Write only the one before.",
    ),
    WrongLine(
        "ov",
        lambda: (("previous", "out"),),
        "Each letter is written as all letters at once. `ov` needs one entry for each letter: "
        "without `None` the two lists are paired.",
    ),
)

EXERCISE = Exercise(
    title="A head that reads backwards",
    level=2,
    minutes=12,
    section="13.2",
    prompt="""
The stream of section 13.2 has the columns `letter`, `previous`, `out` and `position`, and a first
head has already filled `previous`. The first half of a sequence is a block of different letters.
The second half contains all of them except the first, in random order. Write the second head by
hand: for each letter of the second half, it writes to `out` the letter that came *before* it in the
first half. Make entries with `qk[rows, columns] = 100` and `ov[rows, columns] = 1`. `run(qk, ov)`
runs the head, and returns what it has written to `out` in the second half.
""",
    stub="""
def backwards(tokens, block, run):
    columns = torch.arange(3 * tokens + 2 * block)
    letter, previous, out, position = columns.split([tokens] * 3 + [2 * block])
    qk, ov = torch.zeros(2, len(columns), len(columns))
    raise NotImplementedError  # make entries; position[:block] is the first half
    return run(qk, ov)
""",
    reference=backwards,
    cases=circuit_cases,
    axes="N Q T",
    gradients=False,
    mistakes=(
        Mistake(
            Circuit(lambda: (AFTER,), lambda: (COPY,)),
            "These are the two lines of section 13.2, which write the letter that comes *after*.",
        ),
        Mistake(
            Circuit(lambda: (AFTER, EARLY), lambda: (COPY,)),
            "This is the head of section 13.2, made to prefer the first half. It still writes the "
            "letter that comes *after*.",
        ),
        Mistake(
            Circuit(lambda: (AFTER, ("second", "first but one")), lambda: (COPY,)),
            "This head writes the letter that comes *after*, like the one in section 13.2.",
        ),
    ),
    common_mistakes=MistakeSet(lambda circuit: circuit, CIRCUIT_MISTAKES, right=Circuit()),
    hints=(
        "The head should attend to the same letter in the first half. Which columns of the query "
        "and of the key are needed for that?",
        "The stream at that position contains its own letter and the previous one. Which of them "
        "must `ov` copy? And does a query also find itself?",
        "`qk[letter, letter]`, `qk[position[block:, None], position[:block]]` and "
        "`ov[previous, out]`.",
    ),
    insight="A query can also attend to its own position. If it looks for its own letter, it finds "
    "itself, unless an entry for the positions prevents this.",
    comes_back="Section 13.11 has a trained head whose OV circuit lowers the logit of the letter "
    "that it attends to.",
    others=(backwards_without_itself,),
)
