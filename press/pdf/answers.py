"""Move folded answers to the end of the book, so that nobody sees them by accident."""

from itertools import takewhile

from lxml.html import HtmlElement

from attnbook.language import _
from press.pdf.page_numbers import page_number
from press.pdf.tags import inner, of_class, one, parsed, put_after, replace

ABOVE = "ancestor::section[1]//*[self::h2 or self::h3]"  # the headings of the section around it


def unfold(article: HtmlElement, rounds: dict[str, HtmlElement]) -> None:
    """Move folded answers and solutions to the end of the book, with links in both directions."""
    title, begun = one(article, ".//h1"), set[str]()
    for fold in list(article.iter("details")):
        if "code" in fold.classes:
            one(fold, ".//summary").drop_tree()
        if "card" in fold.classes:
            heading = one(fold, ".//summary")
            replace(heading, parsed(f"<p><strong>{inner(heading)}</strong></p>"))
        if "code" in fold.classes or "card" in fold.classes:
            fold.drop_tag()
    for hints in article.find_class("hints"):
        hints.drop_tag()
    asking = {"p": "predict", "div": "exercise"}
    questions = [tag for tag in article.iter(*asking) if asking[tag.tag] in tag.classes]
    for number, asked in enumerate(questions, 1):
        if "id" not in asked.attrib:  # links lead to the id of an exercise
            asked.set("id", f"{title.get('id')}--{number}")
        headings = asked.find_class("admonition-title") or asked.xpath(ABOVE)
        heading = inner(headings[0])
        question = f'<p class="asked">{inner(asked)}</p>' if asked.tag == "p" else ""
        cell = asked.getnext() if asked.tag == "div" else None
        choices, told, turns = "", dict[str, str](), []
        following = (asked if cell is None else cell).itersiblings()
        for details in list(takewhile(lambda tag: tag.tag == "details", following)):
            folded = one(details, ".//summary")
            kind, summary = details.get("class").split()[-1], inner(folded)
            folded.drop_tree()
            mark = " ✓" if "right" in details.classes else ""
            text = f"<li><strong>{summary}{mark}</strong> {inner(details)}</li>"
            details.drop_tree()
            told[kind] = told.get(kind, "") + text
            choices += f"<li>{summary}</li>"
        for kind, texts in told.items():
            part, target = rounds[kind], f"{asked.get('id')}--{kind}"
            if kind not in begun:
                part.append(parsed(f"<h3>{inner(title)}</h3>"))
                begun.add(kind)
            where = _("{heading}, page {page}").format(
                heading=heading, page=page_number(asked.get("id"))
            )
            where = f'<p class="where" id="{target}">{where}</p>'
            part.append(parsed(f'<div class="told">{where}{question}<ul>{texts}</ul></div>'))
            turn_to = _("{part}: page {page}")
            turns.append(turn_to.format(part=part.get("data-turn"), page=page_number(target)))
        turn = f'<p class="turn">{" · ".join(turns)}</p>'
        if cell is not None:
            replace(one(cell, of_class("cell_output")), parsed(turn))
        elif choices:
            put_after(asked, parsed(f'<div class="choices"><ul>{choices}</ul>{turn}</div>'))
