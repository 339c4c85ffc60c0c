"""What the search reads (searchtexts.js), and how it splits words (search.js)."""

import json
import re
import unicodedata

import pytest
from lxml import html
from py_mini_racer import MiniRacer
from sphinx.search.en import SearchEnglish

from attnbook.language import HAN
from manuscript.common import ROOT
from press.extension.formulas import render
from press.extension.plain_formulas import in_plain_text
from press.extension.search import COMMON, questions, symptoms, texts, weight
from tests.support.pages import HTML, parsed

STATIC = ROOT / "press" / "static"


def section(heading: str, text: str, called: str = "") -> dict[str, object]:
    """A section of a book, as searchtexts.js has it."""
    return {
        "page": "book/page",
        "id": heading.lower(),
        "chapter": "1. Page",
        "heading": heading,
        "called": called,
        "text": text,
        "weight": 1,
    }


@pytest.fixture(scope="module")
def engine() -> MiniRacer:
    """The search of a book of a few sections and questions."""
    data = {
        "chinese": HAN,
        "common": COMMON,
        "names": {
            "gqa": {"term": "grouped-query attention", "at": 1},
            "掩码": {"term": "mask", "at": 0},
            "mask": {"term": "mask", "at": 0},
        },
        "sections": [
            section("Masks", "A mask hides keys from queries.", "掩码, mask, attn_mask"),
            section("Sharing", "Heads in groups share keys.", "grouped-query attention, gqa"),
            section("Norms", "Layer normalization; a mask, a mask; sharing, sharing, sharing."),
            section("多头", "多头注意力有几个头。"),
            section("Softmax", "A softmax, a softmax. LayerNorm, storing, makes. To cross over."),
            section("Crossing", "Cross over again. It doesn’t dot."),
            section("Groups", "Head head group group."),
            section("Heads", "Group group head head."),
            section("Latents", "The kv_lora_rank of 512; 神经网络没有头。神经, 神经."),
            {
                **section("6.16 Exercises", "Exercise 06.top_p: latents 512 64 8."),
                "page": "book/06_page",
            },
        ],
        "questions": [
            {"question": "Why is my output NaN?", "answer": "A row has no key left.", "at": 0},
        ],
    }
    engine = MiniRacer()
    engine.eval("var self = this;" + (STATIC / "minisearch" / "minisearch.js").read_text("utf8"))
    engine.eval(f"const BOOK_TEXTS = {json.dumps(data)};{SearchEnglish.js_stemmer_code}")
    engine.eval((STATIC / "search.js").read_text("utf8"))
    return engine


def found(engine: MiniRacer, query: str) -> list[str]:
    """The headings of the sections that a query finds."""
    asked = f"BookSearch.find({json.dumps(query)}).results.map(({{section}}) => section.heading)"
    return list(json.loads(str(engine.eval(f"JSON.stringify({asked})"))))


def read_as(engine: MiniRacer, query: str) -> dict[str, str]:
    """How the search reads the words of a query."""
    asked = f"BookSearch.find({json.dumps(query)}).readings"
    return {
        reading["typed"]: reading["read"]
        for reading in json.loads(str(engine.eval(f"JSON.stringify({asked})")))
    }


def split(engine: MiniRacer, text: str) -> list[str]:
    """The words of a text."""
    return list(
        json.loads(str(engine.eval(f"JSON.stringify(BookSearch.split({json.dumps(text)}))")))
    )


def test_chinese_is_split_into_pairs_and_names_in_code_into_parts(engine: MiniRacer) -> None:
    assert split(engine, "注意力") == ["注意", "意力"]
    assert split(engine, "softmax函数, 1.1111 头") == ["softmax", "函数", "1.1111", "头"]
    assert split(engine, "attn_mask=None") == ["attn_mask", "attn", "mask", "None"]
    assert split(engine, "LayerNorm") == ["LayerNorm", "Layer", "Norm"]
    assert split(engine, "RMSNorm, RoPE") == ["RMSNorm", "RMS", "Norm", "RoPE"]


def test_a_section_whose_heading_or_name_fits_comes_before_one_that_repeats_a_word(
    engine: MiniRacer,
) -> None:
    assert found(engine, "mask")[:2] == ["Masks", "Norms"]
    assert found(engine, "masks")[0] == "Masks"
    assert found(engine, "sharing") == ["Sharing", "Norms"]
    assert found(engine, "attn_mask")[0] == "Masks"
    assert found(engine, "多头注意力") == ["多头"]
    assert found(engine, "头") == ["多头"]  # which has 头注


def test_a_query_is_read_as_what_the_book_calls_it(engine: MiniRacer) -> None:
    assert found(engine, "GQA")[0] == "Sharing"
    assert read_as(engine, "GQA") == {"gqa": "grouped-query attention"}
    assert read_as(engine, "掩码") == {"掩码": "mask"}
    assert found(engine, "normalisation")[0] == "Norms"  # misspelled, or British
    assert read_as(engine, "layr normalizatoin") == {
        "layr": "layer",
        "normalizatoin": "normalization",
    }
    assert read_as(engine, "mask keys") == {}
    assert read_as(engine, "what is gqa?") == {"gqa": "grouped-query attention"}
    assert found(engine, "what are masks?")[0] == "Masks"


def test_a_misspelled_word_is_read_as_the_nearest_word_and_then_the_most_frequent_one(
    engine: MiniRacer,
) -> None:
    assert read_as(engine, "maks") == {"maks": "mask"}  # two letters exchanged; not "makes"
    assert read_as(engine, "shoring") == {"shoring": "sharing"}  # three times; "storing" once
    assert read_as(engine, "layr_norm") == {"layr": "layer"}
    assert read_as(engine, "mask1 zzzzzzzz") == {}  # numbers, and what is near nothing


def missing(engine: MiniRacer, query: str) -> list[tuple[str, str | None]]:
    """The words of a query that the book lacks, each with a name that it is a part of."""
    asked = f"JSON.stringify(BookSearch.find({json.dumps(query)}).missing)"
    return [(lack["word"], lack.get("name")) for lack in json.loads(str(engine.eval(asked)))]


def test_words_that_the_book_lacks_are_named(engine: MiniRacer) -> None:
    assert missing(engine, "LoRA masks") == [("LoRA", "kv_lora_rank")]
    assert missing(engine, "lora rank of masks") == []  # which is kv_lora_rank
    assert missing(engine, "what is vLLM for masks?") == [("vLLM", None)]
    assert missing(engine, "block_mask of a mask1") == [("block_mask", None)]
    assert missing(engine, "maks normalizatoin layers") == []  # corrected, or another form
    assert missing(engine, "layer norm") == []
    assert missing(engine, "why not softm") == []  # perhaps unfinished
    assert missing(engine, "softm 掩码") == [("softm", None)]


def test_chinese_that_the_book_lacks_is_named(engine: MiniRacer) -> None:
    assert missing(engine, "微调") == [("微调", None)]
    assert missing(engine, "图神经网络") == [("图神经网络", None)]
    assert missing(engine, "神经网络") == missing(engine, "多头的注意力") == []
    assert missing(engine, "头多") == [("头多", None)]
    assert missing(engine, "神经网络大") == []  # 大 may be a word by itself
    assert missing(engine, "多头注意立机制呢多头") == [("意立机", None)]


def test_numbers_count_less_than_words(engine: MiniRacer) -> None:
    assert found(engine, "cross 512 64 8")[0] == "Crossing"
    assert found(engine, "512")[0] == "6.16 Exercises"


def test_a_contraction_is_not_a_word(engine: MiniRacer) -> None:
    for typed in "doesnt", "doesn't", "doesn’t", "Isnt", "cant", "dont":
        assert found(engine, f"{typed} mask")[0] == "Masks"
        assert read_as(engine, f"{typed} mask") == {}
        assert found(engine, typed) == []


def test_the_id_of_an_exercise_leads_to_it(engine: MiniRacer) -> None:
    for query in "06.top_p", "exercise 06.top_p of a mask":
        assert found(engine, query)[0] == "6.16 Exercises"
        asked = f"BookSearch.find({json.dumps(query)}).results[0].section.id"
        assert engine.eval(asked) == "exercise-06-top-p"


def test_a_word_of_seven_letters_is_not_corrected_in_two_places(engine: MiniRacer) -> None:
    assert read_as(engine, "softcap") == {}
    assert missing(engine, "softcap mask") == [("softcap", None)]
    assert read_as(engine, "normalizzasion") == {"normalizzasion": "normalization"}


def test_words_are_joined_and_split_as_the_book_writes_them(engine: MiniRacer) -> None:
    assert read_as(engine, "soft max") == {"soft max": "softmax"}
    assert read_as(engine, "crossover") == {"crossover": "cross over"}
    assert read_as(engine, "layer norm") == {}  # LayerNorm has both as parts


def test_a_section_that_has_the_query_word_for_word_counts_more(engine: MiniRacer) -> None:
    assert found(engine, "head head group group")[0] == "Groups"
    assert found(engine, "group group head head")[0] == "Heads"


def test_a_question_leads_to_the_section_that_answers_it(engine: MiniRacer) -> None:
    assert found(engine, "output is nan")[0] == "Masks"


def test_words_that_nothing_has_find_nothing(engine: MiniRacer) -> None:
    assert found(engine, "zzz") == found(engine, "why is it") == found(engine, "") == []
    assert found(engine, "constructor") == found(engine, "__proto__") == []


def test_the_texts_of_a_page_are_the_visible_texts_of_its_sections() -> None:
    page = f"""
    <p>menu</p><article><section id="one"><h1>1. One<a class="headerlink" href="#one">#</a></h1>
    <nav class="launch"><a>Open</a></nav><p>The <b>so</b>ft<br>max of {render("x^2")}</p>
    <img src="x.svg"><ul><li>a</li><li>b</li></ul>
    <details class="choice"><summary>A</summary><p>wrong</p></details>
    <section id="two"><h2>1.1 <code>Two</code></h2>
    <details class="answer"><summary>Hint 1</summary><div>secret</div></details>
    <details class="hide"><summary>Show</summary><pre><span>x</span> = 苹果</pre></details>
    </section></section></article><p>foot</p>"""
    assert texts(page) == [
        ("one", "1. One", "The soft max of x² a b"),
        ("two", "1.1 Two", "Show x = 苹果"),
    ]


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"\sqrt{d_k}", "√dₖ"),
        (r"QK^\top / \sqrt{d_k + d_R}", "QK⊤/√(dₖ + d_R)"),
        (r"24 \cdot \tfrac12 t_i = -12t_i", "24 ⋅ 1/2 tᵢ = −12tᵢ"),
        (r"\frac{x_i - \mu}{2\sigma^2}", "(xᵢ − μ)/(2σ²)"),
        (r"W_QW_K^\top e^{-1e9}", "W_Q W_K⊤ e^(−1e9)"),
        (r"o_i = \sum_j A_{ij}\,v_j", "oᵢ = ∑ⱼ Aᵢⱼ vⱼ"),
        (r"a\cos(\omega t) + \ln V", "a cos(ωt) + ln V"),
        (r"\underbrace{\text{softmax}(S)}_{A}\,V, f'", "softmax(S)_A V, f′"),
        (r"\begin{aligned} a &= 1 \\ b &= 2 \end{aligned}", "a = 1; b = 2"),
    ],
)
def test_a_formula_in_a_line_of_text_keeps_its_roots_and_fractions(formula: str, text: str) -> None:
    (math,) = html.fromstring(render(formula)).iter("math")
    assert in_plain_text(math) == text


def test_no_formula_of_the_book_loses_a_root_a_fraction_or_a_letter(book: None) -> None:
    formulas = [
        formula
        for page in (HTML / "book").glob("*.html")
        for formula in parsed(page).select("math")
    ]
    assert len(formulas) > 500
    for formula in formulas:
        text = in_plain_text(html.fromstring(str(formula)))
        assert text.count("√") >= len(formula.select("msqrt"))
        assert text.count("/") >= len(formula.select("mfrac"))
        letters = re.findall(r"\w", unicodedata.normalize("NFKC", formula.get_text()))
        assert sorted(re.findall(r"[^\W_]", unicodedata.normalize("NFKC", text))) == sorted(letters)


def test_a_formula_is_found_as_it_is_typed(engine: MiniRacer) -> None:
    assert [engine.eval(f"BookSearch.stem({json.dumps(word)})") for word in ("dₖ", "dk")] == [
        "dk"
    ] * 2


def test_the_answer_of_a_question_has_each_formula_once() -> None:
    width, root = render("d_k"), render(r"\sqrt{d_k}")
    page = f"""<article><p><strong>Is {width} even?</strong></p>
    <p>Divide by {root}. <a href="b.html#y">3.8</a></p></article>"""
    assert questions(page) == [("Is dₖ even?", "Divide by √dₖ. 3.8", "b.html#y")]


def test_the_questions_of_a_page_have_their_answer_and_its_last_link() -> None:
    page = """<article><p>Some <strong>bold</strong> text.</p>
    <p><strong>Why?</strong></p>
    <p>Because of <a href="a.html#x">this</a>. (<a href="b.html#y%20z">1.2</a>)</p></article>"""
    assert questions(page) == [("Why?", "Because of this.", "b.html#y z")]


def test_the_symptoms_of_a_page_have_their_experiment_and_their_section() -> None:
    page = """<article><table><thead><tr><th>seen</th></tr></thead><tbody>
    <tr><td>NaN <code>x</code></td><td>count keys</td><td><a href="b.html#y">6.10</a></td>
    <td><a href="c.html">06.weights</a></td></tr>
    <tr><td>a page</td><td>without a link</td><td>–</td></tr></tbody></table></article>"""
    assert symptoms(page) == [("NaN x", "count keys", "b.html#y")]


def test_summaries_exercises_and_other_pages_count_less_than_sections() -> None:
    sizes = [
        weight("book/06_masked_attention", "masks", "6.3 Masks"),
        weight("book/appendix_sources", "s0", "A.2 S0"),
        weight("book/notation", "sizes", "Sizes"),
        weight("book/06_masked_attention", "exercise-06-leak", "Exercise 06.leak"),
        weight("book/06_masked_attention", "summary", "6.17 Summary"),
        weight("book/bibliography", "vaswani", "Vaswani et al. (2017)"),
    ]
    assert sizes == [1, 1, 0.6, 0.5, 0.4, 0.4]
