"""The summary of chapter 2, tried with other words, widths and initializations."""

import itertools

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attnbook import SelfAttention, SinusoidalPositions
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("02_embeddings.ipynb")


@claim(
    "An id is one number, and a linear model can cut the number line at one point only, in whatever"
    " order the words are numbered.",
    "A row of numbers for each word allows far more ways to split the words.",
    seed=(11, 12),
    words=(5, 8),
)
def test_how_many_ways_to_split_the_words_an_id_and_a_row_allow(seed, words):
    torch.manual_seed(seed)
    numbered = torch.randperm(words)[:, None] - words / 2
    assert n_splits(numbered) == 2 * words
    assert n_splits(torch.randn(words, 4)) > 4 * words


def n_splits(rows: Tensor) -> int:
    """Count the yes-or-no answers about all words that a linear model learns by the perceptron."""
    signs = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=len(rows))))
    rows = torch.cat([rows, torch.ones(len(rows), 1)], 1)
    factors = torch.zeros(len(signs), rows.size(1))
    for _ in range(3000):
        wrong = factors @ rows.T * signs <= 0
        factors += (wrong * signs) @ rows
    return int((~wrong).all(1).sum())


@claim(
    "An embedding is a row look-up.",
    "It equals `one_hot @ table`, gradient included.",
    seed=(11, 12),
    width=(3, 50),
)
def test_a_look_up_equals_a_product_with_one_hot_rows_and_so_does_its_gradient(seed, width):
    torch.manual_seed(seed)
    ids, layer = torch.randint(30, (12,)), nn.Embedding(30, width)
    factors = torch.randn(12, width)
    assert layer(ids).equal(layer.weight[ids])
    one_hot = nn.functional.one_hot(ids, 30).float()
    assert_close(layer(ids), one_hot @ layer.weight)
    slopes = [
        torch.autograd.grad((rows * factors).sum(), layer.weight)[0]
        for rows in (layer(ids), one_hot @ layer.weight)
    ]
    assert_close(*slopes)


@claim(
    "Rows start at random and learn from use: words with the same neighbors get similar rows, if"
    " training moves the rows far enough from their start.",
    seed=(21, 22),
    width=(8, 200),
)
def test_words_with_the_same_neighbors_get_similar_rows_if_they_move_far(embeddings, seed, width):
    """With more numbers and a larger start, the same training moves rows less, in proportion."""

    def likeness(std: float) -> tuple[float, float]:
        """How far the rows move, and the mean cosine of fruits."""
        model = embeddings["fresh"](seed, width)
        nn.init.normal_(model[0].weight, std=std)
        before = model[0].weight.detach().clone()
        rows = embeddings["learn"](model, embeddings["seen"])[0].weight.detach()
        fruits = rows[[embeddings["number"][word] for word in embeddings["fruits"]]]
        alike = torch.cosine_similarity(fruits[:, None], fruits, dim=-1).triu(1).sum() / 3
        return ((rows - before).norm() / before.norm()).item(), alike.item()

    (far, alike), (near, unlike) = likeness(0.1), likeness(8.0)
    assert far > 2 > 0.5 > near
    assert alike > 0.5 + max(unlike, 0) / 2


@claim(
    "what a model learns about one word also holds for similar words.",
    seed=(11, 12, 13),
    width=(3, 4),
)
def test_a_held_out_pair_is_about_as_probable_as_a_seen_one(embeddings, seed, width):
    model = embeddings["learn"](embeddings["fresh"](seed, width), embeddings["seen"])
    seen, held_out, impossible = embeddings["probabilities"](model).tolist()
    assert held_out > 0.8 * seen > 5 * impossible


@claim(
    "with enough room and time, a table learns the exceptions too.",
    seed=(11, 12),
    width_and_steps=((4, 3000), (16, 200), (24, 100)),
)
def test_with_more_room_or_steps_a_held_out_pair_becomes_improbable(
    embeddings, seed, width_and_steps
):
    width, steps = width_and_steps
    model = embeddings["learn"](embeddings["fresh"](seed, width), embeddings["seen"], steps)
    seen, held_out, _ = embeddings["probabilities"](model).tolist()
    assert held_out < 0.5 * seen


@claim(
    "An embedding knows its word, but not its sentence and not its position.",
    "Attention adds the sentence, and positional encoding adds the position.",
    seed=(11, 12),
    width=(8, 50),
)
@torch.no_grad()
def test_what_the_rows_of_one_word_have_in_common(seed, width):
    torch.manual_seed(seed)
    embed, head = nn.Embedding(30, width), SelfAttention(width, width, width)
    positions = SinusoidalPositions(width)
    one, other = torch.tensor([3, 7, 5, 7]), torch.tensor([3, 7, 8, 9])
    assert embed(one)[1].equal(embed(one)[3])
    assert embed(one)[1].equal(embed(other)[1])
    mixed, elsewhere = head(embed(one))[0], head(embed(other))[0]
    assert_close(mixed[1], mixed[3])  # still no position
    assert not torch.isclose(mixed[1], elsewhere[1]).any()
    placed = head(positions(embed(one)))[0]
    assert not torch.isclose(placed[1], placed[3]).any()
