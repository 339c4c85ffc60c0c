"""Chapter 13: what its text claims beyond what its cells print, tried in other experiments."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import split_heads
from attnbook.corpus.grammar.noun_phrases import Draw
from attnbook.corpus.grammar.sentences import draw_sentence
from attnbook.exercises.catalog import ALL
from tests.support.chapters import Chapter
from tests.support.minilm import needs_minilm
from tests.support.minilm_reader import HEADS, PREVIOUS, RESTING, Read, minilm, read, zero

__all__ = ["minilm"]

chapter = Chapter("13_reading_attention.ipynb")


@pytest.mark.parametrize(("n_layers", "seed", "learned"), [(1, 2, 0.2), (2, 2, 0.2), (1, 5, 2.6)])
def test_a_plateau_does_not_show_that_two_heads_have_to_fit_together(n_layers, seed, learned):
    """With sequences in one piece, a single layer has one, too, sometimes a longer one."""
    space = chapter.run("task-draw", "task-first-layer", "grown-train", "grown-grow")
    _, losses = space["grow"](seed, steps=45, jumps=False, n_layers=n_layers)
    assert min(losses[5:15]) > 2.5
    assert 15 < next(step for step, loss in enumerate(losses) if loss < 2.5) < 45
    assert losses[-1] < learned


def test_covering_usually_agrees_with_dropping_and_the_weight_less_often(translators):
    sixty = translators["corpus"].new_combinations[::8][:60]
    assert len(sixty) == 60
    for model in translators["translators"].values():
        of_sentences = [translators["lost"](model, pair) for pair in sixty]
        weight = torch.cat([weights.flatten() for weights, _ in of_sentences])
        covered, dropped = (
            torch.cat([ways[way].flatten() for _, ways in of_sentences])
            for way in ("covered in decoder", "message dropped")
        )
        assert (dropped[covered > 0.2] > 0.2).double().mean() > 0.9
        assert 0.2 < (dropped[weight > 0.3] < 0.05).double().mean() < 0.3


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


@pytest.fixture(scope="module")
def grammar(minilm) -> Read:
    draw = Draw(13)
    return read(*minilm, [" ".join(draw_sentence(draw).en) for _ in range(200)])


@pytest.fixture(scope="module")
def own(minilm) -> Read:
    return read(*minilm, OWN.splitlines())


def mean(outputs: Tensor) -> Tensor:
    return outputs.mean((0, 2), keepdim=True).expand_as(outputs)


@needs_minilm
@pytest.mark.parametrize("which", ["grammar", "own"])
def test_heads_look_where_the_section_says(which, request):
    seen = request.getfixturevalue(which)
    previous = torch.stack([seen.mean(F.pad(m.diagonal(-1, -2, -1), (1, 0))) for m in seen.maps])
    following = torch.stack([seen.mean(F.pad(m.diagonal(1, -2, -1), (0, 1))) for m in seen.maps])
    assert previous[PREVIOUS] > 0.99
    assert previous.flatten().topk(2).values[1] < 0.6
    assert following.argmax() == 12 + 8
    assert following[1, 8] > 0.5
    first = torch.stack([seen.mean(m[..., 0]) for m in seen.maps])
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


@needs_minilm
@pytest.mark.parametrize("which", ["grammar", "own"])
def test_two_heads_of_a_layer_have_similar_maps_and_different_effects(which, request):
    seen = request.getfixturevalue(which)
    elsewhere = (seen.maps[4][:, 2] - seen.maps[4][:, 5]).abs().sum(-1)[:, None] / 2
    assert 0.1 < seen.mean(elsewhere) < 0.22
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
