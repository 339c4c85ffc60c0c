"""Five kinds of heads with the same map."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.exercises.exercise import EVERY, Case, Exercise
from attnbook.language import _

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

EXERCISE = Exercise(
    title="Five kinds with the same map",
    level=3,
    minutes=15,
    section="13.15",
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
    choices={
        ((MODELS["C"], MODELS["D"]), "match"): "try sequences in pieces. The head ignores the "
        "letters.",
        ((MODELS["A"], MODELS["B"]), "position"): "it is also right on sequences in pieces, where "
        "a rule about positions fails.",
        ((MODELS["E"], MODELS["F"]), "shared"): "remove head 1 alone. What is left?",
        ((MODELS["E"], MODELS["F"]), "match"): "remove head 0 alone. Is anything lost?",
        ((MODELS["G"], MODELS["H"]), "idle"): "remove head 1 alone: then head 0 does the work of "
        "both.",
        ((MODELS["G"], MODELS["H"]), "match"): "remove head 0 alone. Is much lost?",
        ((MODELS["I"], MODELS["J"]), "idle"): "remove head 0 and look at the probability, not only "
        "at the letter.",
        (EVERY, "match"): "without head 0 the letter due would be much less probable, and on "
        "sequences in pieces the model would predict it. One of the two is not true here.",
        (EVERY, "position"): "on sequences in pieces it predicts the letter due, so its heads do "
        "use the letters.",
        (EVERY, "idle"): "removing head 0 would change next to nothing, and removing head 1 would "
        "ruin the answer. One of the two is not true here.",
        (EVERY, "shared"): "removing either head alone would cost next to nothing, and removing "
        "both would ruin the answer. That is not true here.",
        (EVERY, "opposite"): "without head 0 the letter due would become *more* probable. That is "
        "not true here.",
    },
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
)
