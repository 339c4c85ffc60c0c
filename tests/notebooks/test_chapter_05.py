"""Chapter 5: what its text claims beyond what its cells print."""

import pytest
import torch

from tests.support.chapters import Chapter

chapter = Chapter("05_cross_attention.ipynb")


@pytest.fixture(scope="module")
def desk():
    """Sections 5.6 and 5.8 before they train, with the learning rate and the steps free."""
    free = chapter.source("align-run").replace("make=Desk)", "make=Desk, steps=300, lr=0.02)")
    free = free.replace("steps=300, lr=0.02)\n    torch.set", "steps, lr)\n    torch.set")
    return chapter.run(
        *("world", "corpus", "aligner-code", "aligner-loss", "aligner-exam", "align-run"),
        "additive-code",
        **{"align-run": free},
    )


def test_what_a_desk_writes_for_a_covered_color_depends_on_the_sentence(desk):
    """Seed 1: red is covered in the 64 sentences of the first order, by taste, food and place."""
    chinese_words, english_words = desk["CHINESE"], desk["ENGLISH"]
    model, order = desk["learn"](1).model, desk["ORDERS"][0].split()
    written = set()
    for taste, food, place in torch.cartesian_prod(*[torch.arange(4)] * 3).tolist():
        pick = {"T": taste, "F": 4 + food, "C": 8, "P": 12 + place}
        read = torch.tensor([[pick[w] if w in pick else chinese_words.index(w) for w in order]])
        words = ["<start>", "a", taste, 4 + food, "is", "on", "the"]
        ids = [w if isinstance(w, int) else english_words.index(w) for w in words]
        with torch.no_grad():
            guesses, _ = model(read, torch.tensor([ids]), (read != 8)[:, None])
        written.add(guesses[0, -1].argmax().item())
    colors = set(range(8, 12))
    assert len(written & colors) > 1
    assert written - colors


def test_the_dot_product_keeps_more_weight_at_a_lower_learning_rate(desk):
    def additive():
        return desk["Desk"](attend=desk["Additive"](16))

    slowly = {"steps": 1200, "lr": 0.005}
    dot, added = desk["learn"](0, **slowly), desk["learn"](0, make=additive, **slowly)
    assert dot.after.weight.min() > 0.5 > added.after.weight.min() + 0.3
