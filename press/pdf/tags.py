"""Small functions on the tags of the joined pages."""

from bs4 import BeautifulSoup, Tag

from manuscript.common import UserError


def parsed(html: str) -> Tag:
    """The first tag in a piece of HTML."""
    return one(BeautifulSoup(html, "html.parser"), "*")


def one(tag: Tag | None, selector: str) -> Tag:
    """The first match for a selector inside a tag; there has to be one."""
    found = tag and tag.select_one(selector)
    if not found:
        raise UserError(f"no {selector} in {str(tag)[:200]!r}: press/pdf expects one there")
    return found


def inner(tag: Tag) -> str:
    """The HTML inside a tag."""
    return tag.decode_contents().strip()
