"""The search index has the words, the pairs of Chinese characters and the texts of a page."""

import json

import pytest
from py_mini_racer import MiniRacer

from press.extension.formulas import render
from press.extension.search import BookSearch, texts

SEARCH = BookSearch({})


def test_search_splits_chinese_into_characters_and_pairs() -> None:
    assert SEARCH.split("softmax函数, d_k=64") == ["softmax", "函", "数", "函数", "d_k", "64"]
    assert SEARCH.split("注意力") == ["注", "意", "力", "注意", "意力"]


@pytest.mark.parametrize("query", ["softmax", "注意力", "多头注意力 MultiHead", "头", "q·k ω₂"])
def test_the_browser_asks_for_words_that_the_index_has(query: str) -> None:
    engine = MiniRacer()
    engine.eval(BookSearch.js_splitter_code)
    asked = json.loads(str(engine.eval(f"JSON.stringify(splitQuery({json.dumps(query)}))")))
    assert asked
    assert set(asked) <= set(SEARCH.split(query))


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
        ("one", "1. One", "The soft max of x2 a b"),
        ("two", "1.1 Two", "Show x = 苹果"),
    ]
