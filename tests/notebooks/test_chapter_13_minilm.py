"""Section 13.13: what it says of MiniLM, on other sentences and with other measures."""

import re
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import device, head_outputs, split_heads
from attnbook.corpus.grammar.noun_phrases import Draw
from attnbook.corpus.grammar.sentences import draw_sentence
from attnbook.pretrained import Bert, load_minilm
from tests.support.chapters import Chapter
from tests.support.minilm import needs_minilm

chapter = Chapter("13_reading_attention.ipynb")
PREVIOUS = (0, 2)  # layer and head, both from 0
RESTING = [(1, 10), (2, 7), (3, 4), (4, 2), (4, 5)]  # the heads that the section's last table has

OWN = """\
The committee approved the budget after a long debate.
She left her keys on the kitchen table and drove to work.
Rain is expected in the north until Thursday evening.
My brother, who lives in Lisbon, repairs old violins.
The price of oil fell by three percent on Monday.
Nobody answered the phone, so we went home.
If the train is late, call the office and ask for Maria.
The river that crosses the city froze twice last winter.
He read the letter, folded it, and put it in his pocket.
Children under five travel free on all buses.
The theory predicts that light bends near the sun.
A small boat drifted slowly toward the island.
What did the teacher say about the test?
The museum closes at six, but the garden stays open.
They sold the house because it was too big for two people.
Water boils at a lower temperature in the mountains.
The cat slept on the sofa while the dog watched the door.
Please send the report to the manager before noon.
The old bridge was built by Roman soldiers.
I have never seen so many birds on this lake.
The judge asked the witness to repeat the answer.
Most students finished the exam in less than an hour.
The soup needs more salt and a little pepper.
After the storm, the power was out for two days.
The film tells the story of a painter and her daughter.
Our neighbors grow tomatoes, beans and sunflowers.
The company said that profits would rise next year.
It was so cold that the pipes in the cellar burst.
The nurse gave the patient a glass of water.
Without a map, the hikers soon lost their way."""
PASSIVES = """\
dog cat chased chased, boy girl saw seen, teacher student helped helped, cat mouse caught caught,
woman man called called, fox rabbit followed followed, king queen loved loved,
doctor nurse praised praised, lion zebra killed killed, bus car hit hit, thief guard shot shot,
artist writer admired admired"""


class Read(NamedTuple):
    """Sentences that the model has read: which tokens are real and which words, and all streams."""

    model: Bert
    real: Tensor  # (B, L)
    words: Tensor  # (B, L), real and not special
    streams: list[Tensor]  # 7 of (B, L, 384)
    maps: list[Tensor]  # 6 of (B, 12, L, L)

    def vectors(self, x: Tensor) -> Tensor:
        """The sentences' vectors, (B, 384)."""
        real = self.real[..., None]
        return F.normalize((x * real).sum(1) / real.sum(1), dim=-1)

    def mean(self, n: int, of_queries: Tensor) -> Tensor:
        """The mean of a (B, 12, L) over the words, for each head."""
        words = self.words[:, None]
        return (of_queries * words).sum((0, 2)) / words.sum()

    @torch.no_grad()
    def without(self, n: int, head: int, new) -> Tensor:
        """1 - cosine of each sentence vector, in thousandths, if `new` replaces a head's output."""

        def replace(outputs):
            changed = outputs.clone()
            changed[:, head] = new(outputs)[:, head]
            return changed

        mask, layers = self.real[:, None], self.model.encoder.layers[n:]
        with head_outputs(layers[0].attention, replace):
            x, _ = layers[0](self.streams[n], mask)
        for layer in layers[1:]:
            x, _ = layer(x, mask)
        return 1000 * (1 - (self.vectors(x) * self.vectors(self.streams[-1])).sum(-1))

    def only_words(self, n: int, share: bool) -> Tensor:
        """What the words contribute to the heads' outputs, without or with all the weight."""
        weights = self.maps[n] * self.words[:, None, None]
        if share:
            weights = weights / weights.sum(-1, keepdim=True)
        layer = self.model.encoder.layers[n].attention
        return weights @ split_heads(layer.w_v(self.streams[n]), 12)


@torch.no_grad()
def read(model: Bert, tokenizer, sentences: list[str]) -> Read:
    rows = tokenizer.encode_batch(sentences)
    ids = torch.tensor([row.ids for row in rows], device=device())
    real = torch.tensor([row.attention_mask for row in rows], device=device()).bool()
    x, streams, maps = model.embed(ids), [], []
    for layer in model.encoder.layers:
        streams.append(x)
        x, weights = layer(x, real[:, None])
        maps.append(weights)
    special = torch.tensor([row.special_tokens_mask for row in rows], device=device()).bool()
    return Read(model, real, real & ~special, [*streams, x], maps)


@pytest.fixture(scope="module")
def minilm():
    model, tokenizer = load_minilm()
    return model.to(device()).requires_grad_(False), tokenizer


@pytest.fixture(scope="module")
def grammar(minilm) -> Read:
    draw = Draw(13)
    return read(*minilm, [" ".join(draw_sentence(draw).en) for _ in range(200)])


@pytest.fixture(scope="module")
def own(minilm) -> Read:
    return read(*minilm, OWN.splitlines())


def zero(outputs: Tensor) -> Tensor:
    return torch.zeros_like(outputs)


def mean(outputs: Tensor) -> Tensor:
    return outputs.mean((0, 2), keepdim=True).expand_as(outputs)


def printed(cell: str, start: str) -> list[list[float]]:
    """The numbers in the lines that begin with a pattern, among those that a cell prints."""
    text = "".join("".join(output["text"]) for output in chapter.cells[cell]["outputs"])
    lines = [line for line in text.splitlines() if re.match(start, line)]
    return [[float(x) for x in re.findall(r"-?\d+\.?\d*", line)] for line in lines]


@needs_minilm
@pytest.mark.parametrize("which", ["grammar", "own"])
def test_heads_look_where_the_section_says(which, request):
    seen = request.getfixturevalue(which)
    previous = torch.stack(
        [seen.mean(n, F.pad(m.diagonal(-1, -2, -1), (1, 0))) for n, m in enumerate(seen.maps)]
    )
    following = torch.stack(
        [seen.mean(n, F.pad(m.diagonal(1, -2, -1), (0, 1))) for n, m in enumerate(seen.maps)]
    )
    assert previous[PREVIOUS] > 0.99
    assert previous.flatten().topk(2).values[1] < 0.6
    assert following.argmax() == 12 + 8
    assert following[1, 8] > 0.5
    first = torch.stack([seen.mean(n, m[..., 0]) for n, m in enumerate(seen.maps)])
    assert first.mean() > 0.45
    for n, head in RESTING:
        assert first[n, head] > 0.7


@needs_minilm
@pytest.mark.parametrize("new", [zero, mean])
def test_the_previous_token_head_matters_no_more_than_others(own, new):
    moved = torch.tensor(
        [[own.without(n, head, new).mean() for head in range(12)] for n in range(6)]
    )
    assert 0.5 < moved[PREVIOUS] / moved.median() < 2
    assert moved[5].min() > moved[:5].max()


def test_the_table_of_effects_says_so_too():
    rows = torch.tensor(printed("minilm-effect", "layer"))[:, 1:]
    assert rows.shape == (6, 12)
    assert 0.5 < rows[PREVIOUS] / rows.median() < 2
    assert rows[:5].max() < 6
    assert rows[5].min() > 7
    assert rows[5].argmax() == 11


@needs_minilm
@torch.no_grad()
@pytest.mark.parametrize("which", ["grammar", "own"])
def test_the_special_tokens_contribute_little_and_covering_them_changes_much(which, request):
    seen = request.getfixturevalue(which)
    for n, head in RESTING:
        layer = seen.model.encoder.layers[n].attention
        carried = split_heads(layer.w_v(seen.streams[n]), 12)[:, head]
        norms = (carried @ split_heads(layer.w_o.weight, 12).mT[head]).norm(dim=-1)  # (B, L)
        assert norms[:, 0].max() < 0.1 * norms[seen.words].mean()
        dropped, covered = (
            seen.without(n, head, lambda _, share=share, n=n: seen.only_words(n, share))
            for share in (False, True)
        )
        assert dropped.mean() < 0.5
        assert covered.mean() > 8
        assert covered.mean() > 3 * seen.without(n, head, zero).mean()


def test_the_table_of_special_tokens_has_the_numbers_of_the_text():
    rows = printed("minilm-values", r"\d")
    assert [(round(row[0] // 1) - 1) for row in rows] == [n for n, _ in RESTING]
    columns = [*zip(*(row[1:] for row in rows), strict=True)]
    weight, first, _, word, removed, dropped, covered = columns
    assert (min(weight), max(weight)) == (0.83, 0.90)
    assert (min(first), max(first)) == (0.06, 0.16)
    assert min(word) > 5
    assert max(dropped) <= 0.2
    assert min(covered) > 16
    assert max(covered) < 51
    assert 3.5 < removed[3] / removed[4] < 4.5


@needs_minilm
@pytest.mark.parametrize("which", ["grammar", "own"])
def test_two_heads_of_a_layer_have_similar_maps_and_different_effects(which, request):
    seen = request.getfixturevalue(which)
    elsewhere = (seen.maps[4][:, 2] - seen.maps[4][:, 5]).abs().sum(-1)[:, None] / 2
    assert 0.1 < seen.mean(4, elsewhere) < 0.22
    two, five = (seen.without(4, head, zero).mean() for head in (2, 5))
    assert two > 2.5 * five


@needs_minilm
def test_a_passive_is_more_like_its_opposite_than_like_its_active(minilm):
    model, tokenizer = minilm
    for words in PASSIVES.replace("\n", " ").split(", "):
        one, other, did, done = words.split()
        told = [
            f"a {one} {did} the {other}",
            f"the {other} was {done} by a {one}",
            f"the {one} was {done} by a {other}",
        ]
        seen = read(model, tokenizer, told)
        active, passive, opposite = seen.vectors(seen.streams[-1])
        assert active @ passive < passive @ opposite
