"""Compare times of attention, and write them into book/validation.md.

    make bench                    on the CPU
    make bench DEVICE=cuda        on a GPU

A layer with each of our forms of attention takes turns with PyTorch's layer, so that a busy machine
slows all of them equally, and the medians of their times are divided. In a second table, the ways
to write one more word with latent attention take turns with a cache of keys and values. The weekly
workflow shows the rows on its page. Times depend on the machine, so no test checks them.
"""

import platform
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from statistics import median

import torch
from torch import Tensor, nn

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    LatentAttention,
    MultiHeadAttention,
    blocked_attention,
    chunked_attention,
    device,
    fused_attention,
    scaled_dot_product_attention,
)
from manuscript.common import counted, run_tool
from tools.validate import PAGE, Table, committed, device_and_system, markdown

D_MODEL, HEADS = 512, 8
TEXTS = {64: 8, 512: 4, 2048: 1}  # how many of each length are in a batch
FORMS: dict[str, Callable] = {
    "plain": scaled_dot_product_attention,
    "blocked": blocked_attention,
    "chunked": chunked_attention,
    "fused": fused_attention,
}
TABLE = Table("bench", ["computed on", "Python", "PyTorch", "words", *FORMS, "commit"], 4)
STEP_HEADS, RANK, WIDTH, ROTARY = 16, 64, 16, 8  # as in section 14.5
CACHED = (512, 4096, 32768)  # words in the cache
KEPT, WAYS = "kept", ("absorbed", "computed again")
STEPS = Table("bench: steps", ["computed on", "Python", "PyTorch", "words", *WAYS, "commit"], 4)
SECONDS, ROUNDS = 6.0, 7  # at least, for each comparison


def main() -> int:
    """Measure all lengths, write a row for each, and print the rows as a table."""
    commit, where = committed(), device()
    computed_on = device_and_system()
    if where.type == "cpu":
        computed_on += f", {counted(torch.get_num_threads(), 'thread')}"
    page, versions = PAGE.read_text("utf-8"), [platform.python_version(), torch.__version__]
    measured = (
        (TABLE, ((words, partial(ratios, where, texts, words)) for words, texts in TEXTS.items())),
        (STEPS, ((words, partial(step_ratios, where, words)) for words in CACHED)),
    )
    for table, rows in measured:
        print(markdown(table.head), "|---" * len(table.head) + "|", sep="\n", flush=True)
        for words, measure in rows:
            row = [computed_on, *versions, str(words), *measure(), commit]
            print(markdown(row), flush=True)
            page = table.with_row(page, row)
        print()
    PAGE.write_text(page, encoding="utf-8")
    return 0


def ratios(where: torch.device, texts: int, words: int) -> list[str]:
    """Each form's time / PyTorch's, for the forward pass alone / with the backward pass."""
    torch.manual_seed(0)
    x = torch.randn(texts, words, D_MODEL).to(where)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).to(where)
    layers = {"PyTorch": partial(theirs, x, x, x, need_weights=False)}
    for name, attend in FORMS.items():
        layer = MultiHeadAttention.from_torch(theirs)
        layer.attend = attend
        layers[name] = partial(layer, x)
    times = [medians({n: partial(run, f) for n, f in layers.items()}) for run in (forward, both)]
    return [" / ".join(f"{t[name] / t['PyTorch']:.2f}" for t in times) for name in FORMS]


def step_ratios(where: torch.device, words: int) -> list[str]:
    """Each way's time / that of a step with a cache of keys and values."""
    times = medians(steps(where, words))
    return [f"{times[way] / times[KEPT]:.2f}" for way in WAYS]


def steps(where: torch.device, words: int) -> dict[str, Callable[[], Tensor]]:
    """Return functions that write one word after this many, as in section 14.5.

    Two layers keep latents; of these, one is absorbed, and one computes all keys and values again.
    """
    torch.manual_seed(0)
    heads = GroupedQueryAttention(D_MODEL, STEP_HEADS, STEP_HEADS, d_k=WIDTH).to(where)
    absorbed = LatentAttention(D_MODEL, STEP_HEADS, RANK, WIDTH, ROTARY).to(where)
    again = deepcopy(absorbed)
    vars(again)["_absorbed"] = again._expanded
    row = torch.randn(1, 1, D_MODEL).to(where)
    keys, values = torch.randn(2, 1, STEP_HEADS, words, WIDTH).to(where)
    latents = torch.randn(1, 1, words, ROTARY + RANK).to(where).split((ROTARY, RANK), -1)

    @torch.no_grad()
    def step(layer: nn.Module, *cached: Tensor) -> Tensor:
        cache = KVCache()
        cache.update(*cached)
        output: Tensor = layer(row, cache=cache)[0]
        return output

    return {
        KEPT: partial(step, heads, keys, values),
        "absorbed": partial(step, absorbed, *latents),
        "computed again": partial(step, again, *latents),
    }


@torch.no_grad()
def forward(layer: Callable[[], tuple[Tensor, Tensor | None]]) -> None:
    """Run a layer without keeping anything for gradients."""
    layer()


def both(layer: Callable[[], tuple[Tensor, Tensor | None]]) -> None:
    """Run a layer forward and backward."""
    layer()[0].sum().backward()


def medians(functions: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Let functions take turns; return the median of each one's seconds, without the first run."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    end = time.perf_counter() + SECONDS
    while min(map(len, found.values())) < ROUNDS or time.perf_counter() < end:
        for name, function in functions.items():
            start = now()
            function()
            found[name].append(now() - start)
    return {name: median(seconds[1:]) for name, seconds in found.items()}


def now() -> float:
    """Return the time in seconds at which a GPU, if there is one, has nothing left to do."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    run_tool(main)
