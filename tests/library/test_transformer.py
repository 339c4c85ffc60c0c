"""The Transformer and its parts: parity with PyTorch on copied weights, and properties."""

import copy
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attnbook import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    SinusoidalPositions,
    Transformer,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from tests.support.draws import drawn

B, LS, LT, H, D, D_FF, N = 3, 7, 5, 2, 12, 20, 4
SOURCE, TARGET = 11, 9  # sizes of the vocabularies
LENGTHS = (7, 4, 1)
TRAINING = pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
NORM_FIRST = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])


def redraw(module: nn.Module):
    """Fill every parameter with random float64 numbers, so that no norm has a scale of 1."""
    module.double()
    with torch.no_grad():
        for i, (name, parameter) in enumerate(module.named_parameters()):
            noise = drawn(*parameter.shape, seed=i)
            if parameter.dim() == 2:
                parameter.copy_(1.5 * noise / parameter.size(1) ** 0.5)
            else:
                parameter.copy_(noise / 3 + ("norm" in name and name.endswith("weight")))
    return module


def equal(ours: Tensor, theirs: Tensor) -> None:
    assert_close(ours, theirs, rtol=0, atol=1e-10)


def sizes(norm_first: bool) -> dict[str, object]:
    """The arguments that the constructors of PyTorch's layers and of nn.Transformer share."""
    return {
        "d_model": D,
        "nhead": H,
        "dim_feedforward": D_FF,
        "dropout": 0.0,
        "batch_first": True,
        "norm_first": norm_first,
    }


def words(size: int, length: int) -> Tensor:
    return torch.randint(size, (B, length), generator=torch.Generator().manual_seed(0))


def model(**options) -> Transformer:
    return redraw(Transformer(SOURCE, TARGET, D, H, N, D_FF, **options)).eval()


# --- against PyTorch ---------------------------------------------------------------------------


@TRAINING
@NORM_FIRST
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_layer_equals_pytorchs(training, norm_first, padded, causal):
    theirs = redraw(nn.TransformerEncoderLayer(**sizes(norm_first))).train(training)
    ours, x = EncoderLayer.from_torch(theirs), drawn(B, LS, D)
    keep, before = padding_mask(LENGTHS, LS), causal_mask(LS)
    mask = (keep if padded else torch.ones(B, 1, LS, dtype=torch.bool)) & (before | (not causal))
    expected = theirs(
        x,
        src_mask=~before if causal else None,
        src_key_padding_mask=~keep[:, 0] if padded else None,
    )
    output, weights = ours(x, mask)
    real = keep[:, 0] if padded else torch.ones(B, LS, dtype=torch.bool)
    equal(output[real], expected[real])  # PyTorch may omit padded rows
    assert weights.shape == (B, H, LS, LS)
    equal(weights.sum(-1), torch.ones(B, H, LS).double())
    assert ours.training == training


@TRAINING
@NORM_FIRST
def test_a_decoder_layer_equals_pytorchs(training, norm_first):
    theirs = redraw(nn.TransformerDecoderLayer(**sizes(norm_first))).train(training)
    ours, x, z = DecoderLayer.from_torch(theirs), drawn(B, LT, D), drawn(B, LS, D, seed=1)
    mask, z_mask = causal_mask(LT), padding_mask(LENGTHS, LS)
    expected = theirs(x, z, tgt_mask=~mask, memory_key_padding_mask=~z_mask[:, 0])
    output, weights, z_weights = ours(x, z, mask, z_mask)
    equal(output, expected)
    assert weights.shape == (B, H, LT, LT)
    assert z_weights.shape == (B, H, LT, LS)
    assert weights[..., ~mask].eq(0).all()
    assert z_weights[2, :, :, 1:].eq(0).all()


@TRAINING
@pytest.mark.parametrize(("norm_first", "last_norm"), [(False, False), (False, True), (True, True)])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_the_whole_equals_nn_transformer(training, norm_first, last_norm):
    """nn.Transformer always has a final norm; ours has one only with norm_first."""
    options = sizes(norm_first)
    theirs = nn.Transformer(num_encoder_layers=N, num_decoder_layers=N, **options)
    redraw(theirs).train(training)
    ours = [Encoder(D, H, N, D_FF, norm_first=norm_first)]
    ours.append(Decoder(D, H, N, D_FF, norm_first=norm_first))
    kinds = EncoderLayer, DecoderLayer
    for mine, other, kind in zip(ours, (theirs.encoder, theirs.decoder), kinds, strict=True):
        mine.layers = nn.ModuleList(kind.from_torch(layer) for layer in other.layers)
        if last_norm:
            mine.norm = copy.deepcopy(other.norm)
        else:
            other.norm = None
    encoder, decoder = ours
    source, target = drawn(B, LS, D), drawn(B, LT, D, seed=1)
    keep = padding_mask(LENGTHS, LS)
    hidden = ~keep[:, 0]
    expected = theirs(
        source,
        target,
        tgt_mask=~causal_mask(LT),
        src_key_padding_mask=hidden,
        memory_key_padding_mask=hidden,
    )
    z, maps = encoder(source, keep)
    x, own, cross = decoder(target, z, causal_mask(LT), keep)
    equal(x, expected)
    assert len(maps) == len(own) == len(cross) == N


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["relu", nn.ReLU()])
def test_from_torch_takes_other_forms_of_the_same_layer(bias, activation):
    theirs = nn.TransformerEncoderLayer(D, H, D_FF, 0.0, activation, bias=bias, batch_first=True)
    redraw(theirs)
    x = drawn(B, LS, D)
    equal(EncoderLayer.from_torch(theirs)(x)[0], theirs(x))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (EncoderLayer, nn.TransformerEncoderLayer),
        (DecoderLayer, nn.TransformerDecoderLayer),
    ],
)
def test_from_torch_keeps_the_dropout_rate(ours, theirs):
    layer = ours.from_torch(theirs(D, H, D_FF, dropout=0.3))
    assert layer.dropout.p == layer.feed_forward.dropout.p == 0.3


def test_from_torch_copies():
    theirs = redraw(nn.TransformerDecoderLayer(D, H, D_FF))
    ours, x, z = DecoderLayer.from_torch(theirs).eval(), drawn(B, LT, D), drawn(B, LS, D)
    before = ours(x, z)[0]
    redraw(theirs.linear1)
    nn.init.ones_(theirs.norm1.weight)
    assert ours(x, z)[0].equal(before)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: EncoderLayer.from_torch(nn.TransformerEncoderLayer(D, H, activation=F.gelu)),
            ValueError,
            "the activation is <.*gelu.*>: the layers of this library use ReLU",
        ),
        (
            lambda: EncoderLayer.from_torch(nn.TransformerDecoderLayer(D, H)),
            TypeError,
            "expected torch.nn.TransformerEncoderLayer, got TransformerDecoderLayer",
        ),
        (lambda: FeedForward(D, 0), ValueError, "d_ff=0: it must be at least 1"),
        (lambda: Encoder(D, H, 0, D_FF), ValueError, "n_layers=0: it must be at least 1"),
        (lambda: Decoder(D, H, 1.0, D_FF), TypeError, "n_layers must be an int, got float"),
        (lambda: Transformer(0, 1, D, H, N, D_FF), ValueError, "source_vocab_size=0: it must be"),
        (lambda: Transformer(1, 0, D, H, N, D_FF), ValueError, "target_vocab_size=0: it must be"),
        (lambda: Transformer(1, 1, 0, H, N, D_FF), ValueError, "d_model=0: it must be at least 1"),
        (lambda: Transformer(1, 1, 8.0, H, N, D_FF), TypeError, "d_model must be an int, got flo"),
    ],
)
def test_bad_input_is_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("name", ["source", "target"])
@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (lambda size: [[1, 2]], TypeError, "{} must be a torch.Tensor, got list"),
        (lambda size: torch.zeros(B, 3), ValueError, "{} has dtype torch.float32: ids are whole"),
        (
            lambda size: torch.zeros(3).long(),
            ValueError,
            r"{} has shape \(3,\): it must be \(B, L\), a batch of sentences. .* with {}\[None\]",
        ),
        (
            lambda size: torch.tensor([[0, size]]),
            ValueError,
            "{} has ids from 0 to {size}: the vocabulary has ids from 0 to {last}",
        ),
        (lambda size: torch.tensor([[-1, 2]]), ValueError, "{} has ids from -1 to 2: the vocab"),
    ],
)
def test_input_that_is_not_a_batch_of_ids_is_named(name, ids, error, message):
    made, size = model(), SOURCE if name == "source" else TARGET
    z = drawn(B, LS, D)
    call = made.encode if name == "source" else lambda target: made.decode(target, z)
    message = message.replace("{}", name).replace("{size}", str(size))
    with pytest.raises(error, match=message.replace("{last}", str(size - 1))):
        call(ids(size))


@pytest.mark.parametrize("shape", [(LS, LS), (B, LS, LS), (B, 1, LS - 1), (LS,)])
def test_a_source_mask_that_is_not_a_padding_mask_is_named(shape):
    """In a batch of LS sentences, a padding mask without an axis for queries has shape (LS, LS)."""
    made, mask, z = model(), torch.ones(shape).bool(), drawn(B, LS, D)
    for call in (made.encode, partial(made.decode, z=z)):
        with pytest.raises(ValueError, match=r"source_mask has shape .* must be \(B, 1, Ls\) ="):
            call(words(TARGET, LS), source_mask=mask)
    with pytest.raises(ValueError, match=r"source_mask has dtype torch\.float32"):
        made(words(SOURCE, LS), words(TARGET, LT), torch.ones(B, 1, LS))


# --- what each part does and does not do -------------------------------------------------------


def test_the_feed_forward_network_treats_each_row_by_itself():
    part, x = redraw(FeedForward(D, D_FF)), drawn(B, LS, D)
    other = x.clone()
    other[:, 3] = 0.0
    same = torch.arange(LS) != 3
    equal(part(other)[:, same], part(x)[:, same])
    wide = x @ part.up.weight.T + part.up.bias
    equal(part(x), wide.clamp(min=0) @ part.down.weight.T + part.down.bias)


@pytest.mark.parametrize("part", ["outputs", "inside", "rows"])
def test_dropout_is_applied_where_documented_and_only_in_training(part):
    """With a dropout probability of 1, a part adds nothing."""
    layer, x = redraw(EncoderLayer(D, H, D_FF, dropout=1.0, norm_first=True)), drawn(B, LS, D)
    if part == "outputs":
        equal(layer(x)[0], x)
    elif part == "inside":
        equal(layer.feed_forward(x), layer.feed_forward.down.bias.expand_as(x))
    else:
        whole = model(dropout=1.0, norm_first=True).train()
        z, _ = whole.encode(words(SOURCE, LS))
        equal(z, whole.encoder.norm(torch.zeros(B, LS, D).double()))
    assert not torch.allclose(layer.eval()(x)[0], x)


def test_dropout_is_applied_to_all_three_parts_of_a_decoder_layer():
    """With a dropout probability of 1, a pre-norm layer adds nothing to its input."""
    layer = redraw(DecoderLayer(D, H, D_FF, dropout=1.0, norm_first=True))
    x, z = drawn(B, LT, D), drawn(B, LS, D, seed=1)
    equal(layer(x, z)[0], x)
    late = redraw(DecoderLayer(D, H, D_FF, dropout=1.0))
    equal(late(x, z)[0], late.norm3(late.norm2(late.norm1(x))))


@NORM_FIRST
def test_there_is_a_final_norm_only_with_norm_first(norm_first):
    made = model(norm_first=norm_first)
    kind = nn.LayerNorm if norm_first else nn.Identity
    assert isinstance(made.encoder.norm, kind)
    assert isinstance(made.decoder.norm, kind)


def test_attend_reaches_every_attention():
    calls = []

    def counted(*arguments):
        calls.append(arguments[0].shape[-2])
        return scaled_dot_product_attention(*arguments)

    made = model(attend=counted)
    made(words(SOURCE, LS), words(TARGET, LT))
    assert calls == [LS] * N + [LT] * 2 * N


def test_words_are_embedded():
    made, source = model(), words(SOURCE, LS)
    rows = made.source_embedding.weight[source] * D**0.5
    expected, _ = made.encoder(SinusoidalPositions(D)(rows))
    equal(made.encode(source)[0], expected)
    fresh = Transformer(SOURCE, 4000, 64, H, 1, D_FF)
    assert_close(fresh.target_embedding.weight.var(), torch.tensor(1 / 64), rtol=0.05, atol=0)


def test_decoding_a_prefix_equals_the_first_rows_of_a_full_pass():
    made, source, target = model(), words(SOURCE, LS), words(TARGET, LT)
    mask = padding_mask(LENGTHS, LS)
    z, maps = made.encode(source, mask)
    logits, own, cross = made.decode(target, z, mask)
    equal(made(source, target, mask), logits)
    assert logits.shape == (B, LT, TARGET)
    assert maps[0].shape == (B, H, LS, LS)
    assert own[0].shape == (B, H, LT, LT)
    assert cross[N - 1].shape == (B, H, LT, LS)
    for length in range(1, LT):
        equal(made.decode(target[:, :length], z, mask)[0], logits[:, :length])


@NORM_FIRST
@pytest.mark.parametrize("pieces", [(1,) * LT, (2, 3), (LT,)])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_with_a_cache_the_results_are_the_same(norm_first, pieces, lengths):
    made, target = model(norm_first=norm_first), words(TARGET, LT)
    mask = padding_mask(lengths, LS) if lengths else None
    z, _ = made.encode(words(SOURCE, LS), mask)
    logits, own, cross = made.decode(target, z, mask)
    cache, start = made.new_cache(), 0
    for length in pieces:
        now = slice(start, start + length)
        got, own_now, cross_now = made.decode(target[:, now], z, mask, cache)
        equal(got, logits[:, now])
        for i in range(N):
            equal(own_now[i], own[i][:, :, now, : now.stop])
            equal(cross_now[i], cross[i][:, :, now])
        start = now.stop


def test_with_a_cache_the_source_is_projected_once():
    made, target = model(), words(TARGET, LT)
    z, _ = made.encode(words(SOURCE, LS))
    seen = []
    for layer in made.decoder.layers:
        layer.cross_attention.w_k.register_forward_hook(lambda *call: seen.append(call[1][0].shape))
    cache = made.new_cache()
    for t in range(LT):
        made.decode(target[:, t : t + 1], z, cache=cache)
    assert seen == [(B, LS, D)] * N + [(B, 0, D)] * (N * (LT - 1))  # later steps project no rows


@NORM_FIRST
def test_hidden_rows_do_not_change_an_output(norm_first):
    made, source, target = model(norm_first=norm_first), words(SOURCE, LS), words(TARGET, LT)
    mask = padding_mask(LENGTHS, LS)
    before = made(source, target, mask)
    padding = source.masked_fill(~mask[:, 0], 0)
    later = target.clone()
    later[:, 3:] = (later[:, 3:] + 1) % TARGET
    equal(made(padding, target, mask), before)
    after = made(source, later, mask)
    equal(after[:, :3], before[:, :3])
    assert not torch.isclose(after[:, 3:], before[:, 3:]).any(-1).all()


@NORM_FIRST
def test_gradients_reach_every_parameter_but_the_bias_of_the_keys(norm_first):
    made = model(norm_first=norm_first)
    loss = F.cross_entropy(
        made(words(SOURCE, LS), words(TARGET, LT)).flatten(0, 1), torch.zeros(B * LT).long()
    )
    loss.backward()
    for name, parameter in made.named_parameters():
        zero = parameter.grad.abs().max() < 1e-12
        assert zero == name.endswith("w_k.bias"), name
