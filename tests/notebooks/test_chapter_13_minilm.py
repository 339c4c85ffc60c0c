"""Section 13.13: what it says of MiniLM, on other sentences and with other measures."""

import base64
import html
import json
import re
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import device, head_outputs, split_heads
from attnbook.corpus.grammar.noun_phrases import Draw
from attnbook.corpus.grammar.sentences import draw_sentence
from attnbook.exercises.catalog import ALL
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
artist writer admired admired, wolf sheep attacked attacked, manager clerk thanked thanked,
nurse soldier rescued rescued, lawyer witness questioned questioned, player coach blamed blamed,
neighbor family invited invited, boss worker fired fired, police driver stopped stopped"""


class Read(NamedTuple):
    """Sentences that the model has read: which tokens are real and which words, and all streams."""

    model: Bert
    real: Tensor  # (B, L)
    words: Tensor  # (B, L), real and not special
    streams: list[Tensor]  # 7 of (B, L, 384)
    maps: list[Tensor]  # 6 of (B, 12, L, L)

    def means(self, x: Tensor) -> Tensor:
        """The means of the sentences' rows, (B, 384)."""
        real = self.real[..., None]
        return (x * real).sum(1) / real.sum(1)

    @property
    def end(self) -> Tensor:
        """The sentence vectors of the whole model."""
        return self.means(self.streams[-1])

    def mean(self, n: int, of_queries: Tensor) -> Tensor:
        """The mean of a (B, 12, L) over the words, for each head."""
        words = self.words[:, None]
        return (of_queries * words).sum((0, 2)) / words.sum()

    def without(self, n: int, head: int, new) -> Tensor:
        """1 - cosine of each sentence vector, in thousandths, if `new` replaces a head's output."""
        return 1000 * (1 - F.cosine_similarity(self.changed(n, head, new), self.end))

    @torch.no_grad()
    def changed(self, n: int, head: int, new) -> Tensor:
        """The sentence vectors if `new` replaces a head's output."""

        def replace(outputs):
            changed = outputs.clone()
            changed[:, head] = new(outputs)[:, head]
            return changed

        mask, layers = self.real[:, None], self.model.encoder.layers[n:]
        with head_outputs(layers[0].attention, replace):
            x, _ = layers[0](self.streams[n], mask)
        for layer in layers[1:]:
            x, _ = layer(x, mask)
        return self.means(x)

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
    changed = [[own.changed(n, head, new) for head in range(12)] for n in range(6)]
    ends = torch.stack([torch.stack(layer) for layer in changed])  # (6, 12, B, 384)
    cosine = 1 - F.cosine_similarity(ends, own.end, dim=-1).mean(-1)
    distance = ((ends - own.end).norm(dim=-1) / own.end.norm(dim=-1)).mean(-1)
    for moved in cosine, distance:
        assert 0.5 < moved[PREVIOUS] / moved.median() < 2
        assert moved[5].min() > moved[:5].max()
        assert moved[5].mean() > 2 * moved[:5].mean(-1).max()


@needs_minilm
def test_without_the_previous_token_head_most_sentences_keep_their_nearest_neighbor(grammar):
    def neighbors(vectors: Tensor) -> Tensor:
        alike = F.normalize(vectors, dim=-1) @ F.normalize(grammar.end, dim=-1).mT
        return alike.fill_diagonal_(-2).argmax(-1)

    def n_other(n: int, head: int) -> int:
        return (neighbors(grammar.changed(n, head, zero)) != neighbors(grammar.end)).sum().item()

    assert n_other(*PREVIOUS) < 0.06 * 200
    assert n_other(5, 8) > 2 * n_other(*PREVIOUS)


def test_the_table_of_effects_says_so_too():
    rows = torch.tensor(printed("minilm-effect", "layer"))[:, 1:]
    assert rows.shape == (6, 12)
    assert 0.5 < rows[PREVIOUS] / rows.median() < 2
    assert rows[:5].max() < 6
    assert rows[5].min() > 6


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
def test_a_passive_is_mostly_more_like_its_opposite_than_like_its_active(minilm):
    alike, apart = [], []
    triples = PASSIVES.replace("\n", " ").split(", ")
    for words in triples:
        one, other, did, done = words.split()
        told = [
            f"a {one} {did} the {other}",
            f"the {other} was {done} by a {one}",
            f"the {one} was {done} by a {other}",
        ]
        active, passive, opposite = read(*minilm, told).end
        cosine = F.cosine_similarity
        alike.append(cosine(active, passive, 0) < cosine(passive, opposite, 0))
        apart.append((active - passive).norm() > (passive - opposite).norm())
    assert len(triples) == 20
    assert 15 < sum(alike) < 20
    assert sum(apart) > 15


def shown() -> list[dict]:
    """The sentences of the figure, with its numbers."""
    (output,) = chapter.cells["minilm-maps"]["outputs"]
    page = "".join(output["data"]["text/html"])
    return json.loads(html.unescape(re.search('data="(.*?)"', page)[1]))["sentences"]


@needs_minilm
def test_the_figure_has_the_models_numbers(minilm):
    sentences = shown()
    assert len(sentences) == 8
    for sentence in sentences:
        seen = read(*minilm, [sentence["text"]])
        maps = torch.stack(seen.maps)[:, 0].cpu()
        stored = torch.tensor(list(base64.b64decode(sentence["maps"]))).view(maps.shape)
        assert (stored - 100 * maps).abs().max() < 0.51
        moved = torch.tensor(
            [[seen.without(n, head, zero) for head in range(12)] for n in range(6)]
        )
        assert (torch.tensor(sentence["moved"]) - moved).abs().max() < 0.06


def test_in_the_figure_other_heads_matter_more_than_the_previous_token_head():
    for sentence in shown():
        moved = torch.tensor(sentence["moved"])
        assert (moved > moved[PREVIOUS]).sum() > 10
        assert moved.argmax() >= 5 * 12  # the strongest frame is in the last row


HEADS = {"A": (2, 11), "B": (1, 8), "C": (4, 5), "D": (5, 11), "E": PREVIOUS, "F": (2, 8)}


@needs_minilm
def test_the_card_of_13_heads_has_the_models_numbers(minilm):
    prompt = ALL["13.heads"].prompt
    sentence = re.search("“(.*?)”", prompt)[1]
    seen, tokens = read(*minilm, [sentence]), minilm[1].encode(sentence).tokens
    rows = [row[2:-2].split(" | ") for row in re.findall(r"^\|.*\|$", prompt, re.M)]
    assert [row[0].strip("*") for row in rows[2:-2]] == sentence.split()
    for letter, *cells, weight, layer in zip(
        *(row[1:] for row in [rows[0], *rows[2:]]), strict=True
    ):
        n, head = HEADS[letter]
        weights, best = seen.maps[n][0, head, 1:-1].max(-1)
        assert cells == [tokens[i] for i in best.tolist()]
        assert (weight, layer) == (f"{weights.mean():.2f}", str(n + 1))
    moved = {letter: seen.without(*place, zero).item() for letter, place in HEADS.items()}
    assert round(moved.pop("D")) == 153
    assert max(moved.values()) < 2
    named = re.findall(r"\d\.\d+", ALL["13.heads"].insight.partition("and you")[0])
    assert named == [f"{n + 1}.{head}" for n, head in HEADS.values()]


@needs_minilm
@pytest.mark.parametrize("which", ["grammar", "own"])
def test_a_score_of_confidence_is_fooled_and_repaired(which, request):
    seen = request.getfixturevalue(which)
    maps = torch.cat(seen.maps, dim=1)  # (B, 72, L, L)
    fooled = maps.amax(-1).mean((0, 2))  # the stub of 13.confidence
    repaired = ALL["13.confidence"].reference(maps, ~seen.words)
    ranks = [scores.argsort(descending=True).tolist() for scores in (fooled, repaired)]
    resting, previous = (12 * n + head for n, head in (HEADS["C"], PREVIOUS))
    assert [rank.index(previous) for rank in ranks] == [0, 0]
    assert ranks[0].index(resting) < 3
    assert ranks[1].index(resting) == 70
    assert 0.035 < repaired[resting] < 0.055
