"""The section that a finding names explains the fault: its text contains the fault's own words."""

import json
import re

import pytest

from attnbook.examination.faults import FAULTS
from manuscript.common import ROOT

WORDS = {
    "scale": "Why divide by √d_k",
    "softmax_axis": "Which axis",
    "values": "weights @ value",
    "transposed": "Transposing turns each key into a column",
    "numbers": "softmax(scores, dim=-1)",
    "overflow": "avoid overflow",
    "half": "float16",
    "one_row": "sink",
    "unequal": "may differ in length",
    "heads": "`view`",
    "shared_heads": "split into heads",
    "groups": "repeat_interleave",
    "mask_ignored": "change one word",
    "mask_inverted": "two opposite meanings",
    "mask_after_softmax": "the mask after the softmax",
    "mask_soft": "hide nothing",
    "mask_batch": "axis of the heads",
    "nan": "NaN",
    "empty_row": "NaN",
    "sees_future": "leaks",
    "not_itself": "above the diagonal",
    "sees_next": "above the diagonal",
    "wrong_triangle": "above the diagonal",
    "leak": "leaks",
    "blind": "test what matters",
    "perhaps_blind": "test what matters",
    "alignment": "bottom right",
    "window": "Sliding windows",
    "cross_batch": "batch_first",
    "padding_seen": "padding",
    "left_padding": "cumsum",
    "order_blind": "blind to order",
    "order_counts": "blind to order",
    "position_batch": "Positions along the batch",
    "position_table": "sine and a cosine",
    "position_product": "Add the position",
    "odd_width": "D/2 clock hands",
    "rotary": "neighboring columns or two halves",
    "rotary_precision": "bfloat16 positions",
    "random_eval": "dropout_p",
    "unreached": "whose `grad` is `None`",
    "unregistered": "ModuleList",
    "shared_layer": "One layer six times",
    "norm_axis": "along which axis",
    "residual": "residual connection",
    "cache_positions": "position of a new word",
    "cache_mask": "KV cache",
    "source_ignored": "context",
    "cross_causal": "decoder, cross",
    "cross_roles": "come from the decoder",
    "initial_loss": r"$\ln V$",
    "not_logits": "A softmax turns logits into probabilities",
    "shift_none": "Forgetting the shift",
    "shift_twice": "Labels shifted twice",
    "loss": "minus the logarithm of the probability",
    "loss_padding": "ignore_index",
    "double_softmax": "with a softmax too many",
    "top_p": "Top-p",
    "top_k": "top-k",
    "temperature": "temperature",
}


def sections():
    """Return the text of each section by its number."""
    texts: dict[str, str] = {}
    for path in (ROOT / "book").glob("[0-9]*.ipynb"):
        number = ""
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            source = "".join(cell["source"])
            if heading := re.match(r"## (\d+\.\d+) ", source):
                number = heading[1]
            texts[number] = texts.get(number, "") + source + "\n"
    return texts


TEXTS = sections()


def test_each_fault_has_words():
    assert set(WORDS) == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_section_of_a_fault_explains_it(fault):
    assert WORDS[fault] in TEXTS[FAULTS[fault].section]
