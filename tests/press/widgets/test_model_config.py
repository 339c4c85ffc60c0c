"""The figure that reads a config.json: the same rows as the library's, and nothing is sent."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from attnbook import read_config
from attnbook.models.published import published_configs
from attnbook.widgets import model_config
from attnbook.widgets.element import SCRIPTS
from tests.support.pages import DESK, PHONE

PUBLISHED = published_configs()


@pytest.fixture(scope="module")
def figure(page: Page) -> Iterator[Page]:
    """A page with nothing but the figure, as a notebook prints it."""
    printed = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnbook.widgets.element.display", lambda kinds, raw: printed.update(kinds))
        model_config.explore_configs("deepseek_v3")
    page.set_content(f"<html lang=en><body>{printed['text/html']}</body></html>")
    return page


def rows(page: Page) -> list[list[str]]:
    """The rows of the table that the figure shows."""
    found = page.locator("attn-config .figure tbody tr")
    return [row.locator("td").all_text_contents() for row in found.all()]


def plain(row: list[str]) -> list[str]:
    """A row, with its numbers in one form: 10000.0 and 10000 are the same number."""
    number = r"(?<![\w.,])\d+(\.\d+)?(e-\d+)?(?![\w.])(?!,\d)"
    return [*row[:2], re.sub(number, lambda n: f"{float(n[0]):g}", row[2])]


def paste(page: Page, text: str) -> str:
    """Put a text into the box, and return the sentence below."""
    page.get_by_label("config.json", exact=True).fill(text)
    return page.locator("attn-config .said").inner_text()


@pytest.mark.parametrize("model", PUBLISHED)
def test_it_reads_what_the_library_reads(figure: Page, model: str) -> None:
    said = paste(figure, json.dumps(PUBLISHED[model]))
    read = read_config(PUBLISHED[model])
    expected = [plain([row.about, row.section, row.text]) for row in read.rows]
    assert [plain(row) for row in rows(figure)] == expected
    assert f"{read.cache_bytes(2**17):,}" in said
    assert f" {len(read.unknown)} unknown fields" in said


SIZES = {"num_hidden_layers": 7, "hidden_size": 32, "num_attention_heads": 4}
WINDOW = {"sliding_window": 5}


@pytest.mark.parametrize(
    "config",
    [
        SIZES | {"quantum": [1, 1, "a"]},
        {"n_layer": 3, "n_embd": 32, "n_head": 4} | WINDOW | {"use_sliding_window": False},
        SIZES | WINDOW | {"sliding_window_pattern": 3, "extra": {"a": None}},
        SIZES | {"multi_query": True, "full_attention_interval": 4},
        SIZES | {"layer_types": ["new"] * 7},
        {"text_config": PUBLISHED["gemma3_text"], "vision_config": {"depth": 3}},
        SIZES | WINDOW | {"model_type": "mistral"},
        SIZES | WINDOW | {"model_type": "gemma2", "cache_implementation": "hybrid"},
        SIZES | WINDOW | {"model_type": "mistral", "max_window_layers": 2},
        SIZES | WINDOW | {"sliding_window_pattern": "LLLG"},
        SIZES | {"hybrid_override_pattern": "M*-ME*M", "mamba_head_dim": 80, "chunk_size": 128},
        SIZES | {"hybrid_override_pattern": "M*?"},
        SIZES | {"linear_attn_config": {"full_attn_layers": [4, 7], "head_dim": 8}},
        SIZES | {"linear_attn_config": {"head_dim": 8}},
        SIZES | {"attention_chunk_size": 3, "no_rope_layers": [1, 1, 1, 0, 1, 1, 1]},
        SIZES | {"attention_chunk_size": 3},
        SIZES | {"linear_num_value_heads": 3},
        SIZES | {"num_kv_shared_layers": 3, "layer_types": ["full_attention"] * 7},
        SIZES | {"attn_config": {"inner": {"sliding_window_size": 9}}},
        SIZES | {"quantization_config": {"block_size": 9}},
    ],
)
def test_it_reads_other_forms_as_the_library_does(figure: Page, config: dict) -> None:
    paste(figure, json.dumps(config))
    expected = [plain([row.about, row.section, row.text]) for row in read_config(config).rows]
    assert [plain(row) for row in rows(figure)] == expected


@pytest.mark.parametrize("model", PUBLISHED)
def test_an_example_has_the_fields_of_the_published_configuration(figure: Page, model: str) -> None:
    figure.get_by_label("model", exact=True).select_option(model)
    shown = json.loads(figure.get_by_label("config.json", exact=True).input_value())
    wanted = {n: v for n, v in PUBLISHED[model].items() if n in model_config.EXAMPLE_FIELDS}
    assert shown == wanted
    assert read_config(shown).cache_bytes(2**17) == read_config(PUBLISHED[model]).cache_bytes(2**17)


def test_a_text_that_is_no_object_is_refused_in_a_sentence(figure: Page) -> None:
    for text in "{", "[1]", "3", "":
        assert paste(figure, text).startswith("This is not a JSON object: ")
        assert rows(figure) == []
        assert figure.locator("attn-config .figure table").is_hidden()
    assert figure.get_by_label("model", exact=True).input_value() == ""


def test_on_a_phone_only_the_fields_are_broken_into_lines_within_a_word(figure: Page) -> None:
    figure.set_viewport_size(PHONE)
    paste(figure, json.dumps(PUBLISHED["qwen3_next"] | {"a" * 80: "b" * 80}))
    widths = "(cells) => cells.map((cell) => [cell.scrollWidth, cell.clientWidth])"
    for needed, given in figure.locator("attn-config .figure td").evaluate_all(widths):
        assert needed <= given
    broken = figure.locator("attn-config .figure td").evaluate_all(
        "(cells) => cells.map((cell) => getComputedStyle(cell).overflowWrap)"
    )
    assert [*dict.fromkeys(broken[::3])] == [*dict.fromkeys(broken[1::3])] == ["normal"]
    assert (
        figure.locator("attn-config .figure table").evaluate("(x) => x.scrollWidth")
        <= PHONE["width"]
    )
    figure.set_viewport_size(DESK)


def test_nothing_leaves_the_page(figure: Page) -> None:
    asked: list[str] = []
    figure.on("request", lambda request: asked.append(request.url))
    paste(figure, json.dumps(PUBLISHED["llama"]))
    figure.get_by_label("model", exact=True).select_option("gpt2")
    assert asked == []
    script = (SCRIPTS / "attn-config.js").read_text("utf-8")
    assert not re.search(r"fetch|XMLHttp|WebSocket|sendBeacon|localStorage|src=|https?:", script)
