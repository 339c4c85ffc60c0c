"""The search index: English words by their stem, and Chinese by pairs of characters.

Chinese is written without spaces. A dictionary would have to know where its words end, and a word
it does not know would never be found; so the index holds every character and every two
neighbours, and a query of more than one character asks for all its pairs. It is the standard way
to find any term, known or not, and it needs nothing but these few lines on either side.
"""

import re
from itertools import pairwise

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

HAN = r"\u3400-\u9fff"  # the blocks of Chinese characters in common use


class BookSearch(SearchEnglish):
    """Sphinx's English search, with a splitter that knows Chinese characters."""

    _pieces = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")

    # The same splitter for what the reader types; Sphinx copies it into every search page.
    js_splitter_code = rf"""
var splitQuery = (query) =>
  (query.match(/[{HAN}]+|(?:(?![{HAN}])[\p{{Letter}}\p{{Number}}_])+/gu) || []).flatMap((piece) =>
    /[{HAN}]/.test(piece) && piece.length > 1
      ? [...piece].slice(1).map((character, i) => piece[i] + character)
      : [piece]);
"""

    def split(self, text: str) -> list[str]:
        """The words, single characters and pairs of characters of a text."""
        words = []
        for piece in self._pieces.findall(text):
            if re.match(f"[{HAN}]", piece):
                words += [*piece, *(a + b for a, b in pairwise(piece))]
            else:
                words.append(piece)
        return words


def setup(app: Sphinx) -> None:
    """Replace Sphinx's English search by ours."""
    app.add_search_language(BookSearch)
