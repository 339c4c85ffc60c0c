"""Update the catalogs of a translation, and write the book in its language.

    make messages                     after a change to English sentences: update all catalogs
    make book LANGUAGE=zh_CN          write the translated book into _build/zh_CN, and build it

translations/zh_CN has a catalog for each page, comments.po for the comments in the pages' code
and in the code that they show, and attnbook.po for the library, the exercises and the words around
the pages. A message whose English has changed is marked as fuzzy, and stays in English in the book
until somebody has reviewed it. Outputs that are not code stay in English; outputs.txt explains the
words in some of them, in a line below.
"""

import argparse
import html
import json
import re
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml
from babel.messages import Catalog
from babel.messages.pofile import read_po, unescape, write_po
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from attnbook.language import _, named
from attnbook.language import _ as in_edition
from manuscript import labels, markers
from manuscript.cells import exercises_of, write_exercises
from manuscript.chapters import pages
from manuscript.comments import translated_block, translated_code
from manuscript.common import ROOT, UserError, can_write, run_tool
from manuscript.edition import ENDING, LANGUAGE, SOURCE, TRANSLATIONS
from manuscript.messages import (
    IN_FORMULA,
    Line,
    code_cells,
    comment_messages,
    library_messages,
    lines_of,
    page_messages,
    read_page,
    shown_source,
)
from manuscript.normal_form import NOT_INSTALLED, describe_pictures, text_of, write_minutes
from setup import compile_catalogs


def main(arguments: list[str] | None = None) -> int:
    """Update the catalogs, or write the translated book."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["update", "write"])
    options = parser.parse_args(arguments)
    if options.what == "write":
        if can_write(SOURCE) or not SOURCE.exists():  # a read-only installation has it written
            write_book(SOURCE)
        return 0
    for folder in sorted(TRANSLATIONS.iterdir()):
        update(folder)
    compile_catalogs()
    return 0


# --- catalogs -----------------------------------------------------------------------------------


def update(folder: Path) -> None:
    """Bring the catalogs of a language up to date."""
    for name, template in current().items():
        path = folder / f"{name}.po"
        catalog = read(path)
        translated_from = {m.id: m.previous_id for m in catalog if m.previous_id}
        catalog.update(template, keep_user_comments=True, update_creation_date=False)
        for message in catalog:  # Babel forgets what a fuzzy message was translated from
            before = message.previous_id[0] if message.previous_id else message.id
            message.previous_id = translated_from.get(before, message.previous_id)
        content = BytesIO()
        write_po(content, catalog, width=0, ignore_obsolete=True, include_previous=True)
        path.write_bytes(content.getvalue())
        untranslated = sum(not m.string or m.fuzzy for m in catalog if m.id)
        print(f"{folder.name}/{path.name}: {len(catalog)} messages, {untranslated} to translate")


def current() -> dict[str, Catalog]:
    """Return the messages as they are now, by the name of their catalog."""
    catalogs = {path.stem: page_messages(path) for path in pages()}
    return catalogs | {"comments": comment_messages(), "attnbook": library_messages()}


def read(path: Path) -> Catalog:
    """Read a catalog; one that does not exist is empty."""
    if path.exists():
        with path.open("rb") as file:
            catalog = read_po(file, locale=path.parent.name)
        for message in catalog:  # Babel takes the earlier English, after #|, for a comment
            earlier = [c[1:] for c in message.user_comments if c.startswith("|")]
            message.user_comments = [c for c in message.user_comments if not c.startswith("|")]
            strings = STRING.findall(" ".join(line.strip() for line in earlier))
            if strings and message.fuzzy:
                message.previous_id = ["".join(map(unescape, strings))]
        return catalog
    return Catalog(
        locale=path.parent.name, project="The attention book", charset="utf-8", fuzzy=False
    )


STRING = re.compile(r'"(?:[^"\\]|\\.)*"')  # with its quotation marks


# --- the translated book ------------------------------------------------------------------------


def write_book(folder: Path) -> None:
    """Write the translated book, with everything that is needed to build it.

    Raises:  UserError if there is no translation
    """
    catalogs = TRANSLATIONS / LANGUAGE
    if not catalogs.is_dir():
        known = ", ".join(sorted(path.name for path in TRANSLATIONS.iterdir()))
        raise UserError(f"there is no translation for LANGUAGE={LANGUAGE}, only for {known}")
    (folder / "book").mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "book" / "images", folder / "book" / "images", dirs_exist_ok=True)
    headings = {}
    comments = read(catalogs / "comments.po")
    for path in pages():
        catalog = read(catalogs / f"{path.stem}.po")
        text, headings[path.stem] = translated(path, catalog, comments)
        write_if_changed(folder / "book" / path.name, text)
    write_if_changed(folder / "headings.json", json.dumps(headings, ensure_ascii=False, indent=1))
    write_if_changed(folder / "_config.yml", settings())
    write_if_changed(folder / "_toc.yml", contents())


def translated(path: Path, catalog: Catalog, comments: Catalog) -> tuple[str, dict[str, str]]:
    """Return a page in the language of the edition, and its headings with the English ones."""
    page, texts = read_page(path)
    headings: dict[str, str] = {}

    def comment(text: str) -> str:
        return translation(text, comments)

    for _place, holder, key in texts:
        english = holder[key]
        lines = (translated_line(line, catalog) for line in lines_of(english))
        holder[key] = "".join(translated_block(line, comment) for line in lines)
        before, after = (HEADING.findall(text) for text in (english, holder[key]))
        headings |= zip(after, before, strict=True)
    if path.suffix == ".md":
        return DOWNLOAD.sub(rf"\g<0>{ENDING}", page["text"]), headings
    for _cell, data in labels.figures(page):
        data[labels.SVG] = labels.translated(data[labels.SVG])

    def with_comments(code: str) -> str:
        return translated_code(code, comment)

    for cell in code_cells(page):
        cell.source = with_comments(cell.source).replace(NOT_INSTALLED, in_edition(NOT_INSTALLED))
        for data in shown_source(cell):
            code = with_comments(data["text/plain"])
            data["text/markdown"] = data["text/markdown"].replace(data["text/plain"], code)
            data["text/plain"] = code
        for output in cell.get("outputs", []):
            if "<attn-" in (shown := output.get("data", {}).get("text/html", "")):
                output.data["text/html"] = translated_figure(shown)
    write_exercises(page, exercises_of(path))
    describe_pictures(page)
    write_minutes(path, page)
    # last, so that these words do not count as reading time
    explain_outputs(page, explained(TRANSLATIONS / LANGUAGE, path.stem))
    return text_of(page), headings


def output_lines(folder: Path) -> list[str]:
    """The lines of a language's outputs.txt, if it has this file."""
    file = folder / "outputs.txt"
    return file.read_text("utf-8").splitlines() if file.exists() else []


def explained(folder: Path, page: str) -> dict[str, str]:
    """Return what the words in a page's outputs mean, by the ids of the cells.

    A line of outputs.txt is `page#cell: ` and the explanation, with each printed word as code.
    """
    found = (line.partition(": ") for line in output_lines(folder))
    return {
        where.removeprefix(f"{page}#"): explanation
        for where, _colon, explanation in found
        if where.startswith(f"{page}#")
    }


def explain_outputs(notebook: NotebookNode, explanations: dict[str, str]) -> None:
    """Put each explanation below the output of its cell, and below a caption that follows."""
    cells: list[NotebookNode] = []
    waiting: list[NotebookNode] = []
    for cell in notebook.cells:
        if "caption" not in cell.metadata.get("tags", []):
            cells += waiting
            waiting = []
        cells.append(cell)
        if cell.id in explanations:
            words = _("Words in this output: {words}.").format(words=explanations[cell.id])
            hidden = {"tags": ["answer"]} if "answer" in cell.metadata.get("tags", []) else {}
            waiting = [new_markdown_cell(words, id=f"words-{cell.id}", metadata=hidden)]
    notebook.cells = cells + waiting


HEADING = re.compile(r"^#+ (.+)$", re.M)
DOWNLOAD = re.compile(r"/attention-book(-html)?(?=\.(pdf|zip)[)`])")  # in a link, or as code


def translated_line(line: Line, catalog: Catalog) -> str:
    """Return a line of a page in the language of the edition, or in English if untranslated."""
    before = IN_FORMULA.sub(lambda words: translation(words[0], catalog), line.before)
    text = translation(line.message, catalog) if line.message else ""
    return f"{MARK.sub(translated_mark, before)}{text}{MARK.sub(translated_mark, line.after)}"


def translation(text: str, catalog: Catalog) -> str:
    """Return the translation of a message, or the English if there is none that was reviewed."""
    message = catalog.get(text)
    return str(message.string) if message and message.string and not message.fuzzy else text


MARK = re.compile(
    rf"\*\*(?P<label>{'|'.join(markers.OPENING)}):\*\*"
    rf"|\*\*(?P<predict>{re.escape(markers.PREDICT)})\*\*"
    rf"| \({markers.SECOND_READING}\)"
)


def translated_mark(match: re.Match[str]) -> str:
    """Return a mark in the language of the edition."""
    if match["label"]:
        return markers.label(match["label"])
    return f"**{in_edition(markers.PREDICT)}**" if match["predict"] else markers.second_reading()


def translated_figure(page: str) -> str:
    """Return an interactive figure with its words in the language of the edition.

    The words are in its data, under "words" and as names, and in the table shown in print.
    """

    def with_words(match: re.Match[str]) -> str:
        data = named(json.loads(html.unescape(match[1])))
        data["words"] = translated_words(data["words"])
        packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        return f'data="{html.escape(packed)}"'

    page = re.sub(r'(?<= )data="([^"]*)"', with_words, page, count=1)
    shown = r"(?<=<th>)[^<]+|(?<=<td>)[^<]+|(?<=<p>)[^<]+"
    return re.sub(shown, lambda th: html.escape(in_edition(html.unescape(th[0]))), page)


def translated_words(words: Any) -> Any:
    """Return words, or lists and dictionaries of words, in the language of the edition."""
    if isinstance(words, dict):
        return {key: translated_words(value) for key, value in words.items()}
    if isinstance(words, list):
        return [translated_words(value) for value in words]
    return in_edition(words) if isinstance(words, str) and words else words


def settings() -> str:
    """The settings of the translated book, as the text of its _config.yml."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    sphinx = config["sphinx"]
    above = Path("..", "..")
    config["title"], config["author"] = in_edition(config["title"]), in_edition(config["author"])
    sphinx["local_extensions"] = {"press.extension": str(above)}
    sphinx["config"] |= {
        "language": LANGUAGE,
        "html_search_language": "en",  # the book's own search, which finds Chinese
        "templates_path": [str(above / path) for path in sphinx["config"]["templates_path"]],
        "html_static_path": [str(above / path) for path in sphinx["config"]["html_static_path"]],
    }
    sphinx["config"]["html_theme_options"]["search_bar_text"] = in_edition("Search")
    description = sphinx["config"]["html_context"]["description"]
    sphinx["config"]["html_context"]["description"] = in_edition(description)
    return yaml.safe_dump(config, allow_unicode=True, sort_keys=False)


def contents() -> str:
    """The table of contents of the translated book, as the text of its _toc.yml."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    for part in toc["parts"]:
        part["caption"] = in_edition(part["caption"])
    return yaml.safe_dump(toc, allow_unicode=True, sort_keys=False)


def write_if_changed(path: Path, text: str) -> None:
    """Write a file unless it already has this text, so that only changed pages are built again."""
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    run_tool(main)
