"""The cheat sheet, the notation and the bibliography are complete, and their facts are true."""

import ast
import inspect
import re

import nbformat
import pytest
import torch

from attnbook import (
    GroupedQueryAttention,
    MultiHeadAttention,
    Rotary,
    SinusoidalPositions,
    causal_mask,
    public,
)
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
