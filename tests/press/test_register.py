"""The first page lists the chapters as they open."""

import pytest
from bs4 import BeautifulSoup

from tools.chapters import chapters
from tools.common import ROOT


@pytest.mark.usefixtures("book")
def test_the_first_page_has_a_row_for_each_chapter_in_order() -> None:
    page = BeautifulSoup((ROOT / "_build/html/book/index.html").read_text("utf-8"), "html.parser")
    found = [
        (cells[0].text, cells[1].a["href"], cells[1].text, cells[3].text)
        for cells in (row.select("td") for row in page.select("tbody tr"))
        if cells
    ]
    assert found == [
        (str(c.number), f"{c.path.stem}.html", c.short_title, str(c.minutes)) for c in chapters()
    ]
