"""Check a translation: `make check-zh`.

Every message has to be translated, none may be fuzzy, and each translation must keep what a reader
runs or clicks: code, formulas (but not the words in them), links, placeholders, numbers, and the
cells of a table, except those with pinyin. Quotation marks after Chinese are curly. Terms have to
be translated as in the glossary (book/notation.md), or with one of the other words that
translations/*/terms.txt accepts. The words that outputs.txt explains have to be in the outputs.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from babel.messages import Message
from markdown_it import MarkdownIt

from attnbook.language import HAN
from manuscript.chapters import pages
from manuscript.common import ROOT, counted, run_tool
from manuscript.edition import TRANSLATIONS
from manuscript.messages import is_label, read_page
from tools.translate import current, explained, output_lines, read

KEPT = {  # a translation must have these as often as the original
    "code": re.compile(r"`+[^`]+`+"),
    "formulas": re.compile(r"\$\$?[^$]+\$\$?"),
    "addresses of links": re.compile(r"\]\(([^)]*)\)"),
    "placeholders": re.compile(r"\{\w*(?:[:!][^{}]*)?\}"),
    "tags": re.compile(r"</?[a-z]+[^>]*>"),
}
WORDS = re.compile(r"(?<=\\text\{)[^{}]*")  # in a formula
STRAIGHT = re.compile(r'(^|.)"[^"]*"', re.S)  # with the character before it
CHINESE = re.compile(rf"[{HAN}，。：；、？！（）《》“”]")
HALF_WIDTH = re.compile(rf"[{HAN}][,.;:?!](?![A-Za-z0-9./])|[{HAN}]\(|\)[{HAN}]")
CODE = re.compile(r"<code.*?</code>", re.S)
LARGE = re.compile(r"\d[\d.,]* (?:million|billion)")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
GLOSSARY_ROW = re.compile(r"^\| ([^|]+) \| ([^|*]+?)(?: \*[^|*]+\*)? \| [^|]*\| \[", re.M)
QUOTED = re.compile(rf"“[^”]*”|《[^》]*》|\*[^*]*\*|^\|.*[{HAN}].*$", re.M)  # or a table row
PINYIN_ROW = re.compile(rf"^\|(?=.*[āáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜ])[^{HAN}\n]*\|$", re.M)
ENGLISH = re.compile(r"[A-Za-z]+(?:[ ,'’-]+[A-Za-z]+){5,}")  # six words in a row
markdown = MarkdownIt("commonmark").enable("table")


def main() -> int:
    """Check all catalogs of each language; return 1 if there are complaints."""
    found = [line for folder in sorted(TRANSLATIONS.iterdir()) for line in complaints(folder)]
    print(*found, sep="\n", file=sys.stderr)
    print(f"{counted(len(found), 'complaint')} about translations")
    return 1 if found else 0


def complaints(folder: Path) -> Iterator[str]:
    """What is wrong with the catalogs of a language."""
    known: dict[object, object] = {}
    for name, template in current().items():
        path = folder / f"{name}.po"
        catalog = read(path)
        for wanted in template:
            message = catalog.get(wanted.id)
            where = f"{path.relative_to(ROOT)}: {str(wanted.id)[:60]!r}"
            if wanted.id and not (message and message.string):
                yield f"{where} is not translated"
            elif wanted.id and message and message.fuzzy:
                yield f"{where} has changed: review its translation and remove the word fuzzy"
        for message in catalog:
            if message.id and message.string and not message.fuzzy:
                titles = name == "bibliography"  # titles stay as they are
                for complaint in message_complaints(message, folder, titles):
                    yield f"{path.relative_to(ROOT)}: {str(message.id)[:60]!r} {complaint}"
                other = known.setdefault(message.id, message.string)
                if str(other) != str(message.string):
                    where = f"{path.relative_to(ROOT)}: {str(message.id)[:60]!r}"
                    yield f"{where} is {message.string!r} here, and {other!r} elsewhere"
    yield from output_complaints(folder)


def output_complaints(folder: Path) -> Iterator[str]:
    """Name lines of outputs.txt without a page, and words that their cell does not print."""
    stems = {path.stem for path in pages()}
    for line in output_lines(folder):
        if line.partition("#")[0] not in stems:
            yield f"outputs.txt: {line!r} does not begin with a page and a cell"
    for path in pages():
        explanations = explained(folder, path.stem)
        if not explanations:
            continue
        printed = {cell.id: str(cell.get("outputs")) for cell in read_page(path)[0].cells}
        for cell, explanation in explanations.items():
            words = re.findall("`([^`]+)`", explanation)
            if lost := [word for word in words if word not in printed.get(cell, "")]:
                yield f"outputs.txt: {path.stem}#{cell} does not print {lost}"


def message_complaints(message: Message, folder: Path, titles: bool = False) -> Iterator[str]:
    """What is wrong with one translation, or with one of its plural forms."""
    forms = message.string if isinstance(message.string, (tuple, list)) else [message.string]
    english = message.id if isinstance(message.id, str) else message.id[-1]
    for form in forms:
        yield from kept_complaints(english, str(form))
        if is_label(message) and english.count("\n") != str(form).count("\n"):
            yield "has a different number of lines"
        if not titles:
            yield from language_complaints(english, str(form), folder)
        if {where for where, _line in message.locations} != {"commands"}:  # on a page
            yield from quote_complaints(str(form))


def quote_complaints(translation: str) -> Iterator[str]:
    """Name straight quotation marks that a page would turn into closing ones.

    Sphinx makes an opening one only after a space, and Chinese has none.
    """
    for quoted in STRAIGHT.finditer(plain(translation)):
        if CHINESE.fullmatch(quoted[1]):
            yield f"has a straight quotation mark after Chinese: {quoted[0]!r}"


def kept_complaints(english: str, translation: str) -> Iterator[str]:
    """Describe what a translation has lost or changed."""
    for what, pattern in KEPT.items():
        texts = [english, translation]
        if what == "formulas":
            texts = [WORDS.sub("", text) for text in texts]
        if what == "placeholders":
            texts = [KEPT["formulas"].sub("", text) for text in texts]
        wanted, got = (Counter(pattern.findall(text)) for text in texts)
        if wanted != got:
            yield f"has different {what}: lacks {[*(wanted - got)]}, adds {[*(got - wanted)]}"
    words, translated_words = plain(english), plain(translation)
    if re.search("[万亿]", translation):
        words = LARGE.sub(" ", words)
    if numbers := {*NUMBER.findall(words)} - {*NUMBER.findall(translated_words)}:
        yield f"lacks the numbers {[*numbers]}"
    cells = PINYIN_ROW.sub("", english).count("|")
    if "| Chinese | pinyin |" in english:
        cells -= len(re.findall(r"^\|", english, re.M))  # a column less
    if cells != translation.count("|"):
        yield "has a different number of table cells"
    if "**" in CODE.sub("", markdown.render(translation)):
        yield "has ** that do not make text bold: put punctuation outside of them"


def language_complaints(english: str, translation: str, folder: Path) -> Iterator[str]:
    """Name what is not in Chinese, and terms that are not translated as in the glossary."""
    words, translated_words = plain(english), plain(translation)
    if half := HALF_WIDTH.search(translated_words):
        yield f"has half-width punctuation next to Chinese: {half[0]!r}"
    if left := ENGLISH.search(QUOTED.sub(" ", translated_words)):
        yield f"has English words: {left[0]!r}"
    for term, accepted in terms(folder).items():
        asked = re.search(rf"\b{re.escape(term)}s?\b", words, re.I)
        if asked and not any(word.lower() in translation.lower() for word in accepted):
            yield f"does not translate {term!r} as {' or '.join(accepted)}"


def plain(text: str) -> str:
    """A text without its ids, code, formulas, tags and link addresses."""
    text = re.sub(r"\b\d\d\.[a-z]\w+", " ", text)  # the id of an exercise
    for pattern in (KEPT["code"], KEPT["formulas"], re.compile(r"\]\([^)]*\)"), KEPT["tags"]):
        text = pattern.sub("]" if pattern.pattern.startswith(r"\]") else " ", text)
    return text


@cache
def terms(folder: Path) -> dict[str, tuple[str, ...]]:
    """The terms of the glossary, each with the words that may translate it.

    In terms.txt, a line adds words to a term; a line that begins with a minus sign removes a term
    that is also a common word.
    """
    found: dict[str, tuple[str, ...]] = {}
    for english, chinese in GLOSSARY_ROW.findall((ROOT / "book/notation.md").read_text("utf-8")):
        for name in english.split(", "):
            found[re.sub(r" \(.*", "", name)] = (chinese,)
    for line in (folder / "terms.txt").read_text("utf-8").splitlines():
        english, _, others = line.partition(": ")
        if english.startswith("-"):
            found.pop(english[1:].strip(), None)
        elif others:
            found[english] = (*found.get(english, ()), *others.split("、"))
    return found


if __name__ == "__main__":
    run_tool(main)
