"""The appendix on the sources: its tables are complete, and it shows the mistakes it lists.

The rules in tools/rules.py check that the sections the appendix refers to exist. Its own cells
assert that its numbers agree with the sources.
"""

import re

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attnbook import TransformerXLAttention
from tests.support import quotations
from tests.support.chapters import BOOK, Chapter
from tools.rules import asserts

appendix = Chapter("appendix_sources.ipynb")
TEXT = "\n\n".join(c["source"] for c in appendix.cells.values() if c["cell_type"] == "markdown")
SOURCES = ("S0", "S1", "S2", "S3", "S4")
LINKS = r"\[\d+\.\d+\]\(\w+\.ipynb\)"
KINDS = ("wrong", "missing", "on condition")
HASHES = quotations.read()
CHAPTERS = sorted({path.name for path in BOOK.glob("[01]*.ipynb")})


@pytest.mark.parametrize("source", SOURCES)
def test_every_row_is_open_or_points_to_sections(source: str) -> None:
    (table,) = re.findall(rf"^\| section of {source} \|.*\n\|[-:|]+\n((?:\|.*\|\n?)+)", TEXT, re.M)
    for row in table.splitlines():
        section, teaches, where = row.strip("| ").split(" | ")
        assert " · " in section, f"{section}: add the English title after ' · '"
        assert teaches, f"{section}: say what it teaches, in the second column of its row"
        assert re.fullmatch(rf"open: chapter \d+|{LINKS}(, {LINKS})*", where), section


def test_every_section_of_the_page_that_it_names_is_there() -> None:
    titles = re.findall(r"^## (A\.\d+) ", TEXT, re.M)
    assert titles == [f"A.{n}" for n in range(1, len(titles) + 1)]
    assert set(re.findall(r"A\.\d+", TEXT)) == set(titles)


def code_under(heading: str) -> list[str]:
    """The code cells between a heading and the next one."""
    names = list(appendix.cells)
    start = next(n for n in names if re.search(heading, appendix.source(n), re.M))
    below = names[names.index(start) + 1 :]
    end = next(n for n in below if re.search("^##", appendix.source(n), re.M))
    return [name for name in below[: below.index(end)] if name in appendix.code]


def to_read_with_care(source: str) -> list[list[str]]:
    """A source's second table, row by row: the claim, the truth, the kind, and where to look."""
    (table,) = re.findall(rf"^\| what {source} says \|.*\n\|[-:|]+\n((?:\|.*\|\n?)+)", TEXT, re.M)
    return [row.strip("| ").split(" | ") for row in table.splitlines()]


@pytest.mark.parametrize("source", SOURCES)
def test_every_row_has_a_kind_and_a_section_or_a_cell_that_can_fail(source: str) -> None:
    named = set()
    for says, _, kind, shown in to_read_with_care(source):
        assert kind in KINDS, says
        assert re.fullmatch(rf"({LINKS}|cell \d)(, {LINKS})*", shown), says
        named |= set(re.findall(r"cell (\d)", shown))
    code: dict[str, str] = {}  # the code under "# cell 1", in one or more cells
    for name in code_under(f"^### {source}: to read with care$"):
        number = re.match(r"# cell (\d)", appendix.source(name))
        assert number, name
        code[number[1]] = code.get(number[1], "") + appendix.source(name) + "\n"
    assert set(code) == named
    assert [n for n in code if not asserts(code[n]) and "raise" not in code[n]] == []


def test_the_summary_counts_the_rows_and_those_that_are_wrong() -> None:
    kinds = [kind for source in SOURCES for *_, kind, _ in to_read_with_care(source)]
    counts = f"Of the {len(kinds)} claims to read with care, {kinds.count('wrong')} are wrong."
    assert counts in appendix.source("summary")


@pytest.mark.parametrize("name", [n for n in appendix.cells if re.match(r"s\d(-mistakes)?$", n)])
def test_the_appendix_quotes_what_its_source_says(name: str) -> None:
    found = quotations.digests(appendix.source(name))
    assert found
    assert found <= HASHES[name[:2].upper()]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_quotes_what_a_source_says(name: str) -> None:
    """In texts that name a source, every four consecutive Chinese characters are from a source."""
    cells = Chapter(name).cells.values()
    texts = [c["source"] for c in cells if c["cell_type"] == "markdown"]
    naming = "\n".join(text for text in texts if re.search(r"\bS[0-4]\b", text))
    quoted = quotations.CHINESE.findall(naming)
    assert [q for q in quoted if not any(quotations.digests(q) <= h for h in HASHES.values())] == []


def test_an_invented_quotation_is_found() -> None:
    assert not quotations.digests("除以维度更好地控制方差") <= HASHES["S0"]
    assert quotations.digests("更好地控制") <= HASHES["S0"]


def test_every_decimal_that_s1_prints_is_in_the_chapters() -> None:
    code = [appendix.source(name) for name in code_under("^### S1: its numbers$")]
    typed = re.findall(r"-?\b\d+\.\d{4}\b", "\n".join(code))
    chapters = "02_embeddings.ipynb", "03_single_head.ipynb"
    printed = re.findall(r"-?\d+\.\d{4}\b", "".join(Chapter(name).printed() for name in chapters))
    assert len(typed) >= 96 + 6 + 6 + 28
    assert set(typed) <= set(printed)


def row(source: str, words: str) -> list[str]:
    """The row of a source's second table that quotes these words."""
    (found,) = [row for row in to_read_with_care(source) if words in row[0]]
    return found


def test_neither_weight_nor_length_says_whether_the_model_needs_a_word() -> None:
    """When chapter 13's translators write “is”, 很 has most of the weight, and an equal length."""
    reading = Chapter("13_reading_attention.ipynb")
    made = reading.run("translator-load", "translator-pair", "translator-drop", "translator-ways")
    pair = made["Pair"](("苹果", "很", "甜"), ("the", "apple", "is", "sweet"))
    for seed in (1, 2):
        model = made["load_translator"](made["chinese"], made["english"], seed, 8)
        model.to(made["device"]())
        weights, ways = made["lost"](model, pair)
        assert weights[2, 1] > 0.8
        assert ways["message dropped"][2, 1] < 0.05
        batch, _ = made["once_for_each"](pair)
        crossing = model.decoder.layers[0].cross_attention
        with torch.no_grad():
            z, _ = model.encode(batch.source[:1], batch.source_mask[:1])
            heads = (crossing.n_heads, -1)
            values = crossing.w_v(z).unflatten(-1, heads)  # (1, 3, H, Dv)
            blocks = crossing.w_o.weight.unflatten(1, heads)  # (D, H, Dv)
            added = torch.einsum("blhv,dhv->lhd", values, blocks)
        lengths = added.norm(dim=-1).mean(dim=1)  # (3,)
        assert lengths.max() < 1.15 * lengths.min()
    _, true, kind, shown = row("S0", "权重越高")
    assert kind == "on condition"
    assert "Whether the model needs" in true
    assert "13.12" in shown
    assert "nor whether the model needs it" in appendix.source("summary")


@pytest.mark.parametrize("mean", [0.0, 1.0, 3.0, 5.0])
def test_the_scaled_variance_depends_on_the_mean_but_not_on_the_width(mean: float) -> None:
    torch.manual_seed(0)
    for d_k in (16, 256):
        q, k = mean + torch.randn(2, 20000, d_k)
        variance = ((q * k).sum(dim=-1) / d_k**0.5).var().item()
        assert variance == pytest.approx(1 + 2 * mean**2, rel=0.05)
    assert "With another mean it is larger" in row("S0", "更好地控制")[1]
    assert "with mean 0 and variance 1" in appendix.source("summary")


def test_correlated_entries_need_not_make_the_variance_grow() -> None:
    """The last column of S0's cell 1: up to 96 entries are made from 16 numbers."""
    torch.manual_seed(0)
    ratios = []
    for d_k in (24, 96):
        a, b = torch.randn(2, 20000, 16)
        q, k = a @ (torch.rand(16, d_k) - 0.5), b @ (torch.rand(16, d_k) - 0.5)
        assert (q.T.corrcoef() - torch.eye(d_k)).abs().mean() > 0.15
        independent = (q.var(0) * k.var(0)).sum()
        ratios.append((q * k).sum(-1).var() / independent)
    assert all(0.5 < ratio < 1.5 for ratio in ratios)
    assert "with correlated entries, it can" in row("S0", "更好地控制")[1]


def test_the_products_of_s3s_listing_do_not_depend_on_the_number_of_heads() -> None:
    listing = Chapter("04_multi_head.ipynb").run("s3-init")["Listing"]
    flops, parameters = set(), set()
    for n_heads in (1, 2, 8):
        layer, x = listing(16, n_heads), torch.randn(1, 12, 16)
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            layer(x, x, x)
        flops.add(counter.get_total_flops())
        parameters.add(sum(p.numel() for p in layer.parameters()))
    assert len(flops) == len(parameters) == 1
    says, true, kind, _ = row("S3", "多头增加计算成本")
    assert "提升效率" in says
    assert "equally many multiplications for any number of heads" in true
    assert kind == "on condition"


@pytest.mark.parametrize(("left_out", "is_matrix"), [("w_q", True), ("v", False)])
def test_one_of_transformer_xls_terms_is_a_matrix_of_biases(left_out: str, is_matrix: bool) -> None:
    """The same matrix for all sentences. Terms with the content of a key are left out."""
    torch.manual_seed(0)
    layer = TransformerXLAttention(8, 2)
    nn.init.normal_(layer.v)
    for part in ("w_k", left_out):
        nn.init.zeros_(layer.get_parameter(part if part == "v" else f"{part}.weight"))
    one, other = (layer(torch.randn(1, 6, 8))[1] for _ in range(2))
    assert torch.equal(one, other) == is_matrix
    assert one.std() > 0.01
    assert row("S3", "位置偏差矩阵")[2] == "missing"


def test_pseudo_code_and_half_quotations_are_not_called_wrong() -> None:
    assert row("S2", "X * W_Q")[2] == "on condition"
    says, _, kind, _ = row("S1", "原始查询输入的注意力加权版本")
    assert "通过注意力权重将所有输入元素作为其上下文" in says
    assert kind == "on condition"


def test_what_a_text_teaches_is_in_it_or_is_marked_as_ours() -> None:
    assert "quadratic" not in appendix.source("s0")
    assert "most of them for efficiency" not in appendix.source("s1")
    assert "grammar and idioms" in appendix.source("s1")
    assert "we add a memory" in appendix.source("s3")
