"""Find the head that a model needs."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from attnbook.attention.interventions import head_outputs
from attnbook.attention.masks import causal_mask
from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.exercises.chapters.ch13.shared import head_is
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property
from attnbook.language import _
from attnbook.notebook.show import device


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


solved = functools.lru_cache(maxsize=2)(most_needed)  # each model is solved for many answers

TOKENS, BLOCK, N_HEADS = 10, 7, 4
N_SEQUENCES = 100
PARTS = {"letter": TOKENS, "place": 2 * BLOCK, "previous": TOKENS, "out": TOKENS, "unread": TOKENS}
WIDTH = 56  # the parts of the residual stream need 54, and four heads need a multiple of 4
HEAD_WIDTH = WIDTH // N_HEADS
COLUMNS = dict(zip(PARTS, torch.arange(54).split([*PARTS.values()]), strict=True))


def in_pieces(generator: Generator) -> tuple[Tensor, Tensor]:
    """Sequences as in 13.1, (N, 14), and which of their later letters are predictable, (N, 13)."""
    drawn = torch.rand(N_SEQUENCES, TOKENS, generator=generator, dtype=torch.float64)
    block = drawn.argsort(-1)[:, :BLOCK]
    places = torch.randint(BLOCK, (BLOCK, N_SEQUENCES), generator=generator)
    goes_on = torch.rand(BLOCK, N_SEQUENCES, generator=generator) > 0.15
    goes_on[0] = False
    for i in range(1, BLOCK):
        goes_on[i] &= places[i - 1] < BLOCK - 1
        places[i] = torch.where(goes_on[i], places[i - 1] + 1, places[i])
    known = torch.cat((torch.zeros(N_SEQUENCES, BLOCK - 1, dtype=torch.bool), goes_on.T), dim=1)
    return torch.cat((block, block.gather(1, places.T)), dim=1), known


class Head(NamedTuple):
    """The four matrices of a head, each (Dk, D)."""

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor


def read(part: str, only: Iterable[int] | None = None, later: int = 0) -> Tensor:
    """Read a part of the stream, or only some of its columns, `later` columns further right."""
    matrix = torch.zeros(HEAD_WIDTH, WIDTH)
    columns = torch.arange(PARTS[part]) if only is None else torch.tensor(tuple(only))
    columns = columns[columns + later < HEAD_WIDTH]
    matrix[columns + later, COLUMNS[part][columns]] = 1
    return matrix


def from_the_block(*places: int) -> tuple[Tensor, Tensor]:
    """Make any query prefer the keys at these places. It uses the last column of a head."""
    query, key = torch.zeros(2, HEAD_WIDTH, WIDTH)
    query[-1, COLUMNS["letter"]] = 1
    key[-1, COLUMNS["place"][list(places)]] = 1
    return query, key


def previous_letter(sharpness: float, letters: Iterable[int], to: str, size: float = 1) -> Head:
    """Attend to the previous position and write its letter, if it is one of these."""
    query, key = sharpness * read("place"), read("place", later=1)
    return Head(query, key, read("letter", letters), size * read(to))


def next_letter(sharpness: float, vote: float, to: str = "out") -> Head:
    """Attend to positions of the block whose previous letter is the query's: an induction head."""
    query, key = from_the_block(*range(BLOCK))
    query, key = sharpness * (query + read("letter")), key + read("previous")
    return Head(query, key, read("letter"), vote * read(to))


def last_of_block() -> Head:
    """Vote for the last letter of the block, which is right more often than others."""
    query, key = from_the_block(BLOCK - 1)
    return Head(30 * query, key, read("letter"), 0.5 * read("out"))


def no_repetition(vote: float) -> Head:
    """Vote against all earlier letters in the block, and against the current letter after it."""
    query = 30 * read("place", range(BLOCK, 2 * BLOCK))
    return Head(query, read("place"), read("letter"), -vote * read("out"))


def forget_place() -> Head:
    """Remove the position from the stream. The output is the same for all sequences."""
    return Head(20 * read("place"), read("place"), read("place"), -read("place"))


class TwoLayers(nn.Module):
    """A model of the kind in 13.3 whose heads are given."""

    def __init__(self, heads: Sequence[Sequence[Head]]) -> None:
        super().__init__()
        unembed = torch.zeros(WIDTH, TOKENS)
        unembed[COLUMNS["out"]] = torch.eye(TOKENS)
        # A position favors one letter strongly, unless a head has removed the position.
        places = torch.arange(2 * BLOCK)
        unembed[COLUMNS["place"], 3 * places % TOKENS] = 20
        # Small preferences, so that no two letters are equally likely.
        unembed[COLUMNS["letter"]] = torch.linspace(0, 7, TOKENS**2).sin().view(TOKENS, -1) / 5
        self.unembed = nn.Parameter(unembed.double())
        self.layers = nn.ModuleList(
            MultiHeadAttention(WIDTH, N_HEADS, bias=False).double() for _ in heads
        )
        for layer, own in zip(self.layers, heads, strict=True):
            query, key, value, output = map(torch.cat, zip(*own, strict=True))
            query = query * HEAD_WIDTH**0.5
            matrices = {"w_q": query, "w_k": key, "w_v": value, "w_o": output.T}
            layer.load_state_dict({f"{name}.weight": each for name, each in matrices.items()})
        self.requires_grad_(False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Shapes: ids (B, L) -> logits (B, L, T), maps (layer, B, H, L, L)."""
        places = F.one_hot(torch.arange(ids.size(-1), device=ids.device), 2 * BLOCK)
        parts = F.one_hot(ids, TOKENS), places.expand(*ids.shape, -1)
        given = torch.cat(parts, dim=-1).to(self.unembed.dtype)
        stream, maps = F.pad(given, (0, WIDTH - given.size(-1))), []
        mask = causal_mask(ids.size(-1)).to(ids.device)
        for layer in self.layers:
            added, weights = layer(stream, mask=mask)
            stream = stream + added
            maps.append(weights)
        return stream @ self.unembed, torch.stack(maps)


RARE = (3, 7)
FREQUENT = tuple(letter for letter in range(TOKENS) if letter not in RARE)
EVERY = range(TOKENS)


def models() -> tuple[TwoLayers, TwoLayers]:
    """Two models. Most of their heads look important to one method or another, but only to it.

    The first needs (0, 2) most: no other head writes the previous letter if it is 3 or 7. For the
    other letters there are two heads, with clearer maps. The second needs (1, 3) most, its only
    induction head whose output is read.
    """
    first = (
        (
            last_of_block(),  # the best head of all if it is the only one
            previous_letter(12, FREQUENT, "previous", 0.5),  # the clearest map
            previous_letter(5, RARE, "previous"),
            previous_letter(7, FREQUENT, "previous", 0.5),  # writes the same as head 1
        ),
        (
            next_letter(20, 10),  # a loud vote: with another sequence's output, it outvotes head 2
            forget_place(),  # needed, but its mean does the same
            next_letter(25, 1.5),  # a quiet vote for the same letters as head 0
            no_repetition(16),  # helps most where the letters are not predictable
        ),
    )
    second = (
        (
            previous_letter(6, EVERY, "previous", 0.5),
            forget_place(),
            last_of_block(),
            previous_letter(9, EVERY, "previous", 0.5),
        ),
        (
            no_repetition(12),
            next_letter(40, 20, "unread"),  # the clearest map of an induction head
            previous_letter(14, EVERY, "unread"),  # the clearest previous-token map
            next_letter(7, 8),
        ),
    )
    return TwoLayers(first), TwoLayers(second)


def head_of(number: Tensor) -> tuple[int, int]:
    """Return the layer and the head at this flat index of a table (2, H)."""
    return divmod(int(number), N_HEADS)


Replacement = Callable[[Tensor], Tensor]  # heads' outputs (B, H, L, Dv) -> others


def by_mean(outputs: Tensor) -> Tensor:
    return outputs.mean(0, keepdim=True)


def needed(new: Replacement, everywhere: bool = False) -> Callable[..., tuple[int, int]]:
    """Return a method that replaces the outputs of one head at a time in this way."""

    def method(model: TwoLayers, ids: Tensor, known: Tensor) -> tuple[int, int]:
        asked = torch.ones_like(known) if everywhere else known
        n_right = []
        for layer in model.layers:
            for head in range(N_HEADS):

                def replace(outputs: Tensor, head: int = head) -> Tensor:
                    return torch.where(head_is(head, outputs), new(outputs), outputs)

                with head_outputs(layer, replace):
                    said = model(ids[:, :-1])[0].argmax(-1)
                n_right.append(((said == ids[:, 1:]) & asked).sum())
        return head_of(torch.stack(n_right).argmin())

    return method


def most_needed_by_a_table(model: TwoLayers, ids: Tensor, known: Tensor) -> tuple[int, int]:
    def n_wrong(layer: nn.Module, chosen: Tensor) -> Tensor:
        with head_outputs(layer, lambda x: torch.where(chosen, x.mean(0, keepdim=True), x)):
            said = model(ids[:, :-1])[0].argmax(-1)
        return ((said != ids[:, 1:]) & known).sum()

    heads = torch.eye(4, dtype=torch.bool, device=ids.device)[:, :, None, None]
    table = torch.stack([torch.stack([n_wrong(x, h) for h in heads]) for x in model.layers])
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


EXERCISE = Exercise(
    title="Find the head",
    level=2,
    minutes=12,
    section="13.9",
    prompt="""
Two models like the one in 13.3 were written by hand, and some of their heads only look important.
`model(ids[:, :-1])` returns logits (B, 13, 10) and maps (2, B, 4, 13, 13), and `model.layers`
contains its two layers of four heads. `ids` (B, 14) are sequences in pieces, and `known` (B, 13)
marks the predictable letters, from the second letter on. Which head does the model need most?
Remove one head at a time by mean ablation, as in 13.ablate. Replace what it outputs with the mean
over `ids`, at each position. The head needed most is the one without which the fewest of the
predictable letters are right. `most_needed(model, ids, known)` returns its layer and its
number, such as `(1, 0)`, both counted from 0: what the chapter calls layer 1 is layer 0 here.
""",
    reference=most_needed,
    cases=lambda generator: [
        Case((model.to(device()), *in_pieces(Generator().manual_seed(1))), note=note)
        for model, note in zip(models(), (_("the first model"), _("the second model")), strict=True)
    ],
    mistakes=(
        Mistake(
            needed(torch.zeros_like),
            "The output of this head is the same for all sequences, so its mean over `ids`, at "
            "each position, changes nothing. Replace it with this mean, not with zeros or with one "
            "mean for all positions.",
        ),
        Mistake(
            needed(lambda outputs: outputs.roll(1, 0)),
            "Without this head, the model is less sure, but nearly all predictable letters are "
            "still right. Count right letters, and replace the head's output with the mean over "
            "`ids`: another sequence's output would vote for that sequence's letters.",
        ),
        Mistake(
            needed(by_mean, everywhere=True),
            "This head helps to guess letters that are not predictable. Count only where `known` "
            "is True.",
        ),
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
            lambda answer, case: tuple(map(int, answer)) == solved(*case.arguments),
        ),
    ),
    hints=(
        "Remove one head at a time, and count the letters that are still right.",
        "`(model(ids[:, :-1])[0].argmax(-1) == ids[:, 1:])[known]` says which are right. "
        "`head_outputs(layer, replace)` removes a head while its `with` block runs.",
        "In `replace`, clone the outputs (B, H, L, Dv) and set `changed[:, head]` to `outputs[:, "
        "head].mean(0)`. Keep the eight fractions of right letters and take the smallest.",
    ),
    insight="In the first model, layer 0's head 1 has the clearest previous-token map, but head 3 "
    "writes the same. In the second, layer 1's head 1 has the clearest induction map, but nothing "
    "reads what it writes. No map shows that. And how a head is removed matters: with zeros, you "
    "would have found a head that outputs the same for all sequences.",
    comes_back="13.patch is about how the second layer uses such a head.",
    others=(most_needed_by_a_table,),
)
