"""In a language with a catalog, everything that a reader is told is in that language."""

import gettext
import io
import re
from contextlib import redirect_stdout, suppress

import pytest
from rich.cells import cell_len
from torch import Generator

from attnbook import language
from attnbook.exercises import check, hint
from attnbook.exercises.cards import as_text
from attnbook.exercises.cards.feedback import Feedback
from attnbook.exercises.catalog import ALL
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.terminal import answer_files
from attnbook.exercises.terminal import commands as terminal
from manuscript.messages import library_messages

SENTENCE = re.compile(r"[A-Za-z]+(?:[ ,'’-]+[A-Za-z]+){5,}")  # six words in a row
CODE = re.compile(r"`[^`\n]*`|\w+Error: .*")  # PyTorch's own messages are English
PLACEHOLDER = re.compile(r"\{\w+[^}]*\}")


def said(command, *arguments) -> str:
    """Return what a command prints."""
    with redirect_stdout(io.StringIO()) as printed:
        command(*arguments)
    return " ".join(printed.getvalue().split())


def plain_scores(query, key):
    return query @ key.mT


class Pseudo(gettext.NullTranslations):
    """A catalog that translates each message into its placeholders, and records the message."""

    asked: set[str]

    def gettext(self, message: str) -> str:
        self.asked.add(message)
        return f"译{' '.join(PLACEHOLDER.findall(message))}"

    def ngettext(self, one: str, many: str, n: int) -> str:
        return self.gettext(many)


@pytest.fixture
def pseudo(monkeypatch):
    """Use Pseudo as the catalog, and return the messages that are looked up."""
    catalog = Pseudo()
    catalog.asked = set()
    monkeypatch.setattr(language, "catalog", lambda: catalog)
    return catalog.asked


def english_in(text: str) -> list[str]:
    return SENTENCE.findall(CODE.sub("", text))


def words_of(card: Feedback) -> str:
    """Return what a card says, without the code that it shows."""
    details = [text for text in card.details if not text.startswith(("def ", "class ", "译  "))]
    return "\n".join([card.head, card.message, *details, card.footer])


def test_the_short_texts_of_cards_are_translated_too(pseudo):
    # title, message, "case", its note and "yours"
    assert said(check, plain_scores, "03.scores").startswith("✗ 03.scores 译 译 译 译 译 −0.64")
    assert said(hint, "03.scores") == "· 译03.scores 1 3 译 译2 03.scores"
    wrong = ALL["01.winner"].mistakes[0].wrong
    assert diagnose(ALL["01.winner"], wrong).message == "译4 5\n译译 译"


@pytest.mark.usefixtures("solved_cases")
@pytest.mark.parametrize("name", ALL)
def test_no_sentence_of_an_exercise_stays_english(name, pseudo):
    exercise = ALL[name]
    stub: dict = {}
    exec(f"import torch\nfrom torch import Tensor, nn\n{exercise.stub}", stub)
    common = list(exercise.common_mistakes)
    mistakes = [m.wrong for m in (*exercise.mistakes[:2], *common[:1], *common[-1:])]
    for function in (stub[exercise.name], *mistakes, exercise.reference):
        card = words_of(diagnose(exercise, function))
        assert "译" in card
        assert not english_in(card), card
    card = exercise.card()
    assert not english_in(card), card
    code = "\n".join([exercise.reader_stub(), exercise.solution()])
    assert not english_in(" ".join(re.findall("#.*", code)))


@pytest.mark.parametrize(
    "name", ["list", "progress", "help", "-h", "next -h", "report -h", "examine -h"]
)
def test_no_sentence_of_a_command_stays_english(name, pseudo, capsys):
    with suppress(SystemExit):  # raised by -h
        terminal.main(name.split())
    text = capsys.readouterr().out
    assert "译" in text
    assert not english_in(" ".join(text.split())), text


def test_a_chinese_task_is_wrapped_only_where_chinese_allows_it(monkeypatch):
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh_CN")
    for exercise in ALL.values():
        task, *_code = answer_files.file_content(exercise).partition("\n\n")
        begins = [line.removeprefix("# ")[:1] for line in task.splitlines()]
        assert not re.search(f"[{as_text.CLOSE}]", "".join(begins)), task
        paragraphs = [line for line in task.splitlines() if not line.startswith(("# |", "#   "))]
        assert max(map(cell_len, paragraphs)) <= len("# ") + as_text.MAX_WIDTH, task
        assert as_text.BREAK not in task


def test_every_message_is_collected(pseudo):
    """Translators are given every message that the exercises look up in the catalog."""
    for exercise in ALL.values():
        exercise.card()
        cases = exercise.cases(Generator().manual_seed(0))
        pseudo |= {case.note for case in cases if re.match("(a|the|one|two) \\w\\w", case.note)}
        for mistake in exercise.mistakes:
            assert mistake.told
    said(terminal.main, ["list"])
    asked = {message for message in pseudo if "译" not in message}
    asked -= {"subcommands"}  # argparse in Python 3.13 looks up its default even if it has a title
    given = {m.id for m in library_messages()}
    assert asked <= given, asked - given
