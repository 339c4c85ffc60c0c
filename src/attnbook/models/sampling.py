"""Sampling: draw the next token at random from probabilities that can be sharpened or truncated."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.models import check_evaluating
from attnbook.checks.sizes import check_size
from attnbook.checks.tensors import check_float_tensor, check_ids
from attnbook.models.language_model import LanguageModel


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Keep the k largest logits of each row, and set the others to -inf.

    Logits equal to the k-th largest are kept too.

    Shapes:  logits (..., V) -> the same
    Raises:  TypeError, ValueError if logits are not floating point or k is not from 1 to V
    Source:  Fan et al. 2018, §5.4
    """
    check_float_tensor("logits", logits)
    check_size("k", k)
    if k > logits.size(-1):
        raise ValueError(f"k={k}: a row has only {logits.size(-1)} logits")
    smallest = logits.topk(k).values[..., -1:]  # (..., 1)
    return logits.masked_fill(logits < smallest, -torch.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Keep the fewest tokens whose probabilities sum to at least p; set the other logits to -inf.

    In descending order of probability, each token is kept if those before it sum to less than p.
    So the token that makes the sum reach p is kept, and at least one token always remains.

    Shapes:  logits (..., V) -> the same
    Raises:  TypeError, ValueError if logits are not floating point or p is not in (0, 1]
    Source:  Holtzman et al. 2020, §3.1
    """
    check_float_tensor("logits", logits)
    if not 0 < p <= 1:
        raise ValueError(f"p={p}: it must be above 0 and at most 1")
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    probabilities = _probabilities(ordered)
    before = probabilities.cumsum(-1) - probabilities  # their sum over all more probable tokens
    over = (before >= p).to(logits.device)
    left_out = torch.zeros_like(over).scatter(-1, order, over)
    return logits.masked_fill(left_out & (p < 1), -torch.inf)


def draw_token(logits: Tensor, generator: torch.Generator) -> Tensor:
    """Draw one token for each row with the probabilities softmax(logits).

    The probabilities divide the interval from 0 to 1 into segments, and a random point selects one.
    Both are in float64: in half precision, the segments of most tokens would have length 0. The
    point is drawn on the CPU, so a seed gives the same result on every device.

    Shapes:  logits (B, V) -> (B,)
    Raises:  TypeError, ValueError if logits are not floating point
    """
    check_float_tensor("logits", logits)
    ends = _probabilities(logits).cumsum(-1)  # (B, V)
    point = torch.rand(len(ends), 1, generator=generator, dtype=torch.float64, device="cpu")
    return (ends <= point * ends[:, -1:]).sum(-1).to(logits.device)


def _probabilities(logits: Tensor) -> Tensor:
    """Compute softmax(logits) in float64, on the CPU, because CUDA adds in no fixed order."""
    return logits.cpu().double().softmax(-1)


@torch.no_grad()
def sample(
    model: LanguageModel,
    prompt: Tensor,
    *,
    end: int,
    max_length: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    k: int | None = None,
    p: float | None = None,
    pad: int | None = None,
) -> Tensor:
    """Continue each row of the prompt until END. Call `model.eval()` first.

    The logits are divided by the temperature, then truncated by k and p, in this order. k = 1 is
    greedy decoding.

    All prompts have the same length, unless `pad` is given: shorter ones are then filled up with
    this id on the left. No token attends to this padding, and no position counts it.

    Shapes:  prompt (B, Lp), such as a column of BEGIN
             end        the id of END
             generator  on the CPU, whatever the model's device is
    Returns: tokens (B, L) after the prompt, L <= max_length, filled with END after a text ends
    Raises:  TypeError, ValueError if the model is in training mode, the prompt is not a batch of
             ids, a number is out of range, or padding is not on the left
    """
    check_evaluating(model)
    size = model.embedding.num_embeddings
    check_ids("prompt", prompt, size)
    check_size("max_length", max_length)
    if prompt.size(1) == 0:
        raise ValueError("the prompt has 0 tokens: it needs at least one, such as BEGIN")
    for name, number in {"end": end, "pad": 0 if pad is None else pad}.items():
        check_size(name, number, at_least=0)
        if number >= size:
            raise ValueError(f"{name}={number}: the vocabulary has ids from 0 to {size - 1}")
    if not temperature > 0:
        raise ValueError(f"temperature={temperature}: it must be above 0; k=1 is greedy decoding")
    mask = None if pad is None else _after_padding(prompt, pad)  # (B, 1, Lp)
    cache, new = model.new_cache(), prompt
    written: list[Tensor] = []
    done = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    while len(written) < max_length and not done.all():
        logits = model(new, cache, mask=mask)[:, -1].cpu().double()  # (B, V)
        # The largest is 0 after the subtraction, so no small temperature makes it infinite.
        logits = (logits - logits.amax(-1, keepdim=True)) / temperature
        if k is not None:
            logits = keep_top_k(logits, k)
        if p is not None:
            logits = keep_top_p(logits, p)
        token = draw_token(logits, generator).to(prompt.device).masked_fill(done, end)  # (B,)
        done = done | (token == end)
        written.append(token)
        new = token[:, None]
        if mask is not None:
            mask = F.pad(mask, (0, 1), value=True)  # the new token is none
    return torch.stack(written, dim=1)


def _after_padding(prompt: Tensor, pad: int) -> Tensor:
    """A mask for the first token of each row that is not `pad`, and for all that follow.

    Shapes:  prompt (B, Lp) -> (B, 1, Lp)
    Raises:  ValueError if a row ends with pad
    """
    is_padding = prompt == pad
    if (at_end := is_padding[:, -1]).any():
        raise ValueError(
            f"row {at_end.int().argmax()} of the prompt ends with pad={pad}: put padding on the "
            "left, because a text continues after its last token"
        )
    first = (~is_padding).int().argmax(-1, keepdim=True)  # (B, 1)
    return (torch.arange(prompt.size(1), device=prompt.device) >= first)[:, None]
