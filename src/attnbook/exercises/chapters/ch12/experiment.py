"""How does a sampler draw?"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.exercises.exercise import EVERY, Case, Exercise
from attnbook.language import _
from attnbook.models.sampling import keep_top_p

Draw = Callable[[Tensor, int], Tensor]
MOST_WORDS, MOST_DRAWS = 1_000, 1_000_000


def how_it_draws(draw: Draw) -> str:
    found = []
    for n_words in (100, 200):
        nearly_equal = torch.arange(n_words) / 1e6
        found.append(len(draw(nearly_equal, 20_000).unique()))
    if found == [100, 200]:  # nothing is cut: does a difference of 1 have its usual effect?
        share = draw(torch.tensor([0.0, 1.0]), 20_000).double().mean()
        return "plain" if abs(share - 0.731) < 0.02 else "temperature"
    if found == [1, 1]:
        return "greedy"
    return "top-k" if found[0] == found[1] else "top-p"


def sampler(temperature: float = 1.0, k: int | None = None, p: float = 1.0) -> Draw:
    """Return a function that draws n tokens from logits (V,), scaled and then truncated."""

    def drawn(logits: Tensor, n: int) -> Tensor:
        scaled = torch.as_tensor(logits).double() / temperature
        if scaled.numel() > MOST_WORDS or n > MOST_DRAWS:
            raise ValueError(_("draw takes at most 1,000 logits, and n up to a million"))
        order = scaled.argsort(descending=True, stable=True)
        kept = keep_top_p(scaled, p).index_fill(0, order[k:] if k else order[:0], -torch.inf)
        return torch.multinomial(kept.softmax(-1), n, replacement=True)

    return drawn


SAMPLERS = {
    "greedy": sampler(k=1),
    "plain": sampler(),
    "temperature 1/5": sampler(temperature=0.2),
    "temperature 0.7": sampler(temperature=0.7),
    "temperature 1.5": sampler(temperature=1.5),
    "temperature 4": sampler(temperature=4.0),
    "k 2": sampler(k=2),
    "k 40": sampler(k=40),
    "k 5, temperature 2": sampler(temperature=2.0, k=5),
    "p 0.4": sampler(p=0.4),
    "p 0.9": sampler(p=0.9),
    "p 0.95, temperature 1/2": sampler(temperature=0.5, p=0.95),
}
UNCUT = tuple(draw for name, draw in SAMPLERS.items() if name.startswith(("plain", "temperature")))
BOTH = SAMPLERS["k 5, temperature 2"], SAMPLERS["p 0.95, temperature 1/2"]

EXERCISE = Exercise(
    title="How does it draw?",
    level=3,
    minutes=15,
    section="12.8",
    prompt="""
You get twelve samplers without a description. `draw(logits, n)` takes `logits` (V,) of your choice,
with V at most 1,000. It draws n words independently and returns their ids, (n,). n can be up to a
million. `how_it_draws(draw)` calls it as often as you like and returns

- `"greedy"`: always the most probable word;
- `"plain"`: from the probabilities softmax(logits);
- `"temperature"`: from all words, but with a temperature other than 1 (at most 0.7, or at least
  1.5);
- `"top-k"`: from the k most probable words, with k from 2 to 40 and perhaps a temperature;
- `"top-p"`: from the words that top-p keeps, with p from 0.4 to 0.95 and perhaps a temperature.
""",
    reference=how_it_draws,
    cases=lambda generator: [
        Case((sampler,), note=_("sampler {name}").format(name=name))
        for name, sampler in zip("ABCDEFGHIJKL", SAMPLERS.values(), strict=True)
    ],
    choices={
        (SAMPLERS["plain"], "temperature"): "a difference of 1 between two logits makes one word e "
        "times as frequent as the other. That is temperature 1.",
        (SAMPLERS["k 40"], "plain"): "it keeps 40 words. Did you give it more?",
        (SAMPLERS["k 40"], "temperature"): "it keeps 40 words. Give it more than that.",
        (SAMPLERS["p 0.4"], "greedy"): "it draws only one of two words. Give it more words, with "
        "nearly equal logits.",
        (UNCUT, "top-p"): "it leaves out no word. Of many words, some never occur by chance if you "
        "draw too few: draw a hundred times as many words as there are.",
        (BOTH, "temperature"): "it has a temperature, but it also leaves out words.",
        (EVERY, "greedy"): "from 100 nearly equal logits, it draws more than one word.",
        (EVERY, "plain"): "softmax leaves out no word if the logits are nearly equal. And of two "
        "words with logits 0 and 1, it gives the second a probability of 0.73. One of the two is "
        "not true here.",
        (EVERY, "temperature"): "a temperature leaves out no word if the logits are nearly equal. "
        "This one does.",
        (EVERY, "top-k"): "with nearly equal logits, top-k keeps as many of 200 words as of 100, "
        "and more than one. This one does not.",
        (EVERY, "top-p"): "with nearly equal logits, top-p keeps about twice as many of 200 words "
        "as of 100, but not all. This one does not.",
    },
    hints=(
        "Give it 100 logits that are nearly but not quite equal, and draw many thousands of words. "
        "How many different words occur?",
        "A cut makes words impossible, but a temperature only makes them rare. With nearly equal "
        "logits, each word that is not cut occurs. What changes if you give it twice as many "
        "words?",
        "If 100 and 200 words give the same number of different words, it is top-k, or greedy if "
        "that number is 1. If 200 give twice as many, it is top-p, unless all occur. If all "
        "occur, try logits 0 and 1: plain gives word 1 a probability of 0.73.",
    ),
    insight="You recognize a cut by the words that never occur, and a temperature by how often "
    "words occur. Nearly equal logits show only the first, and two words show the second.",
    comes_back="Services that run a language model offer such settings, often all of them at once.",
)
