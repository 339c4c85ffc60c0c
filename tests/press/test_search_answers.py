"""What readers search for, in their own words, is among the first results."""

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.support.pages import Opened

pytestmark = pytest.mark.usefixtures("book")

# questions from forums and issue trackers, as they were asked, with the sections that answer them
ASKED = {
    "why are they called key, query and value": "1.2 3.3",
    "why a square root in the scaled dot product": "3.8 3.9",
    "why sum positions and not concatenate": "7.6",
    "which masks must I give nn.Transformer": "6.14",
    "src_mask or src_key_padding_mask": "6.7",
    "src_key_padding_mask makes NaN": "6.10",
    "weights from SDPA output_attentions": "10.14",
    "which corner has is_causal": "6.12 6.15",
    "weights of 1.1111": "4.8",
    "mask only the columns?": "6.8",
    "output is shorter than the input": "15.6 15.10",
    "warning enable_nested_tensor": "15.6 15.10",
    "other output under no_grad": "15.6",
    'padding mask "does not work in eval()"': "15.6 15.10",
    "attention map from TransformerEncoder": "15.11",
    "positions in a padded batch with cache": "15.7",
    "last real token of a padded batch": "15.10",
    "batch and sequence swapped": "15.4",
    "need_weights": "4.8 15.11",
    "sines first or alternating": "7.3 A.10",
    "padded targets in cross-attention": "6.8 6.14",
    "source's or target's mask": "6.14",
    "-1e10 overflows in fp16": "6.6",
    "one projection or one per head": "4.5",
    "why view and then transpose": "4.6",
    "why multiply by sqrt d_model": "8.8 7.14",
    "norm before or after": "8.10",
    "why is the target shifted": "9.3 9.4",
    "my decoder only copies": "9.4",
    "why share the embedding table": "12.4",
    "are queries cached?": "11.2",
    "RoPE: halves or neighbors": "11.7",
    "RoPE on longer texts": "11.9",
    "GPT-2 looks at the first token": "11.10 11.11",
    "average over heads, softmax again": "4.8",
    "MLA and RoPE": "11.5 14.2 14.3",
    "deepseek sparse attention": "14.4",
    "gated deltanet": "14.7 14.6",
    "speculative decoding": "14.9",
    "4-bit kv cache": "14.10",
    "read a config.json": "14.12",
    "accuracy 98-99%": "6.13",
    "why do the rows of my attention matrix not sum to one": "3.7",
    "how do I handle padding": "6.8",
    "odd d_model": "7.3",
    "why does a head have a smaller width": "4.9",
    "may K equal V": "3.11",
    "which axis is the query": "1.6 3.6",
    "what is a head good for": "4.1",
    "how do I stop the model from looking at the next word": "6.3",
    "why is my loss not going down": "15.8",
    "my model ignores the order of words": "7.1",
    "my attention needs too much gpu memory": "10.1 10.3 10.5",
    "what is flash attention good for": "10.5",
    "how do I test my own attention code": "15.2 15.9",
    "check my own layer": "15.9",
    "unit test for attention layer": "15.2",
    "cross attention wrong shape encoder decoder different length": "5.4",
}


def ranks(page: Page, asked: dict[str, str]) -> dict[str, int]:
    """The place of the first accepted section among the results of each question; 99 if none."""
    found = {}
    for question, accepted in asked.items():
        headings = page.evaluate(
            "query => BookSearch.find(query).results.map(({section}) => section.heading)", question
        )
        right = [
            i for i, heading in enumerate(headings, 1) if heading.split()[0] in accepted.split()
        ]
        found[question] = min(right, default=99)
    return found


def test_the_search_finds_what_readers_ask(screens: dict[str, BrowserContext]) -> None:
    page = Opened(screens["light"], "search.html").page
    found = ranks(page, ASKED)
    assert sum(rank == 1 for rank in found.values()) >= len(found) * 24 / 35, found
    assert sum(rank <= 3 for rank in found.values()) >= len(found) * 31 / 35, found
    for question in ASKED:
        assert page.evaluate("query => BookSearch.find(query).results.length", question), question
    page.close()


# what people see when something is wrong, as they wrote it in reports, with the group of the page
# of symptoms, and sections that explain it
SEEN = {
    "nan gradients": ("NaN", "6.10 15.10"),
    "output is nan": ("NaN", "3.7 6.10"),
    "nan loss": ("NaN", "6.10"),
    "overflow in half precision": ("NaN", "6.6 15.8"),
    "loss is suspiciously low": ("too good", "15.1"),
    "loss goes to zero": ("too good", "15.1 6.13"),
    "mask is inverted": ("too good", "6.7"),
    "mask has no effect": ("too good", "15.5 6.11"),
    "causal mask off by one": ("too good", "6.3 6.2"),
    "layer norm axis": ("too good", "8.4"),
    "label shift": ("too good", "9.3 9.4 15.10"),
    "ignore_index": ("too good", "9.3"),
    "initial loss too high": ("learn", "15.8"),
    "parameters without gradient": ("learn", "15.8"),
    "heads are mixed up": ("learn", "4.6"),
    "view instead of transpose": ("learn", "4.6"),
    "sqrt(d_k)": ("learn", "3.8"),
    "softmax axis": ("same output", "3.7"),
    "order has no effect": ("same output", "7.1"),
    "weights do not sum to one": ("same output", "6.5 3.7"),
    "source is ignored": ("same output", "5.3"),
    "padding changes the output": ("Padding", "6.8 15.2"),
    "different result with padding": ("Padding", "6.8 15.2"),
    "results depend on the batch": ("Padding", "15.2"),
    "left padding": ("Padding", "15.7 6.10"),
    "batch_first": ("Padding", "15.4"),
    "repeat_interleave": ("Padding", "15.10 11.4 6.9"),
    "generates garbage": ("garbage", "15.1"),
    "wrong with kv cache": ("garbage", "11.2"),
    "is_causal with cache": ("garbage", "15.5 6.15"),
    "dropout at inference": ("garbage", "15.8"),
    "top p keeps too few": ("garbage", "12.8"),
    "sliding window off by one": ("garbage", "11.10 15.10"),
    "rotary wrong": ("disagrees", "11.6 11.7"),
    "my attention weights are all the same": ("same output", "15.11"),
    "uniform attention": ("same output", "15.11"),
    "model repeats the same token forever": ("garbage", "15.5"),
    "generates same word over and over": ("garbage", "15.5"),
    "my loss doesnt go down": ("learn", "15.8"),
    "attn weights dont sum to 1": ("same output", "3.7"),
    "scaled_dot_product_attention attn_mask bool": ("too good", "6.7"),
    "key_padding_mask true means ignore": ("too good", "6.7"),
}


def test_the_search_finds_what_readers_see(screens: dict[str, BrowserContext]) -> None:
    page = Opened(screens["light"], "search.html").page
    found = {}
    for words, (group, sections) in SEEN.items():
        results = page.evaluate(
            "query => BookSearch.find(query).results.map(({section}) => "
            "[section.page, section.heading])",
            words,
        )
        right = [
            i
            for i, (where, heading) in enumerate(results, 1)
            if heading.split()[0] in sections.split()
            or (where == "book/symptoms" and group in heading)
        ]
        found[words] = min(right, default=99)
    assert sum(rank == 1 for rank in found.values()) >= 35, found
    assert sum(rank <= 3 for rank in found.values()) >= 40, found
    page.close()


# error messages of PyTorch, as they are pasted, with their numbers
RAISED = {
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (10x512 and 64x64)": "5.4",
    "shape '[2, 8, 64]' is invalid for input of size 2048": "4.5",
    "view size is not compatible with input tensor's size and stride (at least one dimension "
    "spans across two contiguous subspaces). Use .reshape(...) instead.": "4.10",
    "RuntimeError: The size of tensor a (8) must match the size of tensor b (10) at non-singleton "
    "dimension 3": "6.9",
    "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
    "attn_mask.dtype: long int and  query.dtype: float instead.": "6.7",
    "The shape of the 2D attn_mask is torch.Size([3, 12]), but should be (12, 12).": "6.7",
    "AssertionError: Expected key_padded_mask.shape[0] to be 12, but got 3": "15.4",
    "IndexError: index out of range in self": "2.4",
    "Expected target size [4, 100], got [4, 12]": "9.3",
    "embed_dim must be divisible by num_heads": "4.5",
}


def test_the_search_finds_what_pytorch_says(screens: dict[str, BrowserContext]) -> None:
    page = Opened(screens["light"], "search.html").page
    found = ranks(page, RAISED)
    assert {message: rank for message, rank in found.items() if rank > 1} == {}
    page.close()


# as newcomers and engineers type: misspelled, joined, names of arguments, error messages
TYPED = {
    "what is atention": "1.2 1.6",
    "soft max": "1.2 3.7",
    "waht does softmax do": "1.2 3.7 10.4",
    "diffrence between encoder and decoder": "12.11 5.5",
    "what does the temperture do": "1.4 12.8",
    "seqence length memory quadratic": "10.1 10.3",
    "crossattention": "5.1",
    "warmup": "8.10",
    "positonal encodng": "7.3",
    "rotary embeding": "7.9 11.6",
    "beam serach": "9.7 9.13",
    "sliding windw attention": "10.8 11.10",
    "num_key_value_heads": "11.4",
    "average_attn_weights": "4.8",
    "attn_implementation eager": "10.14",
    "LayerNorm vs BatchNorm": "8.4",
    "RMS norm": "12.2 11.12",
    "rotate_half": "11.7",
    "rope_theta": "11.9",
    "flash attn": "10.5 10.2 10.4",
}


def test_the_search_finds_what_is_misspelled_or_copied_from_code(
    screens: dict[str, BrowserContext],
) -> None:
    page = Opened(screens["light"], "search.html").page
    found = ranks(page, TYPED)
    assert sum(rank == 1 for rank in found.values()) >= 16, found
    assert sum(rank <= 3 for rank in found.values()) >= 18, found
    page.close()
