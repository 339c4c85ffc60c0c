"""`examine` names the fault of faulty code first, and is silent about right code."""

import ast
import json
import math
import re

import pytest
from torch import nn
from torch.nn import functional as F

from attnbook import examine
from attnbook.examination import examine as examine_module
from attnbook.examination.examine import raised_by_us
from attnbook.examination.facts import KINDS, meanings
from attnbook.examination.faults import FAULTS
from attnbook.examination.report import AttentionFault, Report
from attnbook.exercises.cards.as_html import card_as_html
from attnbook.exercises.cards.feedback import Feedback
from attnbook.exercises.catalog import ALL
from attnbook.mistakes.lines import ATTENTION_MISTAKES, MASK_MISTAKES
from attnbook.training import load_language_model
from manuscript.common import ROOT
from tests.examination.pieces import FAULTY, RIGHT
from tests.examination.pieces.layers import Fused
from tests.examination.pieces.positions import Turned
from tests.support.pages import PHONE

# A finding of level △ about right code: what it says is true.
ALLOWED = {
    "PyTorch's layer, with a mask of padding": {"empty_row"},
    "PyTorch's encoder layer, pre-norm, with padding": {"empty_row"},
    "True is hidden, one head": {"half"},
    "vmap over batch and heads": {"half"},
    "weights returned beside the output, dropout given": {"half"},
    "an encoder's attention, additive mask": {"empty_row"},
}


@pytest.mark.parametrize("piece", FAULTY, ids=lambda piece: piece.label)
def test_a_fault_is_named_first(piece):
    report = examine(piece.make(), **piece.facts)
    assert [found.fault for found in report.findings][:1] == [piece.fault], str(report)


@pytest.mark.parametrize("piece", RIGHT, ids=lambda piece: piece.label)
def test_right_code_is_not_called_wrong(piece):
    report = examine(piece.make(), **piece.facts)
    assert not report.refusal, report.refusal
    assert {found.fault for found in report.findings} <= ALLOWED.get(piece.label, set()), report


def test_every_fault_names_a_section_and_an_exercise_of_the_book():
    headings = {
        number
        for path in (ROOT / "book").glob("*.ipynb")
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        for number in re.findall(r"(?m)^## (\d+\.\d+) ", "".join(cell["source"]))
    }
    for name, fault in FAULTS.items():
        assert fault.section in headings, name
        assert not fault.exercise or fault.exercise in ALL, name


def test_every_fault_has_a_piece_and_every_reported_name_is_a_fault():
    assert {piece.fault for piece in FAULTY} == set(FAULTS)
    named = {wrong.fault for wrong in (*ATTENTION_MISTAKES, *MASK_MISTAKES) if wrong.fault}
    for path in (ROOT / "src" / "attnbook" / "examination").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Name("report") | ast.Attribute(attr="report"), attr="add"
                    ),
                    args=[ast.Constant(name), *_],
                ):
                    named.add(name)
    assert len(named) > 50
    assert named <= set(FAULTS)


def test_a_report_serves_as_a_test():
    faulty = next(piece for piece in FAULTY if piece.fault == "scale")
    with pytest.raises(AttentionFault, match=r"section 3\.8"):
        examine(faulty.make(), **faulty.facts).raise_if_faulty()
    with pytest.raises(AttentionFault, match="class"):
        examine(nn.MultiheadAttention).raise_if_faulty()
    examine(nn.MultiheadAttention(16, 4, batch_first=True), kind="layer").raise_if_faulty()


def test_intentions_that_were_not_said_are_told_first():
    layer = nn.MultiheadAttention(16, 4, batch_first=True)
    assert any("causal=True" in sentence for sentence in examine(layer, kind="layer").seen)


def test_a_fact_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="there is no fact causla"):
        examine(len, kind="core", causla=True)
    with pytest.raises(ValueError, match="'keep'"):
        examine(len, kind="core", mask="inverted")
    for name in ("window", "n_heads", "d_model"):
        for value in (0, True, 2.5, "4"):
            with pytest.raises(ValueError, match=f"{name}=.*: it must be a whole number above 0"):
                examine(len, kind="core", **{name: value})
    for value in (0, "no"):
        with pytest.raises(ValueError, match="it must be True or False"):
            examine(len, kind="core", causal=value)


def test_an_error_of_our_own_is_not_told_as_the_readers(monkeypatch):
    monkeypatch.setitem(examine_module.EXAMINERS, "core", math.sqrt)  # a bug: it is given an Exam
    with pytest.raises(TypeError, match="must be real number, not Exam"):
        examine(F.scaled_dot_product_attention, kind="core")
    monkeypatch.setattr(examine_module, "raised_by_us", raised_by_us)
    report = examine(F.scaled_dot_product_attention, kind="core")
    assert report.refusal.startswith("`examine` itself raised an error")
    assert "must be real number, not Exam" in report.refusal
    for called in (nn.Linear(2, 2), lambda exam: exam + 1):  # PyTorch's code, and a reader's
        monkeypatch.setitem(examine_module.EXAMINERS, "core", called)
        report = examine(F.scaled_dot_product_attention, kind="core")
        assert report.refusal.startswith("It raised an error: TypeError")


def test_the_kinds_and_the_facts_are_in_the_help():
    first = [line.partition(" ")[0] for line in examine.__doc__.splitlines()]
    assert {*KINDS, *meanings()} <= {*first}


def test_each_kind_has_experiments():
    assert examine_module.EXAMINERS.keys() == KINDS.keys()


def test_a_trained_model_may_have_a_large_loss_on_random_ids():
    report = examine(load_language_model(0)[0], causal=True)
    assert [found.fault for found in report.findings] == ["initial_loss"], report
    assert not report.is_faulty
    assert "the scale inside" in report.tried


def test_numbers_that_nothing_explains_are_mentioned():
    sentence = "attention with them gives other numbers"
    reports = (examine(layer, kind="layer", causal=True) for layer in (Fused(), Turned()))
    assert [sentence in str(report).replace("\n  ", " ") for report in reports] == [False, True]


@pytest.mark.on_cpu
def test_a_long_name_in_a_report_or_on_a_card_is_wrapped_on_a_phone(browser):
    name = f"`{'a_long_name_' * 10}`"
    page = browser.new_page(viewport=PHONE)
    for shown in (Report([name])._repr_html_(), card_as_html(Feedback("failed", "x", name))):
        page.set_content(shown)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.close()
