"""The appendix on the sources: its tables leave nothing out, and point to what exists.

The sources themselves are not in the repository. Their headings stand here, in their order, so
that a row taken out of a table, or a section that moves, is seen.
"""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from tools.common import ROOT
from tools.rules import asserts

BOOK = ROOT / "book"
APPENDIX = BOOK / "appendix_sources.ipynb"

# The headings of each source as its text has them; one that occurs twice stands twice.
HEADINGS = {
    "S0": [
        "缩放点积注意力公式",
        "计算相似度分数",
        "缩放分数",
        "应用 Softmax",
        "乘以值矩阵",
        "原理与总结",
    ],
    "S1": [
        "理解自注意力&多头注意力&交叉注意力&因果注意力(深度学习)",
        "自注意力机制",
        "嵌入输入句子",
        "定义权重矩阵",
        "计算非规范化注意力权重",
        "计算注意力分数",
        "多头注意力机制",
        "交叉注意力",
        "结论",
    ],
    "S2": [
        "Self-Attention 学习",
        "核心比喻:信息检索系统",
        "工作流程",
        "第一步:从输入到Q, K, V的诞生",
        "计算过程",
        "物理意义",
        "第二步:计算注意力分数(匹配与打分)",
        "矩阵形式(核心公式1)",
        "第三步:缩放与归一化(聚焦)",
        "Softmax归一化(核心公式2)",
        "第四步:加权求和与输出(合成)",
        "矩阵形式(核心公式3)",
        "让我们看看这是如何为每个词工作的",
        "整合公式与总结",
        "为什么需要三个独立矩阵?",
        "下一步:多头注意力",
    ],
    "S3": [
        "探秘Transformer系列之(1):注意力机制深度解析",
        "一、注意力机制的本质:从“顺序处理”到“全局关联”",
        "1.1 传统序列模型的局限性",
        "1.2 注意力机制的突破",
        "二、数学原理:从缩放点积注意力到多头注意力",
        "2.1 缩放点积注意力(Scaled Dot-Product Attention)",
        "代码示例(PyTorch风格)",
        "2.2 多头注意力(Multi-Head Attention)",
        "多头注意力的优势",
        "三、实现细节:从理论到代码",
        "3.1 注意力层的完整实现",
        "3.2 关键参数选择",
        "四、性能优化与最佳实践",
        "4.1 计算效率优化",
        "4.2 数值稳定性",
        "4.3 应用场景建议",
        "五、注意力机制的扩展与变体",
        "5.1 自注意力(Self-Attention)",
        "5.2 交叉注意力(Cross-Attention)",
        "5.3 相对位置编码",
        "六、总结与展望",
    ],
    "S4": [
        "注意力足矣(Attention Is All You Need)",
        "Transformer自注意力(self-attention)和多头注意力(multi-head attention)",
        "Transformer架构",
        "(1)训练时",
        "(2)测试时",
        "位置编码",
        "编码器",
        "多头自注意力",
        "前馈网络",
        "解码器",
        "带掩码的多头自注意力",
        "以编码器输出作为输入的多头自注意力",
        "前馈网络",
        "参考",
    ],
}

# What the book does not treat yet. A chapter that does takes its rows out of here.
OPEN = [
    ("S1", "自注意力机制 · variants", "chapter 10"),
    ("S2", "让我们看看这是如何为每个词工作的 · the next layer", "chapter 8"),
    ("S3", "4.1 计算效率优化 · matrix products", "chapter 10"),
    ("S3", "4.1 计算效率优化 · sparse attention", "chapter 10"),
    ("S3", "4.2 数值稳定性 · gradient clipping", "chapter 8"),
    ("S3", "4.3 应用场景建议 · long texts", "chapter 10"),
    ("S3", "六、总结与展望 · outlook", "chapter 10"),
    ("S3", "六、总结与展望 · next part", "chapter 8"),
    ("S4", "注意力足矣(Attention Is All You Need) · opening", "chapter 8"),
    ("S4", "Transformer架构 · the picture", "chapter 8"),
    ("S4", "(1)训练时 · training", "chapter 9"),
    ("S4", "(2)测试时 · generating", "chapter 9"),
    ("S4", "编码器 · encoder", "chapter 8"),
    ("S4", "多头自注意力 · residual and norm", "chapter 8"),
    ("S4", "前馈网络 · feed-forward network", "chapter 8"),
    ("S4", "解码器 · decoder", "chapter 8"),
    ("S4", "前馈网络 · in the decoder", "chapter 8"),
]

# The cells that show a mistake or a gap; `ours` are the ones found while the page was written.
MISTAKES = """
s0-variance-check s0-direction-check s1-causal-check s1-cross-weights-check s1-multi-check
s1-euclid-check s1-widths-check s1-repeat-check s1-index-check s1-listing-check s1-labels-check
s1-grad-check s2-star-check s2-64-check s2-a13-check s2-next-check s3-shapes s3-indent-check
s3-divide-check s3-mask-check s3-heads-check s3-root-check s3-xl-check s4-shapes-wrong-check
s4-misprint-check s4-triangle-check s4-cross-check s4-residual-check s4-padding-check
""".split()
OURS = """
s0-contribution-check s0-order-check s1-own-check s1-class-check s1-special-check
s1-repeated-check s3-similarity s3-maximum-check s4-share
""".split()

LINK = re.compile(r"\[(\d+\.\d+)\]\(([^)\s]+)\)")


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text("utf-8"))["cells"]


def prose(path: Path) -> str:
    return "\n\n".join("".join(c["source"]) for c in cells(path) if c["cell_type"] == "markdown")


@cache
def sections(name: str) -> set[str]:
    """The numbers of a chapter's sections; none if there is no such chapter."""
    path = BOOK / name
    return set(re.findall(r"^## (\d+\.\d+) ", prose(path), re.M)) if path.is_file() else set()


def rows(source: str) -> list[tuple[str, str, str]]:
    """The rows of a source's table: its section, what it teaches, where that stands."""
    page = prose(APPENDIX)
    (body,) = re.findall(rf"^## A\.\d+ {source}: .*?(?=^## )", page, re.M | re.S)
    table = re.search(rf"^\| section of {source} \|.*?\n\|[-:|]+\|\n((?:\|.*\|\n?)+)", body, re.M)
    assert table, f"no table of {source}"
    lines = [line.strip("|").split(" | ") for line in table.group(1).splitlines()]
    assert {len(line) for line in lines} == {3}, "a table has three columns"
    return [tuple(cell.strip() for cell in line) for line in lines]


@pytest.mark.parametrize("source", HEADINGS)
def test_every_heading_of_the_source_has_a_row_in_its_order(source: str) -> None:
    found = [section.split(" · ")[0] for section, _, _ in rows(source)]
    found = [heading for heading in found if heading != "(opening)"]
    distinct = [h for i, h in enumerate(found) if i == 0 or h != found[i - 1]]
    assert distinct == HEADINGS[source]


@pytest.mark.parametrize("source", HEADINGS)
def test_every_row_is_open_or_points_to_sections(source: str) -> None:
    for section, teaches, where in rows(source):
        assert " · " in section, f"{section}: what is it in English?"
        assert teaches
        if not re.fullmatch(r"open: chapter (8|9|10)", where):
            rest = LINK.sub("", where).replace(",", "").strip()
            assert LINK.search(where), f"{section} points nowhere: {where!r}"
            assert not rest, f"{section} points to {rest!r}"


def test_these_rows_are_open() -> None:
    found = [
        (source, section, where.removeprefix("open: "))
        for source in HEADINGS
        for section, _, where in rows(source)
        if where.startswith("open")
    ]
    assert found == OPEN


def test_an_open_chapter_is_not_there_yet() -> None:
    late = {f"{int(where.split()[1]):02d}" for _, _, where in OPEN}
    assert not [p.name for p in BOOK.glob("*.ipynb") if p.name[:2] in late], "close its rows"


def test_every_link_of_the_page_names_a_section_of_that_chapter() -> None:
    links = LINK.findall(prose(APPENDIX))
    assert len(links) > 100
    assert [link for link in links if link[0] not in sections(link[1])] == []


def test_every_section_of_the_page_that_it_names_is_there() -> None:
    page = prose(APPENDIX)
    titles = re.findall(r"^## (A\.\d+) ", page, re.M)
    assert titles == [f"A.{n}" for n in range(1, len(titles) + 1)]
    assert set(re.findall(r"A\.\d+", page)) == set(titles)


def test_every_mistake_is_shown_by_a_cell_that_can_fail() -> None:
    code = {c["id"]: "".join(c["source"]) for c in cells(APPENDIX) if c["cell_type"] == "code"}
    assert len(MISTAKES) + len(OURS) == len(set(MISTAKES + OURS))
    for name in MISTAKES + OURS:
        can_fail = asserts(code[name]) or "raise AssertionError" in code[name]
        assert can_fail or "raises(" in code[name], f"{name} asserts nothing"
    assert "raise AssertionError" in code["raises-code"]


def test_the_page_counts_what_was_found_while_it_was_written() -> None:
    numbers = "zero one two three four five six seven eight nine ten eleven twelve".split()
    assert f"And {numbers[len(OURS)]} were added" in prose(APPENDIX)


def test_every_number_agrees_but_the_four_that_the_page_names() -> None:
    printed = [
        line
        for cell in cells(APPENDIX)
        if cell["cell_type"] == "code"
        for output in cell["outputs"]
        for line in "".join(output.get("text", [])).splitlines()
        if re.match(r"(S\d|we)  .* (yes|NO)$", line)
    ]
    assert len(printed) > 50
    assert [line.split("  ")[0] for line in printed if line.endswith("NO")] == [
        "S1",
        "S2",
        "S3",
        "S4",
    ]
