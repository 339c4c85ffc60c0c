"""The names of a term and the answers to questions are in the sections that they lead to."""

import json
import re
from functools import cache

from sphinx.search.en import SearchEnglish

from attnbook.language import HAN
from manuscript.chapters import pages
from manuscript.common import ROOT
from press.extension.glossary import ROW, Row
from press.extension.search import COMMON
from tests.project.test_reference_pages import anchor

# names that only the search needs, because the section says them in another form
SEARCHED = {
    *("attention mechanism", "causal tracing", "K-composition", "root mean square normalization"),
    *("weight absorption", "draft tokens", "compressed KV", "sink logit", "gated attention"),
    *("KV cache quantization", "assisted generation", "speculative sampling", "tree attention"),
}
stem = cache(SearchEnglish({}).stem)


@cache
def sections() -> dict[tuple[str, str], str]:
    """The source of each section of a notebook, by its page and its number or its anchor."""
    found: dict[tuple[str, str], str] = {}
    for page in pages():
        cells = json.loads(page.read_text("utf-8"))["cells"] if page.suffix == ".ipynb" else []
        place = page.stem, ""
        for cell in cells:
            for line in "".join(cell["source"]).splitlines():
                heading = re.match(r"#{2,4} (?:(\d+\.\d+) )?(.+)", line)
                if heading and cell["cell_type"] == "markdown":
                    place = page.stem, heading[1] or anchor(heading[2])
                found[place] = found.get(place, "") + f"{line}\n"
    return found


@cache
def stems(text: str) -> list[str]:
    """The stems of a text's words, in order; of names in code, those of their parts."""
    return [stem(word.lower()) for word in re.findall(r"[^\W_]+", text)]


def has(section: str, name: str) -> bool:
    """Whether a section has the words of a name, one after the other."""
    return f" {' '.join(stems(name))} " in f" {' '.join(stems(section))} "


def rows() -> list[Row]:
    """The rows of the glossary."""
    lines = (ROOT / "book" / "notation.md").read_text("utf-8").splitlines()
    return [Row(**match.groupdict(default="")) for match in map(ROW.fullmatch, lines) if match]


def missing(row: Row) -> list[str]:
    """The names of a row that its section lacks, without those in code or in Chinese."""
    section = sections()[row.page, row.number or row.anchor]
    names = [name.strip() for name in re.split("[,()]", f"{row.english}, {row.called}")]
    said = [name for name in names if name and not re.search(f"[`{HAN}]", name)]
    return [name for name in said if name not in SEARCHED and not has(section, name)]


def test_a_term_and_its_other_names_are_in_the_section_that_introduces_it() -> None:
    found = rows()
    assert len(found) > 140
    assert {row.english: missing(row) for row in found if missing(row)} == {}


def entries() -> list[tuple[str, tuple[str, str]]]:
    """Each question with its answer, and the place to which its last link leads."""
    text = (ROOT / "book" / "questions.md").read_text("utf-8")
    found = []
    for entry in re.findall(r"^(\*\*.+\*\*\n\n.+)$", text, re.M):
        number, page = re.findall(r"\[([\d.]+)\]\((\w+)\.ipynb\)", entry)[-1]
        found.append((re.sub(r"\[[^]]*\]\([^)]*\)", "", entry), (page, number)))
    return found


def covered(entry: str, place: tuple[str, str]) -> float:
    """The fraction of an entry's words, without the common ones, that a section has."""
    words = set(stems(entry)) - {stem(word) for word in COMMON}
    return len(words & set(stems(sections()[place]))) / len(words)


def test_a_question_leads_to_a_section_that_has_the_words_of_its_answer() -> None:
    found = entries()
    assert len(found) >= 60
    assert {entry for entry, place in found if covered(entry, place) < 0.5} == set()
    # the limit tells sections apart: with the link of another entry, most entries are below it
    places = [place for _, place in found]
    wrong = [
        covered(entry, other) < 0.5
        for (entry, _), other in zip(found, places[7:] + places[:7], strict=True)
    ]
    assert sum(wrong) > 0.7 * len(wrong)
