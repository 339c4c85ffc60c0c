"""Exercises answered on the page: the messages match the checker's for the same answers.

The checker gets the answers as a reader would type them: in a function that returns them.
"""

import inspect
import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from attnbook.exercises.catalog import ALL
from attnbook.exercises.checker.diagnose import diagnose
from attnbook.exercises.checker.trial import solve_cases
from attnbook.exercises.exercise import Exercise
from manuscript.chapters import chapters
from tests.support.complete import FAINT
from tests.support.pages import AXE, COLORS, FOLDER, HTML, STRIP, THEMES, tree, window

pytestmark = pytest.mark.usefixtures("book")

Answers = dict[str, Any]  # by question; None if it is unanswered
PAGE = {f"{chapter.number:02}": f"book/{chapter.path.stem}.html" for chapter in chapters()}
BUILT = {id: exercise for id, exercise in ALL.items() if id[:2] in PAGE}  # no drafts
UNLISTED = 77, -0.25  # numbers that no mistake gives
USED = ["01.winner", "02.gradient", "04.shapes"]  # answered with words, numbers, shapes


def data_of(exercise: Exercise) -> dict[str, Any]:
    """Return the page's data for an exercise; it is empty if the exercise is not answered there."""
    page = tree(HTML / PAGE[exercise.id[:2]])
    for packed in page.xpath("//*[contains(@class, 'exercise')]/attn-choice/@data"):
        data: dict[str, Any] = json.loads(packed)
        if data["id"] == exercise.id:
            return data
    return {}


def on_the_page(data: dict[str, Any], exercise: Exercise, answers: Answers) -> str:
    """Return the messages that the page should give for these answers, in the checker's form."""
    notes = {q.case.arguments[0]: q.case.note for q in reversed(solve_cases(exercise, 0))}
    told: dict[str, list[str]] = {}  # each message with its questions
    for question in data["questions"]:
        answer, known = answers[question["asks"]], dict(question["answers"])
        other = question.get("other", "").replace("{got}", str(answer))
        if says := data["open"] if answer is None else known.get(answer, other):
            told.setdefault(says, []).append(notes[question["asks"]])
    n_wrong = sum(map(len, told.values()))
    lines = [f"{', '.join(of)}: {says}" for says, of in told.items()]
    return "\n".join([data["says"][len(answers) - n_wrong], *lines])


def from_the_checker(exercise: Exercise, answers: Answers) -> str:
    """Return the checker's messages for a function that returns these answers."""
    _, *names = inspect.signature(exercise.reference).parameters

    def answered(asked: str, *sizes: int) -> Any:
        answer = answers[asked]
        if not str(answer).startswith("("):
            return answer
        items = answer[1:-1].replace("·", "*").split(", ")
        known = dict(zip(names, sizes, strict=True))
        return tuple(eval(item, {}, known) if known else item for item in items)

    return diagnose(exercise, answered).message


@pytest.mark.parametrize("exercise", BUILT.values(), ids=BUILT)
def test_each_answer_gets_the_checkers_message(exercise: Exercise) -> None:
    data = data_of(exercise)
    if not data:  # it is answered in code, and the page says how
        assert exercise.code or callable(solve_cases(exercise, 0)[0].case.arguments[0])
        card = f"//*[contains(@class, 'exercise')][contains(., '{exercise.id}:')]"
        links = f"{card}//*[contains(@class, 'to-run')]/a/@href"
        assert tree(HTML / PAGE[exercise.id[:2]]).xpath(links) == ["how_to_use.html#run"]
        return
    offered = {
        question["asks"]: [
            *(answer for answer, _ in question["answers"]),
            *(UNLISTED if "other" in question else ()),
            None,
        ]
        for question in data["questions"]
    }
    for turn in range(max(map(len, offered.values()))):  # try each answer, combined with others
        answers = {
            asked: found[(place + turn) % len(found)]
            for place, (asked, found) in enumerate(offered.items())
        }
        assert on_the_page(data, exercise, answers) == from_the_checker(exercise, answers)
    right = picked(data, right=True)
    assert on_the_page(data, exercise, right) == from_the_checker(exercise, right)


def picked(data: dict[str, Any], right: bool) -> Answers:
    """Return the right answer to each question, or the first wrong one."""
    return {
        question["asks"]: next(
            answer for answer, says in question["answers"] if right != bool(says)
        )
        for question in data["questions"]
    }


# --- used as a reader would use them -------------------------------------------------------------


def opened(page: Page, exercise: str, base: str = FOLDER) -> Locator:
    """Open the page of an exercise; return its questions."""
    page.goto(base + PAGE[exercise[:2]])
    return page.locator(f"attn-choice[data*='\"{exercise}\"']")


def radio(row: Locator, answer: str) -> Locator:
    """Return the button of an answer, whose name is the answer and perhaps a text after it."""
    return row.get_by_role("radio", name=re.compile(rf"^{re.escape(answer)}(?!\S)"))


def choose(element: Locator, answers: Answers) -> None:
    """Give the answers, and check them."""
    for row, answer in zip(element.locator("fieldset").all(), answers.values(), strict=True):
        if isinstance(answer, str):
            radio(row, answer).check()
        else:
            row.locator("input").fill(str(answer))
    element.get_by_role("button", name="Check").click()


def plain(says: str) -> str:
    """Return a text as it is shown, without the markup for code and emphasis."""
    return re.sub(r"`([^`]+)`|\*([^*]+)\*", r"\1\2", says)


def chosen(element: Locator) -> list[str]:
    """Return the text in the fields, or on the buttons that are pressed."""
    return element.evaluate(
        """element => [...element.shadowRoot.querySelectorAll("[type=number], :checked")]
        .map((input) => input.type === "number" ? input.value : input.nextSibling.innerText)
        .filter(Boolean)"""
    )


@pytest.mark.parametrize("id", USED)
def test_from_the_first_wrong_answer_to_forgetting(page: Page, server: str, id: str) -> None:
    # From a server: on file:// pages, a busy Chromium loses what is stored just before a reload.
    exercise, element = ALL[id], opened(page, id, server)
    data, forget = data_of(exercise), element.get_by_role("button", name="Forget")
    stub = page.locator(f".cell:has-text('check({exercise.name}, \"{id}\")')")
    assert not stub.is_visible()
    wrong, right = picked(data, right=False), picked(data, right=True)
    choose(element, wrong)
    first, *lines = from_the_checker(exercise, wrong).split("\n")
    expect(element.locator(".said")).to_have_text(first)
    expect(element.locator(".heard")).to_have_text(first)  # and is announced
    said = [row.locator(".says").inner_text() for row in element.locator("fieldset").all()]
    assert list(dict.fromkeys(said)) == [plain(line).partition(": ")[2] for line in lines]
    assert not forget.is_visible()

    choose(element, right)
    insight = plain(from_the_checker(exercise, right))
    solved = f"✓ Solved.\n{insight}"
    assert element.locator(".said").inner_text() == solved
    page.reload()
    expect(element.locator(".said")).to_have_text(solved)
    assert chosen(element) == [str(answer) for answer in right.values()]
    assert page.locator("attn-choice").get_by_text("Solved.").count() == 1  # no other one is solved

    forget.click()
    assert chosen(element) == []
    page.reload()
    assert chosen(element) == []
    assert element.locator(".said").inner_text() == ""
    assert not forget.is_visible()


def test_by_keys(page: Page) -> None:
    element = opened(page, "01.experiment")
    element.locator("input").first.focus()
    for _ in range(5):
        page.keyboard.press("Space")  # A
        page.keyboard.press("ArrowRight")  # B
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the button
    assert chosen(element) == ["B"] * 5
    answers = dict.fromkeys(picked(data_of(ALL["01.experiment"]), right=True), "B")
    first = from_the_checker(ALL["01.experiment"], answers).split("\n")[0]
    assert element.locator(".said").inner_text() == first
    # a changed answer is no longer called right or wrong, and its message is removed
    marked = element.locator(".right, .wrong").count()
    radio(element.locator("fieldset").nth(1), "C").check()
    assert element.locator(".right, .wrong").count() == marked - 1
    assert element.locator(".says").nth(1).text_content() == ""
    assert element.locator(".said").text_content() == ""


@pytest.mark.parametrize("id", ["02.gradient", "10.hops"])
def test_numbers_are_judged_as_the_checker_does(page: Page, id: str) -> None:
    element, data = opened(page, id), data_of(ALL[id])
    asked = [question["asks"] for question in data["questions"]]
    for number in (2, 2.001, -2, 0, 0.4, 0.3, 1, 8, 12, 12345.678):
        said = element.evaluate(
            "(element, n) => element.data.questions.map((q) => element.constructor.judge(q, n))",
            number,
        )
        lines = from_the_checker(ALL[id], dict.fromkeys(asked, number)).split("\n")[1:]
        told = list(dict.fromkeys(says for says in said if says))
        assert [line.partition(": ")[2] for line in lines] == told


@pytest.mark.parametrize("storage", ["throw new DOMException('refused')", "return undefined"])
def test_a_browser_that_stores_nothing(browser: Browser, storage: str) -> None:
    with window(browser) as context:
        for name in ("localStorage", "sessionStorage"):
            context.add_init_script(
                f"Object.defineProperty(window, '{name}', {{ get() {{ {storage} }} }})"
            )
        page = context.new_page()
        element = opened(page, "01.winner")
        choose(element, picked(data_of(ALL["01.winner"]), right=True))
        expect(element.locator(".said")).to_contain_text("Solved.")
        page.locator(".theme-switch-button").click()
        page.reload()
        assert chosen(element) == []
        assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_in_print_the_card_is_unchanged(browser: Browser) -> None:
    with window(browser) as context:
        page = context.new_page()
        element = opened(page, "01.winner")
        page.emulate_media(media="print")
        assert page.get_by_text('check(winner, "01.winner")').is_visible()
        inner = (
            "e => e.getBoundingClientRect().bottom - parseFloat(getComputedStyle(e).paddingBottom)"
        )
        card = page.locator(".exercise:has(attn-choice)").first
        assert card.evaluate(inner) == pytest.approx(card.locator("li").last.evaluate(inner), abs=1)
        assert not element.is_visible()


def test_without_scripts_choices_are_tables_and_the_stub_is_there(browser: Browser) -> None:
    with window(browser, java_script_enabled=False) as context:
        page = context.new_page()
        element = opened(page, "01.winner")
        assert page.get_by_text('check(winner, "01.winner")').is_visible()
        assert element.locator("tr").first.text_content() == "dotA · B · C · tie"
        assert element.locator("> table").is_visible()
        assert page.locator("attn-softmax > table").first.is_visible()
        assert "shout" in (page.locator("attn-choice > table").first.text_content() or "")


def test_axe_finds_nothing_in_the_messages(page: Page) -> None:
    wrong = opened(page, "02.gradient")
    choose(wrong, picked(data_of(ALL["02.gradient"]), right=False))
    right = page.locator("attn-choice[data*='\"02.order\"']")
    choose(right, picked(data_of(ALL["02.order"]), right=True))
    assert wrong.locator(".wrong .says").count()
    assert not right.locator(".wrong .says").count()
    for theme in THEMES:
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        page.locator(f"attn-choice[data-theme={theme}]").first.wait_for(state="attached")
        assert page.evaluate(FAINT) == []
    page.evaluate(STRIP)
    page.evaluate(AXE.read_text("utf8"))
    rules = {rule: {"enabled": False} for rule in COLORS}
    run = "rules => axe.run('attn-choice', {preload: false, rules}).then(f => f.violations)"
    assert page.evaluate(run, rules) == []
