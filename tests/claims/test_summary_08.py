"""The summary of chapter 8, tried with other vectors, sizes and initializations."""

import functools

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attnbook import DecoderLayer, Encoder, EncoderLayer, Transformer
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("08_transformer.ipynb")


@claim(
    "only attention moves information between rows, and all shapes stay $(B, L, D)$ from the"
    " embedding to the last norm;",
    seed=(11, 12),
    norm_first=(False, True),
)
@torch.no_grad()
def test_without_attention_to_others_no_row_depends_on_another(seed, norm_first):
    torch.manual_seed(seed)
    stack = Encoder(16, 4, 3, 64, norm_first=norm_first).double().eval()
    x, shapes = torch.randn(2, 5, 16).double(), set()
    for part in stack.modules():
        if isinstance(part, nn.LayerNorm | EncoderLayer):
            part.register_forward_hook(
                lambda _, args, out: shapes.add((out if isinstance(out, Tensor) else out[0]).shape)
            )
    changed = x.clone()
    changed[:, 2] = torch.randn(16)
    for mask, rows in ((torch.eye(5, dtype=torch.bool), [2]), (None, [0, 1, 2, 3, 4])):
        moved = (stack(x, mask)[0] != stack(changed, mask)[0]).any(-1)[0]
        assert moved.nonzero().flatten().tolist() == rows
    assert shapes == {x.shape}


@functools.cache
def stacks(width: int) -> dict:
    """The six stacks of 8.3 at some width, without the figure."""
    lines = chapter.source("depth-explore").splitlines()
    six = "\n".join(line for line in lines if not line.startswith(("at_top", "explore_depth")))
    wider = chapter.source("around-code").replace("WIDTH = 64", f"WIDTH = {width}")
    wider = wider.replace("256", str(4 * width))
    changed = {"depth-explore": six, "around-code": wider}
    return chapter.run("around-code", "around-measure", "depth-explore", **changed)


def difference(rows: Tensor) -> float:
    return ((rows - rows.mean(0)).norm() / rows.norm()).item()


@claim(
    "without them the gradient of a freshly initialized stack vanishes and its rows become nearly"
    " equal. A norm repairs only the gradient.",
    seed=(11, 12),
    width=(64, 96),
)
def test_a_norm_repairs_the_gradient_and_only_residual_connections_the_rows(seed, width):
    space = stacks(width)
    for name, join in space["six"].items():
        rows, gradients = space["climb"](join, seed)
        assert (gradients[12] < 1e-6) == (name == "bare")
        assert (difference(rows[12]) < 0.01) == name.startswith("bare")


@claim(
    "With pre-norm, a token's residual stream is its embedding plus all that the sublayers add;",
    seed=(11, 12),
    layers=(1, 4),
)
@torch.no_grad()
def test_the_stream_is_a_sum_only_with_pre_norm(seed, layers):
    def outputs_of(*parts: nn.Module) -> list[Tensor]:
        """A list that gets the output of each part when it is called."""
        found: list[Tensor] = []
        for part in parts:
            part.register_forward_hook(
                lambda _, args, out: found.append(out if isinstance(out, Tensor) else out[0])
            )
        return found

    for norm_first in (True, False):
        torch.manual_seed(seed)
        stack = Encoder(16, 4, layers, 64, norm_first=norm_first).double().eval()
        sublayers = [
            part for layer in stack.layers for part in (layer.attention, layer.feed_forward)
        ]
        added, ends = outputs_of(*sublayers), outputs_of(stack.layers[-1])
        x = torch.randn(1, 5, 16).double()
        stack(x)
        assert torch.allclose(x + sum(added), ends[-1]) == norm_first


@claim(
    "apply layer normalization along the right axis, over the numbers of one word.",
    "Along any other axis it runs without an error but leaks information;",
    seed=(11, 12),
    size=(5, 9),
)
def test_a_norm_along_another_axis_moves_other_words(seed, size):
    torch.manual_seed(seed)
    batch = torch.randn(size, size, size).double()  # as many sentences as words as numbers
    changed = batch.clone()
    changed[1, 2, 3] += 1

    def moved(axes: tuple[int, ...]) -> list[list[int]]:
        before, after = (
            (x - x.mean(axes, keepdim=True)) / x.std(axes, keepdim=True) for x in (batch, changed)
        )
        return (before != after).any(-1).nonzero().tolist()

    assert moved((2,)) == [[1, 2]]
    for wrong in ((0,), (1,), (1, 2), (0, 2), (0, 1), (0, 1, 2)):
        assert len(moved(wrong)) > 1


@claim(
    "assemble an encoder layer (attention, feed-forward network) and a decoder layer (masked"
    " self-attention, cross-attention to $Z$, feed-forward network) that give PyTorch's numbers,",
    seed=(11, 12),
    width=(8, 48),
)
@torch.no_grad()
def test_both_layers_give_pytorchs_numbers(seed, width):
    torch.manual_seed(seed)
    sizes = {"dim_feedforward": 3 * width, "dropout": 0.0, "batch_first": True}
    x, z = torch.randn(2, 2, 6, width).double()
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    theirs = nn.TransformerEncoderLayer(width, 4, **sizes).double()
    assert_close(EncoderLayer.from_torch(theirs)(x)[0], theirs(x))
    theirs = nn.TransformerDecoderLayer(width, 4, **sizes).double()
    ours = DecoderLayer.from_torch(theirs)(x, z, causal)[0]
    assert_close(ours, theirs(x, z, tgt_mask=~causal))


@claim(
    "two thirds of an encoder layer are in the feed-forward network if $D_f = 4D$;",
    width=(64, 512),
    heads=(1, 8),
)
def test_two_thirds_of_a_layer_are_in_the_feed_forward_network(width, heads):
    layer = EncoderLayer(width, heads, 4 * width)
    inside = sum(p.numel() for p in layer.feed_forward.parameters())
    assert inside / sum(p.numel() for p in layer.parameters()) == pytest.approx(2 / 3, abs=0.01)


@claim(
    "choose between post-norm and pre-norm, say why post-norm may need a warm-up,",
    seed=(11, 12),
    width=(40,),
)
def test_a_warm_up_helps_post_norm_and_pre_norm_needs_none(seed, width):
    space = chapter.run("clip-mirror", "clip-practice")

    def end(norm_first: bool, warm_up: int) -> float:
        model = space["Mirror"](seed, 6, d_model=width, norm_first=norm_first)
        return space["practice"](model, torch.optim.Adam, 0.015, 90, low=(warm_up, 1))

    assert end(False, 1) > 1 > end(False, 30)
    assert end(True, 1) < 1


@claim("clip a gradient.", seed=(11, 12), limit=(0.5, 2.0))
def test_clipping_shortens_a_gradient_and_keeps_its_direction(seed, limit):
    torch.manual_seed(seed)
    model = Transformer(20, 20, 16, 2, 1, 32)
    model(*torch.randint(20, (2, 3, 6))).square().sum().backward()

    def gradient() -> Tensor:
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    before = gradient()
    nn.utils.clip_grad_norm_(model.parameters(), limit)
    assert before.norm() > limit
    assert gradient().norm().item() == pytest.approx(limit, rel=1e-3)
    assert torch.cosine_similarity(before, gradient(), dim=0).item() == pytest.approx(1, abs=1e-4)
