"""The card of a chapter, "In two minutes": its lines compute what its sentences say."""

import math
import re
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from attnbook import (
    EncoderLayer,
    KVCache,
    Transformer,
    causal_mask,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from manuscript.markers import CARD
from tests.support.chapters import BOOK, Chapter

ALL = {"math": math, "np": np, "torch": torch, "F": F}
ALL["scaled_dot_product_attention"] = scaled_dot_product_attention


def run(number: int, **names: Any) -> dict[str, Any]:
    """Run the lines of a chapter's card with these names; return all names."""
    (path,) = BOOK.glob(f"{number:02}_*.ipynb")
    (lines,) = re.findall(r"```python\n(.*?)```", Chapter(path.name).source(CARD), re.S)
    space = ALL | names
    exec(lines, space)
    return space


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def test_chapter_1_mixes_the_values() -> None:
    dice = np.random.default_rng(0)
    keys, values, query = dice.normal(size=(10, 8)), dice.normal(size=(10, 5)), dice.normal(size=8)
    weights = torch.tensor(keys @ query).softmax(-1).numpy()
    output = run(1, keys=keys, values=values, query=query)["output"]
    np.testing.assert_allclose(output, weights @ values)


def test_chapter_3_attends() -> None:
    torch.manual_seed(0)
    x, w_q, w_k, w_v = drawn(6, 16), drawn(16, 24), drawn(16, 24), drawn(16, 28)
    found = run(3, x=x, w_q=w_q, w_k=w_k, w_v=w_v)
    expected = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
    torch.testing.assert_close((found["output"], found["weights"]), expected)


def test_chapter_4_splits_into_heads_and_merges_them() -> None:
    torch.manual_seed(0)
    x, w_q, w_o, k, v = drawn(2, 5, 12), drawn(12, 12), drawn(12, 12), *drawn(2, 2, 3, 5, 4)
    found = run(4, x=x, w_q=w_q, w_o=w_o, k=k, v=v, B=2, L=5, H=3, Dk=4, Dv=4)
    mixed, _ = scaled_dot_product_attention(split_heads(x @ w_q, 3), k, v)
    torch.testing.assert_close(found["output"], merge_heads(mixed) @ w_o)


def test_chapter_5_has_a_row_for_each_query() -> None:
    torch.manual_seed(0)
    matrices = {"w_q": drawn(16, 24), "w_k": drawn(16, 24), "w_v": drawn(16, 28)}
    found = run(5, x=drawn(6, 16), z=drawn(8, 16), **matrices)
    assert found["from_z"].shape == (6, 28)
    assert found["weights"].shape == (6, 8)


def test_chapter_6_gives_what_is_hidden_no_weight() -> None:
    torch.manual_seed(0)
    is_word = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    found = run(6, L=5, is_word=is_word, scores=drawn(2, 5, 5))
    seen = causal_mask(5) & is_word[:, None]
    assert found["weights"].gt(0).equal(seen)
    torch.testing.assert_close(found["weights"].sum(-1), torch.ones(2, 5).double())


def test_chapter_8_is_an_encoder_layer() -> None:
    torch.manual_seed(0)
    layer, x = EncoderLayer(16, 4, 64).double(), drawn(2, 5, 16)
    parts = {"norm_1": layer.norm1, "norm_2": layer.norm2, "feed_forward": layer.feed_forward}
    found = run(8, x=x, attention=lambda q, *_: layer.attention(q)[0], **parts)
    torch.testing.assert_close(found["x"], layer(x)[0])


def test_chapter_9_asks_at_each_position_for_the_next_word() -> None:
    torch.manual_seed(0)
    model, source = Transformer(9, 9, 16, 4, 1, 32), torch.randint(4, 9, (2, 5))
    target = torch.tensor([[1, 5, 6, 7, 2], [1, 8, 2, 0, 0]])
    found = run(9, model=model, source=source, target=target, PAD=0)
    logs = model(source, target).log_softmax(-1)
    asked = [(0, 0, 5), (0, 1, 6), (0, 2, 7), (0, 3, 2), (1, 0, 8), (1, 1, 2)]
    expected = -sum(logs[b, t, word] for b, t, word in asked) / len(asked)
    torch.testing.assert_close(found["loss"], expected)


def test_chapter_10_is_exact_in_chunks() -> None:
    torch.manual_seed(0)
    q, k, v = drawn(4, 8), drawn(12, 8), drawn(12, 8)
    chunks = zip(k.split(3), v.split(3), strict=True)
    found = run(10, chunks=chunks, q=q, m=torch.full((4,), -math.inf).double(), s=torch.zeros(4))
    torch.testing.assert_close(found["m"] + found["s"].log(), (q @ k.T).logsumexp(-1))


def test_chapter_11_computes_one_row() -> None:
    torch.manual_seed(0)
    q, k, v = drawn(3, 2, 6, 4)  # two heads, six words
    cache = KVCache()
    cache.update(k[:, :5], v[:, :5])
    new = {"q_new": q[:, 5:], "k_new": k[:, 5:], "v_new": v[:, 5:]}
    found = run(11, cache=cache, attend=lambda *qkv: scaled_dot_product_attention(*qkv)[0], **new)
    whole, _ = scaled_dot_product_attention(q, k, v, causal_mask(6))
    torch.testing.assert_close(found["output"], whole[:, 5:])


def test_chapter_12_draws_the_word_after_the_last() -> None:
    def count_on(ids: torch.Tensor) -> torch.Tensor:  # after 3 comes 4
        return 50.0 * F.one_hot(ids + 1, 10)

    found = run(12, model=count_on, ids=torch.tensor([[3, 4, 5], [1, 2, 3]]), temperature=1.0)
    assert found["next_id"].item() == 6
    assert found["loss"] < 1e-6


def test_chapter_14_computes_no_key_and_replaces_a_value() -> None:
    torch.manual_seed(0)
    k, v = F.normalize(drawn(8), dim=0), drawn(5)
    matrices = {"w_c": drawn(16, 6), "w_k": drawn(6, 8), "state": drawn(8, 5)}
    found = run(14, x=drawn(9, 16), q=drawn(9, 8), k=k, v=v, beta=1.0, norm=F.normalize, **matrices)
    torch.testing.assert_close(found["scores"], found["q"] @ (found["c"] @ found["w_k"]).T)
    torch.testing.assert_close(k @ found["state"], v)


def test_chapter_15_sees_through_a_layer_that_begins_with_a_norm() -> None:
    """A layer norm takes away a number that is added to a whole row, here to the last bit."""
    torch.manual_seed(0)
    layer, x = EncoderLayer(16, 4, 64, norm_first=True).double(), torch.randn(2, 5, 16).double()
    for mask, first in ((None, 0), (causal_mask(5), 3)):
        found = run(15, x=x, layer=lambda rows, mask=mask: layer(rows, mask)[0])
        assert found["moved"][0].nonzero().flatten().tolist() == list(range(first, 5))
        assert not found["moved"][1].any()
