"""Exercises of chapter 13: what heads do, and how to find out."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from attnbook.attention.interventions import head_outputs
from attnbook.attention.masks import causal_mask
from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.exercises.chapters.common_mistakes import MistakeSet, WrongLine
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw
from attnbook.language import _
from attnbook.notebook.show import device
from attnbook.training.loop import train

# --- 13.scores: an induction score -----------------------------------------------------------


def my_score(weights: Tensor, ids: Tensor) -> Tensor:
    same = (ids[:, None] == ids).tril(-1)  # (L, L): True where the letter of row i is at j < i
    due = same.roll(1, dims=-1)  # True one position after each such j
    return weights[..., due].mean(dim=-1)


def score_by_loops(weights: Tensor, ids: Tensor) -> Tensor:
    letters, found = ids.tolist(), []
    for i, letter in enumerate(letters):
        if letter in letters[:i]:
            found.append(weights[..., i, letters.index(letter) + 1])
    return torch.stack(found).mean(dim=0)


def score_cases(generator: Generator) -> list[Case]:
    def case(ids: Sequence[int], *front: int) -> Case:
        length = len(ids)
        hidden = ~torch.ones(length, length, dtype=torch.bool).tril()
        scores = 2 * draw(generator, *front, length, length)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        sizes = dict(zip(("N", "H")[-len(front) :], front, strict=True))
        text = " ".join("abcdefgh"[i] for i in ids)
        return Case((weights, torch.tensor(ids)), {**sizes, "L": length}, text)

    return [
        case((3, 1, 4, 0, 3, 1, 4), 3),
        case((5, 2, 7, 1, 0, 2, 7, 5, 1), 2),
        case((4, 4, 1, 6, 2, 0, 6, 2, 5, 1), 2, 3),
        case((0, 3, 6, 5, 2, 7, 6, 5), 5),
    ]


def score(
    seen: Callable[[Tensor], Tensor] = lambda same: same.tril(-1),
    move: int = 1,
    of: Callable[[Tensor, Tensor], Tensor] = lambda weights, due: weights[..., due].mean(-1),
) -> Callable[[Tensor, Tensor], Tensor]:
    """The induction score, right unless a part is replaced.

    `seen` receives a mask of equal letters, (L, L). `of` receives the weights and a mask of the
    letters due.
    """
    return lambda weights, ids: of(weights, seen(ids[:, None] == ids).roll(move, -1))


SCORES = Exercise(
    id="13.scores",
    title="An induction score",
    level=1,
    minutes=8,
    section="13.4",
    prompt="""
Write `my_score(weights, ids)`: the induction score of each head. `weights` (..., L, L) are the
heads' attention maps for one sequence. `ids` (L,) are its letters, and each letter appears at most
twice. If the letter at i has appeared before, at j, the letter *after* j is due. The score is the
mean of the weights that these positions i put on j + 1. Positions whose letter is new do not count.
The answer has shape (...).
""",
    reference=my_score,
    cases=score_cases,
    axes="N H",
    mistakes=(
        Mistake(
            score(move=0),
            "You took the weight on j, the earlier position of the letter. The letter due "
            "is at j + 1.",
        ),
        Mistake(
            score(move=-1),
            "You took the weight on j − 1, the letter before. The letter due is at j + 1.",
        ),
        Mistake(
            score(of=lambda weights, due: (weights * due).sum(-1).mean(-1)),
            "You divided by L. Count only the positions whose letter has appeared before.",
        ),
        Mistake(
            score(of=lambda weights, due: (weights * due).mean((-2, -1))),
            "You divided by L · L, the number of cells in the map. Take the mean over one cell "
            "for each position whose letter has appeared before.",
        ),
        Mistake(
            score(of=lambda weights, due: weights[..., due].sum(-1)),
            "You added up the weights. The score is their mean.",
        ),
        Mistake(
            score(of=lambda weights, due: weights.mT[..., due].mean(-1)),
            "You swapped rows and columns: the query i is the row, and the key j + 1 the column.",
        ),
        Mistake(
            score(lambda same: same.tril()),
            "You also compared each letter with itself. Only earlier positions count: `tril(-1)`.",
        ),
        Mistake(
            score(lambda same: same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)),
            "You also counted later positions of the letter. Only j < i counts.",
        ),
        Mistake(
            lambda weights, ids: weights.amax(-1).mean(-1),
            "That is the largest weight of each row, at any position. Take the weight on j + 1.",
        ),
        Mistake(
            score(
                of=lambda weights, due: (
                    (weights.argmax(-1) == due.int().argmax(-1))[..., due.any(-1)].double().mean(-1)
                )
            ),
            "You counted how often the largest weight is on the letter due. The score is the mean "
            "of the weights themselves.",
        ),
        Mistake(
            lambda weights, ids: weights.diagonal(-1, -2, -1).mean(-1),
            "That is the previous-token score: the mean weight on the position before i.",
        ),
        Mistake(
            lambda weights, ids: weights[..., (ids.roll(-1)[:, None] == ids).tril(-1)].mean(-1),
            "You looked for the letter that comes next in `ids`. The letter due depends only on "
            "the current letter: it is the one after j, even if `ids` continues differently.",
        ),
    ),
    hints=(
        "First mark where letters are equal: compare a column of letters with a row of letters, "
        "(L, L). Which of these cells belong to an earlier j?",
        "`tril(-1)` keeps these cells. The letter due is one column to the right.",
        "`weights[..., due]` collects the cells in which `due` is True, and keeps the other axes.",
    ),
    insight="Even a head that spreads its weight evenly has a score above 0: the mean of 1 / (i + "
    "1) over these positions. So compare each score with that of an untrained model.",
    comes_back="13.experiment has five kinds of models whose heads have the same score.",
    others=(score_by_loops,),
)

# --- 13.ablate: a mean from other sequences --------------------------------------------------


def without_head(
    layer: MultiHeadAttention, x: Tensor, others: Tensor, mask: Tensor, head: int
) -> Tensor:
    with head_outputs(layer) as usual:
        layer(others, mask=mask)

    def replace(outputs: Tensor) -> Tensor:
        changed = outputs.clone()  # (B, H, L, Dv)
        changed[:, head] = usual[0][:, head].mean(dim=0)
        return changed

    with head_outputs(layer, replace):
        return layer(x, mask=mask)[0]


def without_head_by_a_choice(
    layer: MultiHeadAttention, x: Tensor, others: Tensor, mask: Tensor, head: int
) -> Tensor:
    chosen = (torch.arange(layer.n_heads, device=x.device) == head)[:, None, None]
    with head_outputs(layer) as usual:
        layer(others, mask=mask)
    means = usual[0].mean(dim=0, keepdim=True)  # (1, H, L, Dv)
    with head_outputs(layer, lambda outputs: torch.where(chosen, means, outputs)):
        return layer(x, mask=mask)[0]


def some_layer(generator: Generator, width: int, n_heads: int) -> MultiHeadAttention:
    """A layer with random, frozen weights."""
    layer = MultiHeadAttention(width, n_heads, bias=False).double().requires_grad_(False)
    for weight in layer.parameters():
        weight.copy_(draw(generator, *weight.shape) / width**0.5)
    return layer.to(device())


def ablate_cases(generator: Generator) -> list[Case]:
    def case(note: str, b: int, n: int, h: int, length: int, d: int, head: int) -> Case:
        layer = some_layer(generator, d, h)
        x, others = draw(generator, b, length, d), draw(generator, n, length, d)
        sizes = {"B": b, "N": n, "H": h, "L": length, "D": d}
        return Case((layer, x, others, causal_mask(length), head), sizes, note)

    return [
        case("1 sequence, head 1 of 3", 1, 4, 3, 5, 6, 1),
        case("2 sequences, head 3 of 4", 2, 5, 4, 7, 12, 3),
        case("3 sequences, head 0 of 2", 3, 7, 2, 5, 10, 0),
    ]


def head_is(head: int, outputs: Tensor) -> Tensor:
    """A mask that is True for one head of (B, H, L, Dv). Head −1 is the last."""
    heads = torch.arange(outputs.size(1), device=outputs.device)
    return (heads == head % len(heads))[:, None, None]


def ablated(
    new: Callable[[Tensor, Tensor], Tensor],
    put: Callable[[Tensor, Tensor, int], Tensor] | None = None,
    heard: Callable[[Tensor, Tensor], Tensor] = lambda x, others: others,
    masked: tuple[bool, bool] = (True, True),
) -> Callable[..., Tensor]:
    """Build a version of `without_head` that contains a mistake.

    `heard` returns the sequences to average over. `new` makes the replacement for all heads,
    (B, H, L, Dv), from their outputs for those sequences and for x. `put` receives the outputs, the
    replacement and the head's number. `masked` says whether those sequences and x are masked.
    """

    def only(outputs: Tensor, means: Tensor, head: int) -> Tensor:
        return torch.where(head_is(head, outputs), means, outputs)

    def wrong(
        layer: MultiHeadAttention, x: Tensor, others: Tensor, mask: Tensor, head: int
    ) -> Tensor:
        with head_outputs(layer) as usual:
            layer(heard(x, others), mask=mask if masked[0] else None)

        def replace(outputs: Tensor) -> Tensor:
            means = new(usual[0], outputs).expand_as(outputs)
            return (put or only)(outputs, means, head)

        with head_outputs(layer, replace):
            return layer(x, mask=mask if masked[1] else None)[0]

    return wrong


def mean_of_others(usual: Tensor, outputs: Tensor) -> Tensor:
    return usual.mean(0, keepdim=True)


ABLATE = Exercise(
    id="13.ablate",
    title="Mean ablation of one head",
    level=2,
    minutes=12,
    section="13.9",
    prompt="""
Write `without_head(layer, x, others, mask, head)`: what the layer outputs for `x` (B, L, D) if the
output of head number `head`, before W_O, is replaced with its mean. Take the mean over the
sequences `others` (N, L, D), separately for each position and each of the Dv columns. The other
heads stay as they are, and the layer has to be unchanged afterward. `layer(x, mask=mask)` returns
the output and the weights. Return the output, (B, L, D).
""",
    reference=without_head,
    cases=ablate_cases,
    axes="B L D",
    gradients=False,
    mistakes=(
        Mistake(
            ablated(lambda usual, outputs: outputs.mean(0, keepdim=True)),
            "You took the mean over `x` itself. For one sequence, that is what the head outputs "
            "anyway, so nothing is removed. Take the mean over `others`.",
        ),
        Mistake(
            ablated(lambda usual, outputs: torch.zeros_like(outputs)),
            "You set the head to zero, but its mean is not zero. What the head adds to every "
            "sequence should stay.",
        ),
        Mistake(
            ablated(lambda usual, outputs: usual.mean((0, 2), keepdim=True)),
            "You took the mean over the positions too. Each position has its own mean.",
        ),
        Mistake(
            ablated(mean_of_others, heard=lambda x, others: torch.cat((x, others))),
            "You took the mean over `x` and `others` together. Take it over `others` only.",
        ),
        Mistake(
            ablated(mean_of_others, masked=(False, False)),
            "The mask is missing, so each position attends to later ones too.",
        ),
        Mistake(
            ablated(lambda usual, outputs: usual.mean((0, 2, 3), keepdim=True)),
            "You took a single mean of everything that the head outputs. Each position and each "
            "column has its own mean.",
        ),
        Mistake(
            ablated(mean_of_others, put=lambda outputs, means, head: means),
            "You replaced all heads. The other heads have to stay as they are.",
        ),
        Mistake(
            ablated(
                mean_of_others,
                put=lambda outputs, means, head: torch.where(
                    head_is(head - 1, outputs), means, outputs
                ),
            ),
            "You removed the head before the one you were given. Heads are counted from 0.",
        ),
        Mistake(
            ablated(lambda usual, outputs: usual[:1]),
            "You took the output for one other sequence, as in resample ablation. Take the mean "
            "over all of `others`.",
        ),
        Mistake(
            ablated(mean_of_others, heard=lambda x, others: others.mean(0, keepdim=True)),
            "You averaged the sequences and then computed the output of the head. Because of the "
            "softmax, that is not the mean of the outputs.",
        ),
        Mistake(
            ablated(mean_of_others, masked=(False, True)),
            "The mask is missing for `others`, so their positions attend to later ones.",
        ),
        Mistake(
            ablated(lambda usual, outputs: outputs),
            "Nothing is removed: this is the usual output of the layer for `x`.",
        ),
    ),
    hints=(
        "Run the layer twice: once to read what its heads output for `others`, and once to "
        "replace an output for `x`.",
        "`with head_outputs(layer) as usual:` collects a list whose item 0 has shape "
        "(N, H, L, Dv). Over which axis do you take the mean?",
        "`changed = outputs.clone()`, then `changed[:, head] = usual[0][:, head].mean(dim=0)`, in "
        "a function that you pass to `head_outputs`.",
    ),
    insight="The mean over a batch of one is the head's own output, so such an ablation removes "
    "nothing. Take the mean over many sequences, but not over the ones that you test.",
    comes_back="13.find removes each head of a trained model in this way.",
    others=(without_head_by_a_choice,),
)

# --- 13.circuit: two matrices for a head -----------------------------------------------------

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


def by_entries(
    qk: Sequence[Entry] = (SAME, EARLY), ov: Sequence[Entry] = (COPY_PREVIOUS,)
) -> Callable[[int, int, Run], Tensor]:
    """A head with these entries, each named by its rows and its columns.

    Those with a third item pair rows and columns; the others combine each row with each column.
    """

    def wrong(tokens: int, block: int, run: Run) -> Tensor:
        columns = torch.arange(3 * tokens + 2 * block)
        names = ("letter", "previous", "out", "first", "second")
        sizes = (tokens, tokens, tokens, block, block)
        part = dict(zip(names, columns.split(sizes), strict=True))
        part["first but one"] = part["first"][1:]
        matrices = torch.zeros(2, len(columns), len(columns))
        for matrix, entries, number in zip(matrices, (qk, ov), (100.0, 1.0), strict=True):
            for row, column, *pairs in entries:
                rows = part[row] if pairs else part[row][:, None]
                matrix[rows, part[column]] = number
        return run(matrices[0], matrices[1])

    return wrong


CIRCUIT = Exercise(
    id="13.circuit",
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
            by_entries([SAME]),
            "A query can also attend to its own position. The letter there matches too, so half of "
            "the weight stays there. Make the second half prefer the first. (The rows of `qk` "
            "belong to the query, its columns to the key.)",
        ),
        Mistake(
            by_entries([AFTER], [COPY]),
            "These are the two lines of section 13.2, which write the letter that comes *after*.",
        ),
        Mistake(
            by_entries([AFTER, ("second", "first but one")], [COPY]),
            "This head writes the letter that comes *after*, like the one in section 13.2.",
        ),
        Mistake(
            by_entries(ov=[COPY]),
            "The head copies the letter that it finds, so it repeats the current one. The letter "
            "before it is in the columns `previous`.",
        ),
        Mistake(
            by_entries([AFTER, EARLY]),
            "The head finds the position *after* the letter, and the previous letter there is the "
            "letter itself. Make it find the letter itself.",
        ),
        Mistake(
            by_entries([("previous", "letter", "pairs"), EARLY]),
            "Your query looks for its *previous* letter. The rows of `qk` belong to the query: use "
            "its own letter there.",
        ),
        Mistake(
            by_entries([EARLY]),
            "No letters are compared, so the whole first half has equal weights.",
        ),
        Mistake(
            by_entries([]),
            "All scores are 0, so each query has equal weights for all positions up to its own.",
        ),
        Mistake(
            by_entries(ov=[]),
            "Nothing is written to `out`. The rows of `ov` are read, and its columns are written.",
        ),
        Mistake(
            by_entries(ov=[COPY_PREVIOUS, COPY]),
            "Your head writes two letters. Write only the one before.",
        ),
        Mistake(
            by_entries([SAME, ("second", "first", "pairs")]),
            "You paired `position[block:]` with `position[:block]`, so each position prefers only "
            "one other. The column `position[block:, None]` makes an entry for each pair.",
        ),
        Mistake(
            by_entries(ov=[("previous", "out")]),
            "Each letter is written as all letters at once. `ov` needs one entry for each letter: "
            "without `None` the two lists are paired.",
        ),
    ),
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

# --- 13.find: the head that is needed --------------------------------------------------------


def most_needed(model: "TwoLayers", ids: Tensor, known: Tensor) -> tuple[int, int]:
    def right() -> Tensor:
        said = model(ids[:, :-1])[0].argmax(-1)
        return (said == ids[:, 1:])[known].double().mean()

    def without(layer: nn.Module, head: int) -> Tensor:
        def replace(outputs: Tensor) -> Tensor:
            changed = outputs.clone()
            changed[:, head] = outputs[:, head].mean(0)
            return changed

        with head_outputs(layer, replace):
            return right()

    shares = {(n, h): without(model.layers[n], h) for n in range(2) for h in range(4)}
    return min(shares, key=shares.__getitem__)


TOKENS, BLOCK, WIDTH, N_HEADS = 10, 7, 24, 4


def in_pieces(n: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Sequences as in 13.1, (n, 14), and which letters after the first are predictable, (n, 13)."""
    block = torch.rand(n, TOKENS, generator=generator, dtype=torch.float64).argsort(-1)[:, :BLOCK]
    places = torch.randint(BLOCK, (BLOCK, n), generator=generator)
    goes_on = torch.rand(BLOCK, n, generator=generator) > 0.15
    goes_on[0] = False
    for i in range(1, BLOCK):
        goes_on[i] &= places[i - 1] < BLOCK - 1
        places[i] = torch.where(goes_on[i], places[i - 1] + 1, places[i])
    known = torch.cat((torch.zeros(n, BLOCK - 1, dtype=torch.bool), goes_on.T), dim=1)
    return torch.cat((block, block.gather(1, places.T)), dim=1), known


class TwoLayers(nn.Module):
    """A smaller model of the kind in 13.3, with random weights."""

    def __init__(self, generator: Generator) -> None:
        super().__init__()
        self.embeddings = nn.ParameterList(draw(generator, n, WIDTH) for n in (TOKENS, 2 * BLOCK))
        self.layers = nn.ModuleList(some_layer(generator, WIDTH, N_HEADS) for _ in range(2))
        self.unembed = nn.Parameter(draw(generator, WIDTH, TOKENS) / WIDTH**0.5)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Shapes: ids (B, L) -> logits (B, L, T), maps (layer, B, H, L, L)."""
        letters, places = self.embeddings
        stream, maps = letters[ids] + places[: ids.size(-1)], []
        mask = causal_mask(ids.size(-1)).to(ids.device)
        for layer in self.layers:
            added, weights = layer(stream, mask=mask)
            stream = stream + added
            maps.append(weights)
        return stream @ self.unembed, torch.stack(maps)


def shares_without(model: TwoLayers, ids: Tensor, known: Tensor) -> Tensor:
    """The fraction of predictable letters that the model gets right without each head, (2, H)."""

    def without(layer: int, head: int) -> float:
        def replace(outputs: Tensor) -> Tensor:
            return torch.where(head_is(head, outputs), outputs.mean(0), outputs)

        with head_outputs(model.layers[layer], replace):
            said = model(ids[:, :-1])[0].argmax(-1)
        return (said == ids[:, 1:])[known].double().mean().item()

    return torch.tensor([[without(n, h) for h in range(N_HEADS)] for n in range(2)])


@functools.cache
def grown(seed: int) -> TwoLayers:
    """A model with this seed, trained for about a second, with one head of layer 1 replaced.

    The new head attends like the head that is needed most, but more sharply, and contributes next
    to nothing. It replaces the head that is needed least.
    """
    generator = Generator().manual_seed(seed)
    model = TwoLayers(generator).cpu().requires_grad_(True)

    def loss(model: nn.Module) -> Tensor:
        ids, known = in_pieces(32, generator)
        logits, _ = model(ids[:, :-1])
        return F.cross_entropy(logits[known], ids[:, 1:][known])

    train(model, loss, steps=180, lr=0.02)
    model.requires_grad_(False)
    shares = shares_without(model, *in_pieces(256, generator))[0]
    layer: Any = model.layers[0]
    needed, needed_least = int(shares.argmin()), int(shares.argmax())
    query, key, value = (
        matrix.weight.unflatten(0, (N_HEADS, -1)) for matrix in (layer.w_q, layer.w_k, layer.w_v)
    )  # (H, Dk, D), views
    query[needed_least] = 2 * query[needed]
    key[needed_least] = key[needed]
    value[needed_least] *= 0.05
    return model.to(device())


def head_of(number: Tensor) -> tuple[int, int]:
    """Return the layer and the head at this flat index of a table (2, H)."""
    return divmod(int(number), N_HEADS)


def most_needed_by_a_table(model: TwoLayers, ids: Tensor, known: Tensor) -> tuple[int, int]:
    def lost(layer: nn.Module, chosen: Tensor) -> Tensor:
        with head_outputs(layer, lambda x: torch.where(chosen, x.mean(0, keepdim=True), x)):
            logits, _ = model(ids[:, :-1])
        return F.cross_entropy(logits[known], ids[:, 1:][known])

    heads = torch.eye(4, dtype=torch.bool, device=ids.device)[:, :, None, None]
    table = torch.stack([torch.stack([lost(x, h) for h in heads]) for x in model.layers])
    return divmod(int(table.argmax()), 4)


def by_induction_score(model: TwoLayers, ids: Tensor, known: Tensor) -> tuple[int, int]:
    due = (ids[:, None, :BLOCK] == ids[:, 1:, None]).int().argmax(-1)  # (B, L)
    maps = model(ids[:, :-1])[1]
    index = due[None, :, None, :, None].expand(*maps.shape[:-1], 1)
    at_due = maps.gather(-1, index)[..., 0].transpose(1, 2)  # (2, H, B, L)
    return head_of(at_due[:, :, known].mean(-1).argmax())


def by_previous_score(model: TwoLayers, ids: Tensor, known: Tensor) -> tuple[int, int]:
    maps = model(ids[:, :-1])[1]
    return head_of(maps.diagonal(-1, -2, -1)[..., : BLOCK - 1].mean((1, 3)).argmax())


FIND = Exercise(
    id="13.find",
    title="Find the head",
    level=2,
    minutes=12,
    section="13.9",
    prompt="""
Two models like the one in 13.3, but smaller, were trained from different seeds. Then one head of
each was replaced. `model(ids[:, :-1])` returns logits (B, 13, 10) and maps (2, B, 4, 13, 13), and
`model.layers` contains its two layers of four heads. `ids` (B, 14) are sequences in pieces, and
`known` (B, 13) marks the predictable letters, from the second letter on. Which head does the model
need most? It is the head whose mean ablation leaves the fewest of these letters right.
`most_needed(model, ids, known)` returns its layer and its number, such as `(1, 0)`, both counted
from 0.
""",
    reference=most_needed,
    cases=lambda generator: [
        Case(
            (grown(seed), *in_pieces(100, Generator().manual_seed(1))),
            note=_("seed {name}").format(name=seed),
        )
        for seed in (17, 29)
    ],
    mistakes=(
        Mistake(
            by_induction_score,
            "This head has the highest induction score, but another head is needed more.",
        ),
        Mistake(
            by_previous_score,
            "This head has the highest previous-token score, but another head is needed more.",
        ),
        Mistake(
            lambda *model: most_needed(*model)[::-1],
            "Return the layer first, then the head.",
        ),
        Mistake(
            lambda *model: tuple(n + 1 for n in most_needed(*model)),
            "Layers and heads are counted from 0.",
        ),
    ),
    properties=(
        Property(
            "Removing a different head leaves even fewer letters right.",
            lambda answer, case: tuple(map(int, answer)) == most_needed(*case.arguments),
        ),
    ),
    hints=(
        "Remove one head at a time, and count the letters that are still right.",
        "`(model(ids[:, :-1])[0].argmax(-1) == ids[:, 1:])[known]` says which are right. "
        "`head_outputs(layer, replace)` removes a head while its `with` block runs.",
        "In `replace`, clone the outputs (B, H, L, Dv) and set `changed[:, head]` to `outputs[:, "
        "head].mean(0)`. Keep the eight fractions of right letters and take the smallest.",
    ),
    insight="In both models, another head has a higher previous-token score. It attends like the "
    "needed head, and even more sharply, but it contributes next to nothing. No map shows that.",
    comes_back="13.patch is about how the second layer uses such a head.",
    others=(most_needed_by_a_table,),
)

# --- 13.patch: an experiment that leaks ------------------------------------------------------


def patched_keys(
    first: MultiHeadAttention, second: MultiHeadAttention, x: Tensor, other: Tensor, mask: Tensor
) -> Tensor:
    stream = x + first(x, mask=mask)[0]
    patched = x + first(other, mask=mask)[0]
    read, _ = second(stream, patched, stream, mask=mask)
    return stream + read


def patched_keys_by_difference(
    first: MultiHeadAttention, second: MultiHeadAttention, x: Tensor, other: Tensor, mask: Tensor
) -> Tensor:
    added, exchanged = (first(rows, mask=mask)[0] for rows in (x, other))
    stream = x + added
    keys = stream - added + exchanged
    return stream + second(query=stream, key=keys, value=stream, mask=mask)[0]


def patch_cases(generator: Generator) -> list[Case]:
    def case(note: str, h: int, d: int, length: int, *front: int) -> Case:
        layers = (some_layer(generator, d, h), some_layer(generator, d, h))
        x, other = draw(generator, *front, length, d), draw(generator, *front, length, d)
        sizes = {**({"B": front[0]} if front else {}), "L": length, "D": d}
        return Case((*layers, x, other, causal_mask(length)), sizes, note)

    return [
        case("one sequence, 2 heads", 2, 6, 5),
        case("2 sequences, 4 heads", 4, 12, 5, 2),
        case("3 sequences, 5 heads", 5, 10, 7, 3),
    ]


Reads = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Patch:
    """What the second layer reads and adds to. Each is right unless it is replaced.

    Each receives the embeddings and what layer 1 adds, first for this run, then for the other.
    """

    query: Reads = lambda x, added, other, theirs: x + added
    key: Reads = lambda x, added, other, theirs: x + theirs
    value: Reads = lambda x, added, other, theirs: x + added
    onward: Reads = lambda x, added, other, theirs: x + added

    def __call__(
        self,
        first: MultiHeadAttention,
        second: MultiHeadAttention,
        x: Tensor,
        other: Tensor,
        mask: Tensor,
    ) -> Tensor:
        both = (x, first(x, mask=mask)[0], other, first(other, mask=mask)[0])
        ways = (way(*both) for way in (self.query, self.key, self.value))
        return self.onward(*both) + second(*ways, mask=mask)[0]


def all_of_the_other(x: Tensor, added: Tensor, other: Tensor, theirs: Tensor) -> Tensor:
    return other + theirs


def their_layer_1(x: Tensor, added: Tensor, other: Tensor, theirs: Tensor) -> Tensor:
    return x + theirs


def without_mask(layer: MultiHeadAttention) -> Any:
    return lambda *ways, mask: layer(*ways)


PATCH_MISTAKES = (
    WrongLine(
        "key",
        all_of_the_other,
        "Your keys also contain the other run's embeddings. Only what layer 1 adds should come "
        "from that run.",
    ),
    WrongLine(
        "key",
        lambda x, added, other, theirs: x + added,
        "Nothing is patched: the keys come from the run on `x`.",
    ),
    WrongLine(
        "key",
        lambda x, added, other, theirs: other + added,
        "The keys contain the other run's embeddings, and what layer 1 adds in the run on `x`. It "
        "should be the other way around.",
    ),
    WrongLine(
        "key",
        lambda x, added, other, theirs: x + added + theirs,
        "The keys contain what layer 1 adds in *both* runs. Replace it instead of adding it.",
    ),
    WrongLine(
        "key",
        lambda x, added, other, theirs: theirs,
        "The keys lack the embeddings `x`.",
    ),
    WrongLine(
        "value",
        their_layer_1,
        "The values read the patched stream. If `second` gets no value, it takes the key.",
    ),
    WrongLine(
        "value",
        all_of_the_other,
        "The values come from the other run. They have to come from the run on `x`.",
    ),
    WrongLine(
        "value",
        lambda x, added, other, theirs: x,
        "The values lack what layer 1 adds. They have to come from the run on `x`.",
    ),
    WrongLine("query", their_layer_1, "The queries read the patched stream. Only the keys may."),
    WrongLine(
        "query",
        all_of_the_other,
        "The queries come from the other run. They have to come from the run on `x`.",
    ),
    WrongLine(
        "onward",
        their_layer_1,
        "You added the output of layer 2 to the patched stream. The stream itself must not change.",
    ),
    WrongLine(
        "onward",
        all_of_the_other,
        "You added the output of layer 2 to the other run's stream. Add it to the stream of `x`.",
    ),
    WrongLine(
        "onward",
        lambda x, added, other, theirs: torch.zeros_like(x),
        "That is only what layer 2 adds. Return the stream after layer 2.",
    ),
    WrongLine(
        "onward",
        lambda x, added, other, theirs: x,
        "The stream that you return lacks what layer 1 adds.",
    ),
)

PATCH = Exercise(
    id="13.patch",
    title="A patch that leaks",
    level=3,
    minutes=15,
    section="13.8",
    prompt="""
`first` and `second` are two causal attention layers. `x` (..., L, D) contains the embeddings of one
sequence, and `other` those of another. In the run on `x`, only the *keys* of `second` should read a
patched stream, in which the part added by `first` comes from the run on `other`. The function
returns the stream after `second`, (..., L, D). It runs without an error, but it leaks in three
places. Repair it.
""",
    stub="""
def patched_keys(first, second, x, other, mask):
    raise NotImplementedError  # repair the lines below, then delete this one
    stream = x + first(x, mask=mask)[0]
    patched = other + first(other, mask=mask)[0]
    read, _ = second(stream, patched, mask=mask)
    return patched + read
""",
    reference=patched_keys,
    cases=patch_cases,
    axes="B L D",
    gradients=False,
    mistakes=(
        Mistake(
            Patch(key=all_of_the_other, value=all_of_the_other, onward=all_of_the_other),
            "All three leaks are still there. Whose embeddings are in the patched stream? What "
            "are the values of `second` if it gets only two tensors? And what is `read` added to?",
        ),
        Mistake(
            Patch(value=their_layer_1, onward=their_layer_1),
            "The embeddings are now right. What are the values of `second` if it gets only two "
            "tensors? And what is `read` added to?",
        ),
        Mistake(
            Patch(key=all_of_the_other, onward=all_of_the_other),
            "The values are now right. Whose embeddings are in the patched stream? And what is "
            "`read` added to?",
        ),
        Mistake(
            Patch(key=all_of_the_other, value=all_of_the_other),
            "`read` is now added to the right stream. Whose embeddings are in the patched stream? "
            "And what are the values of `second` if it gets only two tensors?",
        ),
        Mistake(
            Patch(all_of_the_other, all_of_the_other, all_of_the_other, all_of_the_other),
            "This is the whole run on `other`. Only the keys may read anything from it.",
        ),
        Mistake(
            Patch(their_layer_1, their_layer_1, their_layer_1, their_layer_1),
            "You patched queries, keys, values and the stream, so this tests more than one path.",
        ),
        Mistake(
            lambda first, second, x, other, mask: patched_keys(first, second, other, x, mask),
            "You swapped the two runs: this is the run on `other`, with keys from the run on `x`.",
        ),
        Mistake(
            lambda first, second, x, other, mask: Patch()(
                first, without_mask(second), x, other, mask
            ),
            "`second` has no mask, so its queries attend to later positions.",
        ),
    ),
    common_mistakes=MistakeSet(lambda patch: patch, PATCH_MISTAKES, right=Patch()),
    hints=(
        "Write down four streams: those that the queries, the keys and the values of `second` "
        "read, and the one that its output is added to. Which of them may depend on `other`?",
        "The patched stream has the embeddings `x`. Only what `first` adds comes from the "
        "other run.",
        "`patched = x + first(other, mask=mask)[0]`, `second(stream, patched, stream, mask=mask)`, "
        "`stream + read`.",
    ),
    insight="In the five models of 13.8, fewer than one letter in ten is right after this patch, "
    "and the same is true after the leaky one. The two differ in how often the models predict the "
    "wrong letter that we expect: in about 19 of 20 cases after this patch, and in about 1 of 16 "
    "after the leaky one.",
    comes_back="Question 3 in section 13.14 is about such a path.",
    others=(patched_keys_by_difference,),
)

# --- 13.experiment: five kinds with the same map ---------------------------------------------

Ask = Callable[..., Tensor]


def what_it_does(ask: Ask) -> str:
    ids = [3, 1, 4, 15, 9, 2, 6, 5, 9]  # 2 is due, and it isn't 7 positions back

    def due(*without: int) -> float:
        return ask(ids, without)[-1, 2].item()

    if due() < 0.3:
        return "position"
    change = due(0) - due()
    if abs(change) > 0.1:
        return "match" if change < 0 else "opposite"
    return "idle" if due(1) < 0.3 else "shared"


def kind_by_logarithms(ask: Ask) -> str:
    ids = torch.tensor([7, 8, 9, 10, 11, 12, 13, 14, 15, 10, 11])

    def lost(*without: int) -> float:
        return (ask(ids)[-1, 12] / ask(ids, without)[-1, 12]).log().item()

    if ask(ids)[-1].argmax() != 12:
        return "position"
    if lost(0) < -0.05:
        return "opposite"
    if lost(0) > 1:
        return "match"
    return "shared" if lost(1) < 1 else "idle"


def matches_letters(ids: Tensor) -> Tensor:
    """Where an induction head attends, (L, L): just after the letter's previous occurrence."""
    same = (ids[:, None] == ids).tril(-1)
    newest = same & (same.flip(-1).cumsum(-1).flip(-1) == 1)
    return newest.roll(1, -1)


def seven_back(ids: Tensor) -> Tensor:
    return torch.eye(len(ids), dtype=torch.bool).roll(7, 0).tril(-7)


def same_place_of_the_block(ids: Tensor) -> Tensor:
    """From position 8 on, position i attends to position (i + 1) mod 8."""
    i = torch.arange(len(ids))
    return (i == (i[:, None] + 1) % 8) & (i[:, None] > 7)


def itself(ids: Tensor) -> Tensor:
    return torch.eye(len(ids), dtype=torch.bool)


Head = tuple[Callable[[Tensor], Tensor], float]


def two_heads(
    first: Head, second: Head, join: Callable[[Tensor, Tensor], Tensor] = torch.add
) -> Ask:
    """A model with two heads, each given by the positions it attends to and its output's strength.

    A head puts 0.9 of its weight on those positions, and spreads the rest evenly over all positions
    so far.
    """

    def ask(ids: Sequence[int] | Tensor, without: Sequence[int] = ()) -> Tensor:
        letters = torch.as_tensor(ids).long().cpu()
        if letters.min() < 0 or letters.max() > 15:
            raise ValueError(_("the letters are numbers from 0 to 15"))
        rows = torch.ones(len(letters), len(letters), dtype=torch.float64).tril()
        even, added = rows / rows.sum(-1, keepdim=True), []
        for head, (place, strength) in enumerate((first, second)):
            there = place(letters).double()
            weights = torch.where(there.any(-1, keepdim=True), 0.9 * there + 0.1 * even, even)
            output = strength * weights @ F.one_hot(letters, 16).double()
            # The mean of the output over many sequences is the same for each letter.
            mean = output.mean(-1, keepdim=True).expand_as(output)
            added.append(mean if head in tuple(without) else output)
        return join(*added).softmax(-1)

    return ask


MODELS = {
    "A": two_heads((matches_letters, 8), (itself, 1)),
    "B": two_heads((matches_letters, 8), (seven_back, 0)),
    "C": two_heads((seven_back, 8), (itself, 1)),
    "D": two_heads((same_place_of_the_block, 8), (itself, -1)),
    "E": two_heads((matches_letters, 0), (matches_letters, 8)),
    "F": two_heads((matches_letters, 0), (matches_letters, 6)),
    "G": two_heads((matches_letters, 8), (matches_letters, 8)),
    "H": two_heads((matches_letters, 8), (matches_letters, 8), torch.maximum),
    "I": two_heads((matches_letters, -3), (matches_letters, 6)),
    "J": two_heads((matches_letters, -2), (matches_letters, 6)),
}
CONFUSED = {
    (("C", "D"), "match"): "try sequences in pieces. The head ignores the letters.",
    (("A", "B"), "position"): "it is also right on sequences in pieces, where a rule about "
    "positions fails.",
    (("E", "F"), "shared"): "remove head 1 alone. What is left?",
    (("E", "F"), "match"): "remove head 0 alone. Is anything lost?",
    (("G", "H"), "idle"): "remove head 1 alone: then head 0 does the work of both.",
    (("G", "H"), "match"): "remove head 0 alone. Is much lost?",
    (("I", "J"), "idle"): "remove head 0 and look at the probability, not only at the letter.",
}


def model_mistake(asked: Sequence[str], said: str, message: str) -> list[Mistake]:
    return list(choices(what_it_does, {(tuple(MODELS[name] for name in asked), said): message}))


EXPERIMENT = Exercise(
    id="13.experiment",
    title="Five kinds with the same map",
    level=3,
    minutes=15,
    section="13.14",
    prompt="""
You get ten models with two heads each, without a description. When a block of eight different
letters is repeated in one piece, head 0 of each model puts 0.9 of its weight on the letter due, and
all ten predict this letter. `ask(ids, without)` returns the probabilities of the next letter after
each position, (L, 16). `ids` are L letters of your choice, from 0 to 15. `without` contains the
heads that output their mean, such as `()` or `(0, 1)`. `what_it_does(ask)` returns what head 0
does:

- `"match"`: it finds the letter due by matching letters, and the model needs this head;
- `"position"`: it attends by position, whatever the letters are;
- `"idle"`: it has next to no effect, and head 1 does the work;
- `"shared"`: both heads do the work, and either is enough;
- `"opposite"`: it makes the letter that it attends to *less* probable.
""",
    reference=what_it_does,
    cases=lambda generator: [
        Case((ask,), note=_("model {name}").format(name=name)) for name, ask in MODELS.items()
    ],
    mistakes=(
        *(
            mistake
            for (asked, said), message in CONFUSED.items()
            for mistake in model_mistake(asked, said, message)
        ),
        Mistake(
            lambda ask: "match",
            "without head 0 the letter due would be much less probable, and on sequences in pieces "
            "the model would predict it. One of the two is not true here.",
        ),
        Mistake(
            lambda ask: "position",
            "on sequences in pieces it predicts the letter due, so its heads do use the letters.",
        ),
        Mistake(
            lambda ask: "idle",
            "removing head 0 would change next to nothing, and removing head 1 would ruin the "
            "answer. One of the two is not true here.",
        ),
        Mistake(
            lambda ask: "shared",
            "removing either head alone would cost next to nothing, and removing both would ruin "
            "the answer. That is not true here.",
        ),
        Mistake(
            lambda ask: "opposite",
            "without head 0 the letter due would become *more* probable. That is not true here.",
        ),
    ),
    hints=(
        "A block repeated in one piece does not help, because there all ten models agree. What "
        "does a rule about positions predict for a second half in pieces?",
        "Then compare the probability of the letter due with and without head 0. It can fall, rise "
        "or stay the same. If it stays the same, which other head could be the reason?",
        "If the answer is wrong on sequences in pieces, it is `position`. If the probability is "
        "much lower without head 0, it is `match`; if it is higher, it is `opposite`. Otherwise "
        "remove head 1: much lower means `idle`, and about the same means `shared`.",
    ),
    insight="You need three interventions: different data, removing head 0, and removing head 1. "
    "With only two of them, two of the five kinds look the same.",
    comes_back="You can ask the same of any head: would another rule give the same map, what is "
    "lost without the head, and which other heads do the same?",
    others=(kind_by_logarithms,),
    code=False,
)

CHAPTER = "13. Reading attention"
EXERCISES = (SCORES, ABLATE, CIRCUIT, FIND, PATCH, EXPERIMENT)
