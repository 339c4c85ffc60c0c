"""The page's translator, used as a reader would use it, and compared with the library's."""

import base64
import gzip
import json
import math
import re
from collections.abc import Iterator

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from attnbook import SinusoidalPositions, Transformer, beam_search, greedy_decode
from attnbook.corpus import BEGIN, END, Corpus, Pair, Vocabulary, make_batch, make_corpus
from press import pack
from press.extension.live import LIVE, MODELS, joined
from tests.support.pages import FOLDER, HTML, Opened, wait_until, window
from tools.train.live_models import TRANSLATOR, load_packed

pytestmark = pytest.mark.usefixtures("book")

CHAPTER = "book/09_translation.html"
RULES = {"begin": BEGIN, "end": END, "max_length": 30}
Stored = tuple[Transformer, Vocabulary, Vocabulary]


@pytest.fixture(scope="module")
def stored() -> Stored:
    """The page's translator, loaded by the library."""
    return load_packed(TRANSLATOR.read_text("utf-8"))


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """The sentences that the translator was trained on, and others."""
    return make_corpus()


@pytest.fixture(scope="module")
def loaded(browser: Browser) -> Iterator[Page]:
    """The chapter, with its model loaded as the figure loads it, for tests that only compute."""
    with window(browser) as context:
        page = Opened(context, CHAPTER).page
        page.locator("attn-translate").last.evaluate("figure => figure.change(() => {})")
        wait_until(page, "() => 'Workbench' in attnbook")
        yield page


def figure_of(opened: Opened) -> Locator:
    return opened.page.locator("attn-translate").last


def write(page: Page, pair: Pair, change: str = "{}", given: tuple[str, ...] = ()) -> dict:
    """Return what the page computes for a pair: words, probabilities, logits, source weights."""
    return page.evaluate(
        f"""([source, given]) => {{
            const steps = attnbook.translator.write(source, {change}, given);
            return {{ words: steps.map(s => s.word), chances: steps.map(s => s.chance),
                logits: steps.map(s => [...s.logits]), maps: steps.map(s => s.maps) }}; }}""",
        [pair.chinese, given],
    )


def library(stored: Stored, pair: Pair, first: int = 0, hidden: int | None = None):
    """Return logits (m, V) and source weights (m, layers · H, n) for the pair's English words."""
    model, chinese, english = stored
    b = make_batch([pair], chinese, english)
    if hidden is not None:
        b.source_mask[..., hidden] = False

    class From(SinusoidalPositions):
        def forward(self, x, start=0):
            return super().forward(x, first + start)

    model.positions = From(model.d_model)
    with torch.no_grad():
        z, _ = model.encode(b.source, b.source_mask)
        logits, _, across = model.decode(b.target, z, b.source_mask)
    return logits[0], torch.cat(across, dim=1)[0].transpose(0, 1)


def close(got: list, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(torch.tensor(got).double(), wanted, atol=1e-3, rtol=0)


def test_logits_and_weights_are_the_librarys(loaded: Page, stored: Stored, corpus: Corpus) -> None:
    for pair in corpus.new_combinations[:25] + corpus.longer[:15]:
        got = write(loaded, pair, given=(*pair.english, "END"))
        logits, weights = library(stored, pair)
        close(got["logits"], logits)
        close(got["maps"], weights)


def test_translations_are_the_librarys_word_for_word(
    loaded: Page, stored: Stored, corpus: Corpus
) -> None:
    model, chinese, english = stored
    pairs = corpus.new_combinations[:75] + corpus.longer[:75]
    script = """pairs => { const began = performance.now();
        const said = pairs.map(source => attnbook.translator.write(source).map(s => s.word));
        return [said, performance.now() - began]; }"""
    said, milliseconds = loaded.evaluate(script, [pair.chinese for pair in pairs])
    b = make_batch(pairs, chinese, english)
    tokens, _ = greedy_decode(model, b.source, b.source_mask, **RULES)
    assert [words[-1] for words in said] == ["END"] * len(pairs)
    assert [tuple(words[:-1]) for words in said] == [english.decode(row) for row in tokens]
    assert milliseconds / sum(map(len, said)) < 50  # per word
    cut = loaded.evaluate(
        "texts => texts.map(text => attnbook.translator.cut(text))",
        ["".join(pair.chinese) for pair in pairs],
    )
    assert [tuple(words) for words in cut] == [pair.chinese for pair in pairs]


def test_beams_are_the_librarys(loaded: Page, stored: Stored, corpus: Corpus) -> None:
    model, chinese, english = stored
    pairs = corpus.longer[100:120]
    for width, penalty in ((2, 0.0), (4, 1.0)):
        found = loaded.evaluate(
            f"""pairs => pairs.map(source =>
                attnbook.translator.search(source, {{}}, {width}, {penalty}))""",
            [pair.chinese for pair in pairs],
        )
        b = make_batch(pairs, chinese, english)
        rules = RULES | {"width": width, "length_penalty": penalty}
        beams = beam_search(model, b.source, b.source_mask, **rules)
        wanted = [(*english.decode(row), "END") for row in beams.tokens[:, 0]]
        assert [tuple(words) for words in found] == wanted


def test_changes_are_what_the_chapter_does(loaded: Page, stored: Stored, corpus: Corpus) -> None:
    pair = corpus.new_combinations[0]
    given = (*pair.english, "END")
    for place in range(len(pair.chinese)):  # 9.11: a word covered
        got = write(loaded, pair, f"{{ hidden: new Set([{place}]) }}", given)
        close(got["logits"], library(stored, pair, hidden=place)[0])
    got = write(loaded, pair, "{ first: 12 }", given)  # 9.9
    close(got["logits"], library(stored, pair, first=12)[0])
    model = stored[0]
    for layer, head in ((0, 1), (1, 3)):  # 9.11: a head switched off
        weight = model.decoder.layers[layer].cross_attention.w_o.weight
        kept = weight.detach().clone()
        with torch.no_grad():
            weight[:, 16 * head : 16 * (head + 1)] = 0
            wanted, _ = library(stored, pair)
            weight.copy_(kept)
        got = write(loaded, pair, f"{{ off: new Set([{4 * layer + head}]) }}", given)
        close(got["logits"], wanted)


def test_the_page_first_shows_what_it_would_compute(loaded: Page) -> None:
    start = json.loads(loaded.locator("attn-translate").last.get_attribute("data") or "")["start"]
    words = tuple(word for word, *_ in start["source"])
    got = write(loaded, Pair(words, ()))
    assert got["words"] == [word for word, *_ in start["steps"]]
    for step, chance, maps in zip(start["steps"], got["chances"], got["maps"], strict=True):
        assert step[1] == pytest.approx(chance, abs=0.002)
        assert math.prod(torch.tensor(step[3]).shape) == math.prod(torch.tensor(maps).shape)
        assert torch.tensor(step[3]) / 100 == pytest.approx(torch.tensor(maps), abs=0.02)


def test_nothing_is_loaded_before_it_is_used_and_then_once(opened: Opened) -> None:
    figure = figure_of(opened)
    figure.locator(".token").nth(2).click()  # the data for this click is stored in the page
    assert not [url for url in opened.requested if "live-" in url]
    for _ in range(2):
        figure.locator(".chip").nth(3).click()
    expect(figure.locator(".chip").nth(3)).to_have_attribute("aria-expanded", "false")
    assert len([url for url in opened.requested if "live-translator.js?v=" in url]) == 1
    assert opened.close() == []


def test_a_reader_covers_a_word_and_takes_it_back(
    opened: Opened, stored: Stored, corpus: Corpus
) -> None:
    figure = figure_of(opened)
    unchanged, now = (figure.get_by_role("listbox", name=n) for n in ("unchanged", "now"))
    figure.locator(".chip").nth(3).tap()
    figure.get_by_role("button", name="cover", exact=True).tap()
    expect(figure.locator(".chip").nth(3)).to_contain_text("covered")
    # the probability before and after the change, given the same words
    pair = corpus.new_combinations[0]
    logits, _ = library(stored, pair, hidden=3)
    did = logits[1].softmax(-1)[stored[2].encode(["did"])].item()
    expect(unchanged.get_by_role("option").nth(1)).to_have_text(f"did0.87 → {did:.2f}")
    unchanged.get_by_role("option").nth(1).tap()
    expect(figure.locator(".said")).to_contain_text(
        f"“did” had probability 0.87 and now has {did:.2f}"
    )
    # what the translator writes now, and which of its words are new
    _, chinese, english = stored
    b = make_batch([pair], chinese, english)
    b.source_mask[..., 3] = False
    tokens, _ = greedy_decode(stored[0], b.source, b.source_mask, **RULES)
    words = [*english.decode(tokens[0]), "END"]
    texts = now.get_by_role("option").all_inner_texts()
    assert [text.split()[0] for text in texts] == words
    marked = now.locator(".changed").all_inner_texts()
    assert marked == [word for word in words if word not in pair.english and word != "END"]
    assert marked
    assert not opened.wide()
    figure.get_by_role("button", name="undo the changes").tap()
    expect(now).to_have_count(0)
    expect(figure.locator(".chip").nth(3)).to_contain_text("not")
    assert opened.close() == []


def test_a_reader_exchanges_words_and_types_some(opened: Opened) -> None:
    figure = figure_of(opened)
    said = figure.locator(".said")
    spoken = figure.get_by_role("listbox", name="translation")
    figure.locator(".chip").nth(8).click()
    figure.get_by_role("combobox", name="replace with …").select_option("鞋")
    expect(figure.locator(".chip").nth(8)).to_contain_text("xié")
    expect(spoken).to_contain_text("shoes")
    figure.get_by_role("button", name="remove").click()
    expect(figure.locator(".chip")).to_have_count(8)
    field = figure.get_by_role("textbox")
    field.fill("我爱北京?")
    field.press("Enter")
    expect(figure.locator(".chip")).to_have_count(4)
    expect(figure.locator(".chip.unknown")).to_have_text("爱unknown")
    expect(said).to_contain_text("Not in the vocabulary: 爱.")
    expect(said).to_contain_text("this may be nonsense")
    field.fill("很" * 25)
    field.press("Enter")
    expect(figure.locator(".chip")).to_have_count(19)
    expect(said).to_contain_text(
        "This sentence has 19 words. No training sentence has more than 11."
    )
    assert not opened.wide()
    assert opened.close() == []


def test_english_and_pinyin_are_taken_and_offered(opened: Opened) -> None:
    figure = figure_of(opened)
    field, chips = figure.get_by_role("textbox"), figure.locator(".chip > span")
    field.fill("dog")
    field.press("Enter")
    expect(chips).to_have_text(["狗"])
    field.fill("zhe zhi mao look for WO de hat")
    field.press("Enter")
    expect(chips).to_have_text("这 只 猫 找 我 的 帽子".split())
    field.fill("")
    field.press_sequentially("我 喜欢 gr")
    offers = figure.locator(".offers button")
    expect(offers).to_have_text(["奶奶 nǎinai grandmother"])
    offers.first.click()
    expect(field).to_have_value("我 喜欢 奶奶 ")
    expect(offers).to_have_count(0)
    field.fill("")
    field.press_sequentially("dog grandm")  # the first word was not picked
    offers.first.click()
    expect(field).to_have_value("dog 奶奶 ")
    field.fill(" ")
    field.press("Enter")
    expect(field).to_have_value("这 只 猫 找 我 的 帽子")
    assert opened.close() == []


def test_the_group_of_a_pressed_word_comes_first(opened: Opened) -> None:
    figure = figure_of(opened)
    figure.locator(".chip").nth(8).click()  # 衬衫, a shirt
    picker = figure.get_by_role("combobox", name="replace with …")
    assert picker.locator("optgroup").first.get_attribute("label") == "things"
    options = picker.locator("optgroup").first.locator("option").all_inner_texts()
    assert options == sorted(options, key=str.casefold)
    assert "hat 帽子 màozi" in options
    opened.page.evaluate("document.documentElement.lang = 'zh-CN'")  # Chinese comes first
    figure.locator(".chip").nth(3).click()
    assert "帽子 màozi hat" in picker.locator("option").all_inner_texts()


def test_a_change_selects_the_first_word_that_differs_and_moves_nothing(opened: Opened) -> None:
    figure = figure_of(opened)
    top = (
        "figure => figure.shadowRoot.querySelector('.detail').getBoundingClientRect().top"
        " - figure.getBoundingClientRect().top"
    )
    figure.locator(".chip").nth(3).click()
    before = figure.evaluate(top)
    figure.get_by_role("button", name="cover", exact=True).click()
    now = figure.get_by_role("listbox", name="now")
    expect(now.locator("[aria-selected=true] .changed").first).to_be_visible()
    first = now.locator(".token").evaluate_all(
        "words => words.findIndex(word => word.querySelector('span.changed'))"
    )
    selected = now.locator(".token").evaluate_all(
        "words => words.findIndex(word => word.matches('[aria-selected=true]'))"
    )
    assert selected == first
    assert figure.evaluate(top) == pytest.approx(before, abs=45)  # another line at most


def test_heads_a_slip_a_beam_and_positions(opened: Opened) -> None:
    figure = figure_of(opened)
    now = figure.get_by_role("listbox", name="now")
    head = figure.get_by_role("button", name="head 0")
    for i in range(2):  # in both layers
        head.nth(i).click()
        expect(head.nth(i)).to_have_attribute("aria-pressed", "false")
    expect(now).to_be_visible()
    figure.get_by_role("button", name="undo the changes").click()
    expect(now).to_have_count(0)
    figure.locator(".token").nth(1).click()
    bars = figure.locator(".bar")
    slip = bars.nth(3).inner_text().split()[0]
    bars.nth(3).click()
    expect(now.get_by_role("option").nth(1)).to_contain_text(slip)
    expect(now.locator(".changed").first).to_have_text(slip)

    # the sentence with the red shirt, as in 9.13: a beam without and with the length penalty
    sentences = figure.get_by_role("combobox", name="sentence")
    sentences.select_option(index=6)
    expect(figure.locator(".chip")).to_have_count(12)
    figure.get_by_role("radio", name="beam 3").check(force=True)
    for penalty, words in (("0", "your red shirt"), ("1", "your friend 's red shirt")):
        figure.get_by_role("radio", name=penalty, exact=True).check(force=True)
        spaced = words.replace(" ", r"[\d.]+")
        expect(now).to_have_text(re.compile(rf"for[\d.]+{spaced}[\d.]+at"))
    slider = figure.get_by_role("slider")
    slider.focus()
    opened.page.keyboard.press("End")
    expect(figure.locator(".said")).to_contain_text("Log-probability")
    assert opened.close() == []


def test_the_keyboard_is_enough_and_keeps_its_place(opened: Opened) -> None:
    figure = figure_of(opened)
    figure.locator(".token").nth(1).focus()
    opened.page.keyboard.press("ArrowRight")
    active = "figure => figure.shadowRoot.activeElement.dataset.key"
    assert figure.evaluate(active) == "plain 2"
    expect(figure.locator(".token").nth(2)).to_have_attribute("aria-selected", "true")
    figure.locator(".heard", has_text="least certain").wait_for(state="attached")
    figure.get_by_role("button", name="head 3").nth(1).focus()
    opened.page.keyboard.press("Enter")
    expect(figure.get_by_role("listbox", name="now")).to_be_visible()
    assert figure.evaluate(active) == "head 7"
    figure.locator(".chip").first.focus()
    opened.page.keyboard.press("Space")
    expect(figure.get_by_role("combobox", name="replace with …")).to_be_visible()
    assert figure.evaluate(active) == "chip 0"
    unnamed = """figure => [...figure.shadowRoot.querySelectorAll(
        'button, select, input, [tabindex]')].filter(e => !e.textContent.trim()
        && !e.getAttribute('aria-label') && !e.closest('label')).map(e => e.outerHTML)"""
    assert figure.evaluate(unnamed) == []
    assert opened.violations(within="attn-translate:last-of-type") == []


def test_home_and_end_choose_a_sentence_and_do_not_scroll_the_page(opened: Opened) -> None:
    sentences = figure_of(opened).locator("select").first
    sentences.focus()
    place, first = opened.page.evaluate("scrollY"), sentences.evaluate("e => e.selectedIndex")
    opened.page.keyboard.press("End")
    assert sentences.evaluate("e => e.selectedIndex") > first
    opened.page.keyboard.press("Home")
    assert sentences.evaluate("e => e.selectedIndex") == 0
    assert opened.page.evaluate("scrollY") == place


def test_a_missing_file_is_reported_and_requested_again(opened: Opened) -> None:
    figure = figure_of(opened)
    opened.page.route("**/live-translator.js*", lambda route: route.abort())
    figure.locator(".chip").first.click()
    expect(figure.locator(".said")).to_contain_text("could not be loaded")
    opened.page.unroute("**/live-translator.js*")
    figure.locator(".chip").first.click()
    expect(figure.get_by_role("button", name="cover", exact=True)).to_be_visible()


def test_print_and_pages_without_scripts_have_the_table(browser: Browser, loaded: Page) -> None:
    loaded.emulate_media(media="print")
    assert loaded.locator("attn-translate > table").last.is_visible()
    assert not loaded.locator("attn-translate .figure").last.is_visible()
    loaded.emulate_media(media="screen")
    with window(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(FOLDER + CHAPTER)
        table = page.locator("attn-translate > table").last
        assert table.is_visible()
        assert "méi" in (table.text_content() or "")
        note = page.locator("attn-translate > p").last.text_content() or ""
        assert note.startswith("In this book's pages")


def test_the_model_is_small_and_comes_with_the_zip() -> None:
    packed = pack.reached(HTML)
    sizes = {"translator": (400_000, 500_000), "writer": (200_000, 250_000)}
    for element, (name, _, scripts) in MODELS.items():
        numbers = json.loads((LIVE / f"{name}.json").read_text("utf-8"))["data"]
        least, most = sizes[name]
        assert least < len(base64.b64decode(numbers)) <= most
        built = HTML / "_static" / f"live-{name}.js"
        assert built.read_text("utf-8") == joined(element)
        assert len(gzip.compress(built.read_bytes())) <= 500_000
        assert built in packed
        for script in scripts:
            assert len((LIVE / f"{script}.js").read_bytes()) < 12_000
