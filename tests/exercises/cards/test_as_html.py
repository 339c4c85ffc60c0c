"""Cards as HTML."""

from attnbook.exercises.cards.as_html import card_as_html
from attnbook.exercises.cards.feedback import Feedback
from attnbook.exercises.checker.diagnose import diagnose
from tests.exercises.checker.example import TRY


def test_a_notebooks_card_shows_code_as_text():
    card = card_as_html(diagnose(TRY, lambda q, k: q < k))
    assert 'role="status"' in card
    assert "q &lt; k" in card
    assert "<br>" in card_as_html(Feedback("failed", "x", "one\ntwo"))
    assert "<code>a &lt; b</code>" in card_as_html(Feedback("info", "x", "see `a < b`"))
    stars = card_as_html(Feedback("info", "x", "`a * b * c` is *not* 2 * 3 * 4，是*之前*的"))
    assert "<code>a * b * c</code> is <em>not</em> 2 * 3 * 4，是<em>之前</em>的" in stars
