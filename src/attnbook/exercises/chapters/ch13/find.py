"""Find the head that a model needs."""

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from attnbook.attention.interventions import head_outputs
from attnbook.attention.masks import causal_mask
from attnbook.exercises.chapters.ch13.shared import head_is, some_layer
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw
from attnbook.language import _
from attnbook.notebook.show import device
from attnbook.training.loop import train


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

    The new head attends like the head of this layer that is needed most, but more sharply, and
    contributes next to nothing. It replaces the head of the layer that is needed least.
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
Two models like the one in 13.3, but smaller, were trained from different seeds. Then one head of
each was replaced. `model(ids[:, :-1])` returns logits (B, 13, 10) and maps (2, B, 4, 13, 13), and
`model.layers` contains its two layers of four heads. `ids` (B, 14) are sequences in pieces, and
`known` (B, 13) marks the predictable letters, from the second letter on. Which head does the model
need most? Remove one head at a time by mean ablation, as in 13.ablate: replace what it outputs with
the mean over `ids`, at each position. The head needed most is the one without which the fewest of
the predictable letters are right. `most_needed(model, ids, known)` returns its layer and its
number, such as `(1, 0)`, both counted from 0: what the chapter calls layer 1 is layer 0 here.
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
    insight="In both models, another head has a higher previous-token score in the first half. It "
    "attends like the needed head, and there even more sharply, but contributes next to nothing. "
    "A map shows only where a head attends.",
    comes_back="13.patch is about how the second layer uses such a head.",
    others=(most_needed_by_a_table,),
)
