"""Sampling on the page: truncated logits, and the model that writes the texts."""

import itertools
import json
from collections.abc import Iterator, Sequence

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from attnbook import LanguageModel, keep_top_k, keep_top_p
from attnbook.corpus.grammar.noun_phrases import Draw
from attnbook.corpus.grammar.sentences import KINDS, finish
from attnbook.corpus.translation import BEGIN, Vocabulary
from attnbook.training.trained import load_language_model
from tests.support.chapters import Chapter
from tests.support.pages import FOLDER, Opened, window
from tools.train.live_writer import WRITER, packed

pytestmark = pytest.mark.usefixtures("book")

CHAPTER = "book/12_language_model.html"
Stored = tuple[LanguageModel, Vocabulary]


@pytest.fixture(scope="module")
def stored() -> Stored:
    return load_language_model(0)


@pytest.fixture(scope="module")
def loaded(browser: Browser) -> Iterator[Locator]:
    """The figure with its model, for tests that only compute."""
    with window(browser) as context:
        figure = Opened(context, CHAPTER).page.locator("attn-sampling")
        figure.evaluate("figure => figure.model()")
        yield figure


@pytest.fixture
def figure(opened: Opened) -> Iterator[Locator]:
    """The figure on its page, which must cause no error."""
    yield opened.page.locator("attn-sampling")
    assert opened.errors == []


def left(logits: torch.Tensor, temperature: float, k: int, p: float) -> torch.Tensor:
    return keep_top_p(keep_top_k(logits / temperature, k), p).softmax(-1)


@torch.no_grad()
def after(stored: Stored, words: Sequence[str]) -> torch.Tensor:
    """Return the library's logits before the first word and after each word, (L + 1, V)."""
    model, english = stored
    return model(torch.tensor([[BEGIN, *english.encode(words)]]))[0]


def set_to(figure: Locator, name: str, value: str) -> None:
    """Move a slider with the keyboard until it shows this value."""
    slider = figure.get_by_role("slider", name=name)
    slider.press("Home")
    while slider.get_attribute("aria-valuetext") != value:
        slider.press("ArrowRight")


def sentences(figure: Locator) -> list[list[str]]:
    expect(figure.locator(".texts.old")).to_have_count(0)
    return [text.split() for text in figure.locator(".texts li").all_inner_texts()]


def test_the_remaining_probabilities_equal_the_librarys(loaded: Locator) -> None:
    torch.manual_seed(0)
    for temperature, k, p in itertools.product((0.1, 1, 1.7), (1, 7, 50), (0.1, 0.9, 1)):
        logits = (3 * torch.randn(50).double()).sort(descending=True).values
        row = {"temperature": temperature, "k": k, "p": p}
        got = loaded.evaluate(
            "(figure, [logits, row]) => figure.constructor.keep(logits, row)",
            [logits.tolist(), row],
        )
        expected = left(logits, temperature, k, p)
        assert len(got) == (expected > 0).sum()
        torch.testing.assert_close(
            torch.tensor(got).double(), expected[: len(got)], atol=1e-6, rtol=0
        )


def test_the_writer_is_the_stored_model(loaded: Locator, stored: Stored) -> None:
    """If this fails, run: .venv/bin/python -m tools.train.live_writer."""
    assert WRITER.read_text("utf-8") == packed()
    draw, made = Draw(5), []
    while len(made) < 40:
        made += [one.en for one in [finish(draw.choice(KINDS)(draw))] if one]
    for words in [*made, ("they", "zzz"), tuple("a b c d".split()) * 10]:
        got = loaded.page.evaluate(
            "words => [...words, 0].map((_, i) => [...attnbook.writer.after(words.slice(0, i))])",
            words,
        )
        expected = after(stored, words)
        torch.testing.assert_close(torch.tensor(got).double(), expected, atol=1e-3, rtol=0)


def test_texts_are_written_with_the_settings_by_a_model_that_is_loaded_once(
    opened: Opened, figure: Locator, stored: Stored
) -> None:
    _, english = stored
    data = json.loads(figure.get_attribute("data") or "")

    def expected(*settings: float) -> tuple[list[list[str]], list[str]]:
        """Return the texts from these random numbers, and words with probabilities below 0.01."""
        texts, rare = [], []
        for points in data["random"]:
            words = list(data["beginning"])
            for point in points:
                logits, order = after(stored, words)[-1].sort(descending=True, stable=True)
                drawn = (left(logits, *settings).cumsum(-1) <= point / 1000).sum()
                words.append(english.words[order[drawn]])
                if logits.softmax(-1)[drawn] < 0.01:
                    rare.append(words[-1])
                if words[-1] == "END":
                    break
            texts.append(words)
        return texts, rare

    def shown() -> tuple[list[list[str]], list[str]]:
        return sentences(figure), figure.locator(".rare").all_inner_texts()

    assert shown() == expected(1, 386, 0.9)
    assert not [url for url in opened.requested if "live-" in url]  # the model is not loaded
    set_to(figure, "temperature", "1.5")
    assert shown() == expected(1.5, 386, 0.9)
    assert figure.locator(".said").inner_text().startswith("51 of 386 words are left.")
    set_to(figure, "top-p", "1")
    assert shown() == expected(1.5, 386, 1)
    assert shown()[1]
    set_to(figure, "top-k", "2")
    assert shown() == expected(1.5, 2, 1)
    assert len([url for url in opened.requested if "live-writer.js?v=" in url]) == 1


def test_a_reader_writes(opened: Opened, figure: Locator) -> None:
    said, field = figure.locator(".said"), figure.get_by_role("textbox")
    rows = figure.locator("button.row")
    assert (
        said.inner_text()
        == "17 of 386 words are left. Together they have a probability of 0.90 in the model."
    )
    figure.get_by_role("slider", name="top-k").press("Home")
    assert said.inner_text().startswith("1 of 386 words are left.")
    assert sentences(figure) == [sentences(figure)[0]] * 4  # greedy decoding
    first = rows.first.inner_text().split()[0]
    rows.first.tap()
    expect(field).to_have_value(f"my mother {first}")
    assert sentences(figure)[0][:3] == ["my", "mother", first]
    figure.get_by_role("button", name="Remove the last word").tap()
    expect(field).to_have_value("my mother")
    field.fill("Does she zzz like?")
    field.press("Enter")
    expect(said).to_contain_text("Not in the vocabulary: zzz. The model reads UNKNOWN there.")
    assert sentences(figure)[0][:5] == ["does", "she", "zzz", "like", "?"]
    field.fill("")
    figure.get_by_role("button", name="Continue").tap()
    expect(figure.get_by_role("button", name="Remove the last word")).to_be_disabled()
    figure.locator(".heard", has_text=said.inner_text()).wait_for(state="attached")
    assert not opened.wide()
    assert opened.violations(within="attn-sampling") == []


def test_drawing_again_writes_other_texts(figure: Locator) -> None:
    before = sentences(figure)
    figure.get_by_role("button", name="Draw again").tap()
    expect(figure.locator(".texts")).not_to_have_text("".join(map(" ".join, before)))
    assert sentences(figure) != before


def test_a_missing_file_is_named(browser: Browser) -> None:
    with window(browser) as context:
        context.route("**/live-writer.js*", lambda route: route.abort())
        page = context.new_page()
        page.goto(FOLDER + CHAPTER)
        figure = page.locator("attn-sampling")
        figure.get_by_role("slider", name="top-k").press("Home")
        expect(figure.locator(".said")).to_contain_text("The model could not be loaded")
        assert figure.locator("button.row .number").last.inner_text() == "–"  # bars need no model


def test_in_a_notebook_the_bars_follow_and_the_texts_stay_as_they_began(page: Page) -> None:
    cells = Chapter("12_language_model.ipynb").cells
    (output,) = cells["explore-sampling"]["outputs"]
    page.set_content("".join(output["data"]["text/html"]))
    figure = page.locator("attn-sampling")
    assert "In the book's pages the model then writes" in figure.locator(".try").inner_text()
    assert figure.locator("form, button").count() == 0
    slider = figure.get_by_role("slider", name="top-k")
    slider.press("Home")
    assert figure.locator(".said").inner_text().startswith("1 of 386 words are left.")
    expect(figure.locator(".texts.old")).to_have_count(1)
    slider.press("End")
    expect(figure.locator(".texts.old")).to_have_count(0)
