"""Move folded answers to the end of the book, so that nobody sees them by accident."""

from itertools import takewhile

from bs4 import Tag

from attnbook.language import _
from press.pdf.page_numbers import page_number
from press.pdf.tags import inner, one, parsed


def unfold(article: Tag, rounds: dict[str, Tag]) -> None:
    """Move folded answers and solutions to the end of the book, with links in both directions."""
    title, begun = one(article, "h1"), set[str]()
    for fold in article.select("details.code"):
        one(fold, "summary").decompose()
    for card in article.select("details.card"):
        heading = one(card, "summary")
        heading.replace_with(parsed(f"<p><strong>{inner(heading)}</strong></p>"))
    for wrapped in article.select(".hints, details.code, details.card"):
        wrapped.unwrap()
    for number, asked in enumerate(article.select("p.predict, div.exercise"), 1):
        asked["id"] = f"{title['id']}--{number}"
        heading = asked.select_one(".admonition-title") or one(
            asked.find_parent("section"), "h2, h3"
        )
        question = f'<p class="asked">{inner(asked)}</p>' if asked.name == "p" else ""
        cell = asked.find_next_sibling() if asked.name == "div" else None
        choices, told, turns = "", dict[str, str](), []
        following = (cell or asked).find_next_siblings()
        for details in takewhile(lambda tag: tag.name == "details", following):
            kind, summary = details["class"][-1], inner(one(details, "summary").extract())
            mark = " ✓" if "right" in details["class"] else ""
            text = f"<li><strong>{summary}{mark}</strong> {inner(details.extract())}</li>"
            told[kind] = told.get(kind, "") + text
            choices += f"<li>{summary}</li>"
        for kind, texts in told.items():
            part, target = rounds[kind], f"{asked['id']}--{kind}"
            if kind not in begun:
                part.append(parsed(f"<h3>{inner(title)}</h3>"))
                begun.add(kind)
            where = _("{heading}, page {page}").format(
                heading=inner(heading), page=page_number(asked["id"])
            )
            where = f'<p class="where" id="{target}">{where}</p>'
            part.append(parsed(f'<div class="told">{where}{question}<ul>{texts}</ul></div>'))
            turn_to = _("{part}: page {page}")
            turns.append(turn_to.format(part=part["data-turn"], page=page_number(target)))
        turn = f'<p class="turn">{" · ".join(turns)}</p>'
        if cell:
            one(cell, ".cell_output").replace_with(parsed(turn))
        elif choices:
            asked.insert_after(parsed(f'<div class="choices"><ul>{choices}</ul>{turn}</div>'))
