"""Both models in PyTorch's tools: half precision, autocast, copies, compilation, export, vmap."""

import copy
import os
import pickle
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook import (
    LanguageModel,
    Transformer,
    beam_search,
    fused_attention,
    greedy_decode,
    padding_mask,
    sample,
    scaled_dot_product_attention,
)

V, B, L = 11, 3, 7
HALF = [torch.bfloat16, torch.float16]
WAYS = {"begin": 1, "end": 2, "max_length": 6}
UNTRACED = pytest.mark.skipif(
    os.environ.get("ATTNBOOK_REHEARSAL") == "1",
    reason="these tools do not see through the simulated GPU's tensors",
)
KINDS = pytest.mark.parametrize("kind", ["language model", "Transformer"])


def model(kind: str, n_layers: int = 2, **options) -> nn.Module:
    if kind == "Transformer":
        return Transformer(V, V, 12, 2, n_layers, 20, norm_first=True, **options).eval()
    return LanguageModel(V, 12, 6, 2, n_layers, 20, **options).eval()


def ids(seed: int = 0, length: int = L) -> Tensor:
    return torch.randint(3, V, (B, length), generator=torch.Generator().manual_seed(seed))


def inputs(kind: str) -> tuple[Tensor, ...]:
    if kind == "Transformer":
        return ids(), ids(1, 5), padding_mask((7, 4, 1), L)
    return (ids(),)


def step_by_step(kind: str, made: nn.Module) -> Callable[..., Tensor]:
    """The logits for all tokens, by way of a cache."""

    def run(*given: Tensor) -> Tensor:
        cache = made.new_cache()
        if kind != "Transformer":
            return torch.cat([made(part, cache) for part in given[0].split(4, dim=1)], dim=1)
        source, target, mask = given
        z, _ = made.encode(source, mask)
        parts = target.split(4, dim=1)
        return torch.cat([made.decode(part, z, mask, cache)[0] for part in parts], dim=1)

    return run


# --- dtypes ------------------------------------------------------------------------------------


@torch.no_grad()
@KINDS
@pytest.mark.parametrize("dtype", HALF)
def test_in_half_precision_the_logits_are_almost_the_same(kind, dtype):
    made = model(kind).to(dtype)
    expected = copy.deepcopy(made).double()(*inputs(kind))
    for run in (made, step_by_step(kind, made)):
        logits = run(*inputs(kind))
        assert logits.dtype == dtype
        assert_close(logits.double(), expected, rtol=0, atol=0.06)


@torch.no_grad()
@pytest.mark.parametrize("dtype", HALF)
def test_in_half_precision_decoding_finds_what_the_logits_say(dtype):
    made = model("Transformer").to(dtype)
    source, _, mask = inputs("Transformer")
    tokens, log_probs = greedy_decode(made, source, mask, **WAYS)
    beams = beam_search(made, source, mask, width=1, **WAYS)
    assert beams.tokens[:, 0].equal(tokens)
    exact = copy.deepcopy(made).double()
    given = torch.cat((torch.full((B, 1), WAYS["begin"]), tokens[:, :-1]), dim=1)
    chances = exact(source, given, mask).log_softmax(-1)
    chosen = chances.gather(-1, tokens[..., None])[..., 0]
    ended = tokens.eq(WAYS["end"])
    after = ended.cumsum(-1) > ended.long()
    missed = (chances.amax(-1) - chosen).masked_fill(after, 0.0)
    assert missed.max() < 0.06  # each word is the most probable one, or almost
    total = chosen.masked_fill(after, 0.0).sum(-1)
    assert_close(log_probs.double(), total, rtol=0.01, atol=0.1)
    wide = beam_search(made, source, mask, width=4, length_penalty=0.6, **WAYS)
    assert wide.scores.isfinite().all()
    assert wide.tokens.max() < V


@pytest.mark.parametrize("dtype", HALF)
def test_in_half_precision_sampling_takes_the_best_token_with_k_1(dtype):
    made = model("language model").to(dtype)
    generator = torch.Generator().manual_seed(0)
    tokens = sample(made, ids(), end=0, max_length=5, generator=generator, k=1)
    with torch.no_grad():
        logits = made.double()(torch.cat((ids(), tokens), dim=1))[:, L - 1 : -1]
    chosen = logits.gather(-1, tokens[..., None])[..., 0]
    ended = tokens.eq(0).cumsum(-1) > 1
    assert (logits.amax(-1) - chosen).masked_fill(ended, 0.0).max() < 0.06


@UNTRACED
@KINDS
@pytest.mark.parametrize("attend", [None, fused_attention])
def test_autocast_gives_almost_the_same_logits_and_gradients(kind, attend):
    made = model(kind, **({"attend": attend} if attend else {}))

    def run() -> tuple[Tensor, Tensor]:
        made.zero_grad()
        logits = made(*inputs(kind))
        logits.float().square().mean().backward()
        return logits, torch.cat([p.grad.flatten() for p in made.parameters()])

    logits, gradient = run()
    with torch.autocast(logits.device.type, dtype=torch.bfloat16):
        cast_logits, cast_gradient = run()
    assert cast_logits.dtype == torch.bfloat16
    assert_close(cast_logits.float(), logits, rtol=0, atol=0.06)
    assert (cast_gradient - gradient).norm() < 0.03 * gradient.norm()


# --- copies ------------------------------------------------------------------------------------


def through_a_state_dict(made: nn.Module, kind: str, folder) -> nn.Module:
    torch.save(made.state_dict(), folder / "model.pt")
    other = model(kind)
    other.load_state_dict(torch.load(folder / "model.pt", weights_only=True))
    return other


COPIES = {
    "state_dict": through_a_state_dict,
    "deepcopy": lambda made, kind, folder: copy.deepcopy(made),
    "pickle": lambda made, kind, folder: pickle.loads(pickle.dumps(made)),
}


@torch.no_grad()
@KINDS
@pytest.mark.parametrize("way", ["state_dict", "deepcopy", pytest.param("pickle", marks=UNTRACED)])
def test_a_copy_gives_identical_logits_and_shares_nothing(kind, way, tmp_path):
    made = model(kind)
    copied = COPIES[way](made, kind, tmp_path)
    assert copied(*inputs(kind)).equal(made(*inputs(kind)))
    if kind == "language model":
        assert copied.to_logits.weight is copied.embedding.weight
    before = copied(*inputs(kind))
    for parameter in made.parameters():
        parameter.add_(1.0)
    assert copied(*inputs(kind)).equal(before)


def scaled(factor: float, *arguments) -> tuple[Tensor, Tensor]:
    output, weights = scaled_dot_product_attention(*arguments)
    return factor * output, weights


@UNTRACED
@torch.no_grad()
@KINDS
def test_a_model_with_an_option_of_attend_can_be_pickled(kind):
    torch.manual_seed(0)
    made, plain = model(kind, attend=partial(scaled, 0.5)), model(kind)
    plain.load_state_dict(made.state_dict())
    copied = pickle.loads(pickle.dumps(made))
    assert copied(*inputs(kind)).equal(made(*inputs(kind)))
    assert not torch.allclose(copied(*inputs(kind)), plain(*inputs(kind)), atol=1e-3)


# --- graphs ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Guards may run slower")  # on Python 3.13.0
@UNTRACED
@torch.no_grad()
@pytest.mark.parametrize(
    ("kind", "cached"),
    [("language model", False), ("language model", True), ("Transformer", False)],
)
def test_torch_compile_captures_a_model_in_one_graph(kind, cached):
    made = model(kind, n_layers=1)
    run = step_by_step(kind, made) if cached else made
    compiled = torch.compile(run, fullgraph=True, backend="eager")
    assert_close(compiled(*inputs(kind)), made(*inputs(kind)))


@UNTRACED
@KINDS
def test_a_model_can_be_exported_for_any_length(kind):
    made, length = model(kind, n_layers=1), torch.export.Dim("length", min=2, max=50)
    lengths = {"Transformer": ({1: length}, {1: torch.export.Dim("target", min=2, max=50)})}
    shapes = lengths.get(kind, ({1: length},))
    given = inputs(kind)[: len(shapes)]
    exported = torch.export.export(made, given, dynamic_shapes=shapes).module()
    longer = tuple(torch.cat((each, each), dim=1) for each in given)
    for wanted in (given, longer):
        assert_close(exported(*wanted), made(*wanted))


@UNTRACED
@KINDS
def test_vmap_maps_a_model_over_sentences_and_over_parameters(kind):
    made, given = model(kind), inputs(kind)
    one_by_one = vmap(lambda *each: made(*(x[None] for x in each))[0])
    assert_close(one_by_one(*given), made(*given))
    several = [model(kind, **untied(kind)) for _ in range(3)]
    stacked, _ = stack_module_state(several)
    together = vmap(lambda parameters: functional_call(several[0], parameters, given))(stacked)
    assert_close(together, torch.stack([each(*given) for each in several]))


def untied(kind: str) -> dict[str, bool]:
    return {} if kind == "Transformer" else {"tied": False}


@KINDS
def test_a_model_on_the_meta_device_gives_the_shape_of_the_logits(kind):
    given = [x.to("meta") for x in inputs(kind)]
    length = given[-1 if kind == "language model" else 1].size(1)
    assert model(kind).to("meta")(*given).shape == (B, length, V)


class Reads(TorchDispatchMode):
    """Count how often the CPU reads a number, for which it would wait for a GPU."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func == torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


@KINDS
def test_a_pass_reads_the_ids_at_most_once_per_batch_of_them(kind):
    made, given = model(kind), inputs(kind)
    with Reads() as reads:
        made(*given)
    assert reads.count <= (2 if kind == "Transformer" else 1)
