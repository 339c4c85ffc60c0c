"""The cheat sheet, the notation and the bibliography are complete, and their facts are true."""

import ast
import inspect
import re

import nbformat
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook import (
    GroupedQueryAttention,
    MultiHeadAttention,
    Rotary,
    SinusoidalPositions,
    causal_mask,
    public,
)
from attnbook.examination.facts import CHOICES, KINDS, meanings
from manuscript.chapters import chapters, pages
from manuscript.common import ROOT

BOOK = ROOT / "book"
CHEAT_SHEET, NOTATION, BIBLIOGRAPHY = (
    (BOOK / f"{name}.md").read_text("utf-8") for name in ("cheat_sheet", "notation", "bibliography")
)


def test_the_cheat_sheet_lists_the_whole_library_once() -> None:
    (code,) = re.findall(r"^```python\n(from attnbook .*?)^```", CHEAT_SHEET, re.M | re.S)
    (imports,) = ast.parse(code).body
    assert isinstance(imports, ast.ImportFrom)
    assert sorted(alias.name for alias in imports.names) == public.__all__


def test_how_to_use_lists_the_facts_and_the_kinds_of_examine() -> None:
    page = (BOOK / "how_to_use.md").read_text("utf-8")
    _before, _heading, rest = page.partition("\n## Examine your own attention\n")
    rows = re.findall(r"(?m)^\| (`.*?) \|", rest.partition("\n## ")[0])
    listed = [re.findall(r"`(?:(\w+)=)?(.+?)`", row) for row in rows]
    assert {name for row in listed for name, _value in row if name} == set(meanings())
    assert [value for row in listed for name, value in row if not row[0][0]] == [*KINDS]
    for row in listed:
        if row[0][0] in CHOICES:
            values = [ast.literal_eval(value) for _name, value in row]
            assert set(CHOICES[row[0][0]]) - set(values) <= {"BLD"}  # which needs no fact


def test_the_errors_of_the_symptoms_are_pytorchs() -> None:
    page = (BOOK / "symptoms.md").read_text("utf-8")
    tables = re.findall(r"(?s)\n## It raises an error: .*?(?=\n## )", page)
    rows = re.findall(r"(?m)^\| (`.+?`) \|", "".join(tables))
    listed = [message for row in rows for message in re.findall("`(.+?)`", row)]
    q, ids = torch.randn(2, 4, 8, 16), torch.zeros(2, 10).long()
    attend, layer = F.scaled_dot_product_attention, nn.MultiheadAttention(16, 4, batch_first=True)
    x, rows_first = torch.randn(2, 10, 16), nn.MultiheadAttention(16, 4)
    hidden = torch.zeros(2, 10).bool()
    causes = [
        lambda: nn.Linear(64, 64)(torch.randn(10, 512)),
        lambda: torch.randn(2, 10, 64) @ torch.randn(2, 10, 64),
        lambda: torch.randn(4, 8, 64).view(2, 8, 3, 64),
        lambda: nn.MultiheadAttention(50, 4),
        lambda: q.transpose(1, 2).view(2, 8, 64),
        lambda: torch.randn(2, 4, 8, 10).masked_fill(torch.ones(8, 8).bool(), 0),
        lambda: attend(q, q[:, :2], q[:, :2]),
        lambda: attend(q, q, q, attn_mask=torch.ones(8, 8).long()),
        lambda: layer(x, x, x, attn_mask=torch.ones(10, 10).long()),
        lambda: layer(x, x, x, attn_mask=hidden),
        lambda: rows_first(x, x, x, key_padding_mask=hidden),
        lambda: layer(x, x, x, is_causal=True),
        lambda: nn.Embedding(10, 4)(ids + 10),
        lambda: F.cross_entropy(torch.randn(2, 10, 50), ids),
    ]
    for message, cause in zip(listed, causes, strict=True):
        with pytest.raises((RuntimeError, AssertionError, IndexError), match=re.escape(message)):
            cause()


def anchor(heading: str) -> str:
    """The name by which links refer to a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_links_to_the_primer_and_to_the_tables_of_names_name_the_place() -> None:
    for path in (chapter.path for chapter in chapters()):
        for cell in nbformat.read(path, as_version=4).cells:
            links = re.findall(r"\[[^]]*\]\((?:primer\.ipynb|notation\.md)\)", cell.source)
            if "opening" in cell.metadata.get("tags", []):  # it may recommend the whole primer
                links = [link for link in links if not link.startswith("[primer]")]
            assert links == [], f"{path.name}, cell {cell.id}"


def test_every_work_is_cited_in_a_chapter_or_in_the_appendix() -> None:
    texts = [page.read_text("utf-8") for page in pages() if page.suffix == ".ipynb"]
    cited = {name for text in texts for name in re.findall(r"bibliography\.md#([\w-]+)", text)}
    works = re.findall(r"^## (.+)", BIBLIOGRAPHY, re.M)
    assert len(works) > 80
    assert [work for work in works if anchor(work) not in cited] == []
    assert "Each is cited where it is used, in a chapter or in the [appendix]" in BIBLIOGRAPHY


def test_the_appendix_has_a_part_for_each_chapter() -> None:
    text = (BOOK / "appendix_sources.ipynb").read_text("utf-8")
    parts = re.findall(r'"### Chapter (\d+)\\n"', text)
    assert parts == [str(chapter.number) for chapter in chapters()]


def test_without_positions_and_without_a_causal_mask_permuting_rows_permutes_the_output() -> None:
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(16, 2), torch.randn(6, 16)
    order = torch.tensor([3, 0, 4, 1, 2, 5])

    def moved(mask: torch.Tensor | None = None, change: torch.nn.Module | None = None) -> float:
        change = change or torch.nn.Identity()
        before, after = (layer(change(rows), mask=mask)[0] for rows in (x, x[order]))
        return (after - before[order]).abs().max().item()

    assert moved() < 1e-6
    assert min(moved(causal_mask(6)), moved(change=SinusoidalPositions(16))) > 0.05
    assert "without positions and without a causal mask, permuting" in CHEAT_SHEET


@pytest.mark.parametrize("options", [{}, {"bias": True}, {"qk_norm": True}, {"rotary": Rotary()}])
def test_only_a_plain_head_attends_by_the_product_of_its_matrices(options: dict) -> None:
    """W_Q and W_K, both times the same matrix and its inverse, have the same product as before."""
    torch.manual_seed(0)
    layer, x = GroupedQueryAttention(8, 1, 1, **options).double(), torch.randn(5, 8).double()
    between = torch.randn(8, 8).double()
    with torch.no_grad():
        product = layer.w_q.weight.T @ layer.w_k.weight
        _, before = layer(3 * x)
        layer.w_q.weight.copy_(between @ layer.w_q.weight)
        layer.w_k.weight.copy_(between.inverse().T @ layer.w_k.weight)
        torch.testing.assert_close(layer.w_q.weight.T @ layer.w_k.weight, product)
        _, after = layer(3 * x)
    assert ((after - before).abs().max() < 1e-9) == (not options)
    assert "if there are no rotary positions, biases or query-key norms" in CHEAT_SHEET


def test_the_table_of_names_has_those_of_the_pinned_hugging_face() -> None:
    bert = pytest.importorskip("transformers.models.bert.modeling_bert")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    both = inspect.getsource(bert) + inspect.getsource(llama)
    (table,) = re.findall(r"^\| here \|.*\n\|[-:|]+\n((?:\|.*\|\n)+)", NOTATION, re.M)
    column = [row.strip("| ").split(" | ")[-1] for row in table.splitlines()]
    names = {name for cell in column for name in re.findall(r"`([\w.]+)`", cell)}
    assert len(names) > 15
    missing = {n for n in names if not re.search(rf"\b{n.removesuffix('.weight')}\b", both)}
    assert missing <= {"seq_len"}  # an axis, which has no name in this code
