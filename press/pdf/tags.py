"""Small functions on the tags of the joined pages, which lxml joins faster than Beautiful Soup."""

import html

from lxml.html import HtmlElement, fragment_fromstring, tostring

from manuscript.common import UserError


def parsed(text: str) -> HtmlElement:
    """The tag that a piece of HTML consists of."""
    return fragment_fromstring(text)


def one(tag: HtmlElement, path: str) -> HtmlElement:
    """The first match for an XPath inside a tag; there has to be one."""
    found = tag.xpath(path)
    if not found:
        text = tostring(tag, encoding="unicode", with_tail=False)
        raise UserError(f"no {path} in {text[:200]!r}: press/pdf expects one there")
    return found[0]


def of_class(name: str) -> str:
    """The XPath of the elements inside a tag that have a class."""
    return f".//*[contains(concat(' ', @class, ' '), ' {name} ')]"


def inner(tag: HtmlElement) -> str:
    """The HTML inside a tag."""
    inside = (tostring(child, encoding="unicode") for child in tag)
    return (html.escape(tag.text or "", quote=False) + "".join(inside)).strip()


def put_after(tag: HtmlElement, new: HtmlElement) -> None:
    """Put a new tag right after another, before the text that follows."""
    new.tail, tag.tail = tag.tail, None
    tag.addnext(new)


def replace(tag: HtmlElement, new: HtmlElement) -> None:
    """Put a new tag in the place of another."""
    put_after(tag, new)
    tag.drop_tree()
