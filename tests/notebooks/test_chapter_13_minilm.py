"""Section 13.13: what it says of MiniLM, on other sentences and with other measures."""

import base64
import html
import json
import re

import torch

from attnbook.exercises.catalog import ALL
from tests.support.chapters import Chapter
from tests.support.minilm import needs_minilm
from tests.support.minilm_reader import HEADS, PREVIOUS, RESTING, minilm, read, zero

__all__ = ["minilm"]

chapter = Chapter("13_reading_attention.ipynb")


def printed(cell: str, start: str) -> list[list[float]]:
    """The numbers in the lines that begin with a pattern, among those that a cell prints."""
    text = "".join("".join(output["text"]) for output in chapter.cells[cell]["outputs"])
    lines = [line for line in text.splitlines() if re.match(start, line)]
    return [[float(x) for x in re.findall(r"-?\d+\.?\d*", line)] for line in lines]


def test_the_table_of_effects_says_so_too():
    rows = torch.tensor(printed("minilm-effect", "layer"))[:, 1:]
    assert rows.shape == (6, 12)
    assert 0.5 < rows[PREVIOUS] / rows.median() < 2
    assert rows[:5].max() < 6
    assert rows[5].min() > 6


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
            [[float(seen.without(n, head, zero)) for head in range(12)] for n in range(6)]
        )
        assert (torch.tensor(sentence["moved"]) - moved).abs().max() < 0.06


def test_in_the_figure_other_heads_matter_more_than_the_previous_token_head():
    for sentence in shown():
        moved = torch.tensor(sentence["moved"])
        assert (moved > moved[PREVIOUS]).sum() > 10
        assert moved.argmax() >= 5 * 12  # the strongest frame is in the last row


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
